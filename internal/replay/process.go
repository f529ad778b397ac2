package replay

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// Main is Serve for a process of its own: it ends as the recorded one did, by a signal
// too, and is as deaf to SIGTERM. It returns the exit status, unless a signal ends the
// process. Stdin, stdout and stderr are the process's.
func (a *Agent) Main() (status int) {
	ctx := context.Background()
	if end := a.recording.End(); end != nil {
		switch {
		case end.Rung == "sigkill" || end.Rung == "none":
			signal.Ignore(syscall.SIGTERM)
		case end.Rung == "sigterm" && end.Signal == nil:
			var stop context.CancelFunc
			ctx, stop = signal.NotifyContext(ctx, syscall.SIGTERM)
			defer stop()
		}
	}
	status, err := a.Serve(ctx, os.Stdin, os.Stdout, os.Stderr)
	if killed, ok := errors.AsType[*SignalError](err); ok {
		raise(killed.Signal)
	}
	return status
}
