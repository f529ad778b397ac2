package proc

import (
	"errors"
	"fmt"
	"strings"
)

// Error says which part of a [Spec] a child could not be started with, and why. It
// holds no argument and no value of an environment variable. The cause answers
// errors.Is: [exec.ErrNotFound], [fs.ErrNotExist], [fs.ErrPermission], …
type Error struct {
	// What is the part: "directory", "command", "argument", "environment variable",
	// "run id", "sweep mode".
	What string
	// Name is the thing itself, as it was given.
	Name string
	// Searched are the directories a bare command name was looked for in; nil for
	// everything else.
	Searched []string
	// Err is the cause.
	Err error
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s %q: %v", e.What, e.Name, e.Err)
	switch {
	case e.Searched == nil:
		return text
	case len(e.Searched) == 0:
		return text + " (there is no absolute directory in the child's PATH)"
	}
	return text + " (searched " + strings.Join(e.Searched, ", ") + ")"
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

var (
	errNUL         = errors.New("contains a NUL")
	errEmpty       = errors.New("is empty")
	errNotAbsolute = errors.New("is not absolute")
	errNotDir      = errors.New("is not a directory")
	errIsDir       = errors.New("is a directory")
)
