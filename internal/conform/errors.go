package conform

import "fmt"

// A UsageError is a mistake in the Command or the Options that Run was given. Nothing has
// been started.
type UsageError struct{ Err error }

// Error says what the mistake is.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns what it was told by.
func (e *UsageError) Unwrap() error { return e.Err }

func usage(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// A ScratchError says that there is no room for the suite's own directories: no fault of
// the agent, nor of who calls.
type ScratchError struct{ Err error }

// Error says which directory it is, and why there is none.
func (e *ScratchError) Error() string { return "the scratch directory: " + e.Err.Error() }

// Unwrap returns the file system's error.
func (e *ScratchError) Unwrap() error { return e.Err }
