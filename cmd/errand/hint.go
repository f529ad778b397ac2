package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/internal/script"
)

// notUsage is an error about what the command line names, such as a file: how that command
// line is written is not what is wrong.
type notUsage struct{ error }

func (e notUsage) Unwrap() error { return e.error }

// hint is the line that follows an error of a command: where to read how that is used.
// It is empty where that is no help.
func hint(command string, err error) string {
	_, marked := errors.AsType[notUsage](err)
	_, path := errors.AsType[*fs.PathError](err)
	_, recording := errors.AsType[*transcript.Error](err)
	_, scripted := errors.AsType[*script.Error](err)
	if marked || path || recording || scripted || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return ""
	}
	return fmt.Sprintf("Run '%s --help' for how it is used.\n", command)
}
