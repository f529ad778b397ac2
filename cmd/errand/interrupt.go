package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// stopped is why this program cancels a run, as the cause of its context.
type stopped struct {
	what   string
	status int  // to exit with
	kills  bool // there is no waiting for the agent
}

func (s *stopped) Error() string { return s.what }

// stopStatus is the status of what made this program cancel ctx, 0 if nothing did.
func stopStatus(ctx context.Context) int {
	if s, ok := context.Cause(ctx).(*stopped); ok {
		return s.status
	}
	return 0
}

// killsAtOnce reports whether what made this program cancel ctx kills the agent too.
func killsAtOnce(ctx context.Context) bool {
	s, ok := context.Cause(ctx).(*stopped)
	return ok && s.kills
}

// interrupt turns the signals that ask a program to end into the end of a run: the
// first one cancels its context, the second one kills. SIGQUIT does both.
type interrupt struct {
	cancel  context.CancelCauseFunc
	signals chan os.Signal

	killed context.Context // ends at the second signal
	kill   context.CancelFunc
}

// watchSignals returns a context that ends at the first signal. The signals are
// caught until the program ends: one that comes when all is said changes no status.
func watchSignals(parent context.Context) (context.Context, *interrupt) {
	ctx, cancel := context.WithCancelCause(parent)
	i := &interrupt{cancel: cancel, signals: make(chan os.Signal, 2)}
	i.killed, i.kill = context.WithCancel(context.Background())
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		// Ignored from the start means that somebody wants it so: nohup does, and a
		// shell for its background jobs.
		if !signal.Ignored(s) {
			signal.Notify(i.signals, s)
		}
	}
	// A closed stdout is an error of its write, not the end of this program. The
	// signal is not ignored, which the agent would inherit.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	// Ends with the second signal, or with the program.
	go i.watch()
	return ctx, i
}

func (i *interrupt) watch() {
	s := <-i.signals
	number, _ := s.(syscall.Signal)
	kills := s == syscall.SIGQUIT
	i.cancel(&stopped{what: s.String(), status: 128 + int(number), kills: kills})
	if !kills {
		<-i.signals
	}
	i.kill()
}
