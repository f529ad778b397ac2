//go:build unix

package client

// shell is what runs a shell line.
func shell(line string) (path string, args []string) { return "/bin/sh", []string{"-c", line} }
