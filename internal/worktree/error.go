package worktree

import (
	"errors"
	"fmt"
)

// RefusedError says what is wrong with what New was given, or with the installed git.
// Nothing was made.
type RefusedError struct {
	Message string
	Err     error // the cause; nil where there is no other
}

func (e *RefusedError) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

func refuse(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &RefusedError{Message: err.Error(), Err: errors.Unwrap(err)}
}

// ErrTooLarge is the cause where there is more of something than is taken: a patch that is over
// Options.MaxPatch, a list of changes that is over 64 MiB.
var ErrTooLarge = errors.New("it is too large")
