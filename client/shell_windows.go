package client

// shell is what runs a shell line.
func shell(line string) (path string, args []string) {
	return "cmd.exe", []string{"/d", "/s", "/c", line}
}
