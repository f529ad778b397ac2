package proc

// checkScript has nothing to look at: Windows has no #! line.
func checkScript(_, _ string, _ []string) error { return nil }

func explain(path string, err error) error {
	return &Error{What: "command", Name: path, Err: bare(err)}
}
