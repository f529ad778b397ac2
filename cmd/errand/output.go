package main

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// output writes to stdout and stderr on goroutines of its own, so that a reader of
// ours that has stopped reading cannot keep a run from being cancelled, and one that
// reads only stdout gets that whatever becomes of stderr. Its methods may be called
// from any goroutine.
type output struct {
	stdout, stderr io.Writer
	// The streams are one where both are the same file, a terminal mostly: then the
	// order counts in which they were written.
	outs, errs *stream
	// killed, if set, ends when nobody waits for anything any longer. It is for the time
	// before there is something to deliver.
	killed context.Context
}

// newOutput returns an output. one says that both are the same file; failed is told
// the first error of writing to stdout.
func newOutput(stdout, stderr io.Writer, one bool, failed func(error)) *output {
	o := &output{stdout: stdout, stderr: stderr, outs: newStream(stdout, failed)}
	o.errs = o.outs
	if !one {
		o.errs = newStream(nil, nil) // an error of stderr has nowhere to be told
	}
	return o
}

// sameFile reports whether two streams are one pipe, terminal or file.
func sameFile(a, b *os.File) bool {
	infoA, errA := a.Stat()
	infoB, errB := b.Stat()
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// out writes to stdout, diag to stderr. They wait while too much is unwritten.
func (o *output) out(text string)  { o.outs.put(o.stdout, text, false) }
func (o *output) diag(text string) { o.errs.put(o.stderr, text, false) }

// result writes to stdout what is not dropped however much is unwritten.
func (o *output) result(text string) { o.outs.put(o.stdout, text, true) }

// drawn writes to stderr what is worth nothing later: only if nothing else waits.
func (o *output) drawn(text string) {
	if !o.errs.busy() {
		o.diag(text)
	}
}

// hurry says that the run is being ended: nobody who brings something waits for a
// reader from now on, and a reader that takes nothing for so long is given up on.
func (o *output) hurry(patience time.Duration) {
	o.outs.hurry(patience)
	o.errs.hurry(patience)
}

// abandon says that nobody waits any longer for a reader than this, whatever it takes.
func (o *output) abandon(within time.Duration) {
	o.outs.abandon(within)
	o.errs.abandon(within)
}

// ending says that all that comes now is the end: the time that is left for it if the run
// is killed, or was, begins here, and not while the run may still take to be over.
func (o *output) ending() {
	if o.killed != nil {
		context.AfterFunc(o.killed, func() { o.abandon(stalled) })
	}
}

// wait waits until what was put to stdout is written, and returns the first error of
// that.
func (o *output) wait() error {
	o.outs.flush()
	return o.outs.error()
}

// dropped returns how many pieces were thrown away because nobody read them.
func (o *output) dropped() int { return o.outs.dropped() }

// done says that nothing more comes and waits until it is written. It reports false
// where stdout's reader did not take what is left: see hurry.
func (o *output) done() bool {
	o.outs.close()
	o.errs.close()
	written := o.outs.flush()
	if o.errs != o.outs {
		// Whoever reads all of stdout first waits for our end.
		o.errs.hurry(outOfReach)
		o.errs.flush()
	}
	return written
}

// isClosedPipe reports whether err says that nobody reads what we write any more, as
// opposed to that it cannot be stored.
func isClosedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}
