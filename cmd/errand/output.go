package main

import (
	"errors"
	"io"
	"sync"
	"syscall"
	"time"
)

const (
	// holdBack is how much may wait to be written before whoever brings more has to
	// wait: a slow reader of ours slows the agent down and loses nothing.
	holdBack = 1 << 20
	// giveUp is how much may wait once the run is being ended, when nobody is made to
	// wait any more. What is over it is dropped: its reader has stopped reading.
	giveUp = 16 << 20
	// stalled is how long nothing must have been read before the end of the program
	// gives up on its reader, if the run was cancelled.
	stalled = time.Second
	// portion is how much is written at once: less than any reader that reads at all
	// takes within stalled.
	portion = 4 << 10
)

// output writes to stdout and stderr, in the order in which it is told, on a
// goroutine of its own, so that a reader of ours that has stopped reading cannot keep
// a run from being cancelled. Its methods may be called from any goroutine.
type output struct {
	stdout, stderr io.Writer
	// failed is told the first error of writing to stdout.
	failed func(error)
	idle   chan struct{} // closed by the goroutine when done was called and all is written

	mu      sync.Mutex // guards everything below
	changed sync.Cond  // on mu
	queue   []piece
	bytes   int  // in queue, and being written
	hurried bool // the run is being ended: make nobody wait
	closed  bool // done was called
	err     error
}

// piece is something to write.
type piece struct {
	to   io.Writer
	text []byte
}

func newOutput(stdout, stderr io.Writer, failed func(error)) *output {
	o := &output{stdout: stdout, stderr: stderr, failed: failed, idle: make(chan struct{})}
	o.changed.L = &o.mu
	// Ends when done was called and everything is written; where a reader of ours has
	// stopped for good, with the program.
	go o.writeAll()
	return o
}

// out writes to stdout, diag to stderr. They wait while too much is unwritten.
func (o *output) out(text string)  { o.put(o.stdout, text) }
func (o *output) diag(text string) { o.put(o.stderr, text) }

func (o *output) put(to io.Writer, text string) {
	if text == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.bytes > holdBack && !o.hurried {
		o.changed.Wait()
	}
	if o.bytes > giveUp {
		return
	}
	o.queue = append(o.queue, piece{to, []byte(text)})
	o.bytes += len(text)
	o.changed.Broadcast()
}

// drawn writes to stderr what is worth nothing later: only if nothing else waits.
func (o *output) drawn(text string) {
	o.mu.Lock()
	busy := o.bytes > 0
	o.mu.Unlock()
	if !busy {
		o.diag(text)
	}
}

// hurry says that the run is being ended: nobody waits for a reader from now on.
func (o *output) hurry() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hurried = true
	o.changed.Broadcast()
}

func (o *output) writeAll() {
	defer close(o.idle)
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		for len(o.queue) == 0 && !o.closed {
			o.changed.Wait()
		}
		if len(o.queue) == 0 {
			return
		}
		next := o.queue[0]
		o.queue = o.queue[1:]
		for text := next.text; len(text) > 0; {
			n := min(portion, len(text))
			if next.to != o.stdout || o.err == nil {
				o.write(next.to, text[:n])
			}
			text = text[n:]
			o.bytes -= n
			o.changed.Broadcast()
		}
	}
}

// write writes a part of a piece, without the lock.
func (o *output) write(to io.Writer, text []byte) {
	o.mu.Unlock()
	defer o.mu.Lock()
	_, err := to.Write(text)
	if err == nil || to != o.stdout {
		return // an error of stderr has nowhere to be told
	}
	o.failed(err)
	o.mu.Lock()
	o.err = err
	o.mu.Unlock()
}

// wait waits until everything that was put is written, and returns the first error
// of stdout.
func (o *output) wait() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flush()
	return o.err
}

// flush waits, with the lock, until everything is written. It reports false where the
// run was cancelled and a reader of ours takes nothing of what is left.
func (o *output) flush() bool {
	for o.bytes > 0 {
		if !o.hurried {
			o.changed.Wait()
			continue
		}
		before := o.bytes
		patience := time.Now().Add(stalled)
		alarm := time.AfterFunc(stalled, func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.changed.Broadcast()
		})
		for o.bytes == before && time.Now().Before(patience) {
			o.changed.Wait()
		}
		alarm.Stop()
		if o.bytes == before {
			return false
		}
	}
	return true
}

// done says that nothing more comes and waits until it is written. It reports false
// where the run was cancelled and a reader of ours does not take what is left.
func (o *output) done() bool {
	o.mu.Lock()
	o.closed = true
	o.changed.Broadcast()
	written := o.flush()
	o.mu.Unlock()
	if written {
		<-o.idle
	}
	return written
}

// isClosedPipe reports whether err says that nobody reads what we write any more, as
// opposed to that it cannot be stored.
func isClosedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}
