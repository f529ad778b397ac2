package script

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// input is the agent's stdin. The script can stop reading it, go on, and close it.
type input struct {
	src io.Reader

	mu      sync.Mutex // guards what follows
	flowing chan struct{}
	stopped bool
	closed  bool
}

func newInput(src io.Reader) *input {
	in := &input{src: src, flowing: make(chan struct{})}
	close(in.flowing)
	return in
}

// deadliner is what lets a read that is under way be called off.
type deadliner interface{ SetReadDeadline(time.Time) error }

// stop makes the next read wait, and the one under way give up before it takes
// anything where the system can do that.
func (in *input) stop() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.stopped {
		return
	}
	in.stopped, in.flowing = true, make(chan struct{})
	if d, ok := in.src.(deadliner); ok {
		_ = d.SetReadDeadline(time.Unix(1, 0))
	}
}

func (in *input) resume() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.stopped {
		return
	}
	if d, ok := in.src.(deadliner); ok {
		_ = d.SetReadDeadline(time.Time{})
	}
	in.stopped = false
	close(in.flowing)
}

// close closes the descriptor, so that the peer's writes fail. It is no end of input:
// the agent goes on.
func (in *input) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	if c, ok := in.src.(io.Closer); ok {
		_ = c.Close()
	}
}

func (in *input) wasClosed() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.closed
}

// wait returns once reading is allowed; false if done came first.
func (in *input) wait(done <-chan struct{}) bool {
	in.mu.Lock()
	flowing := in.flowing
	in.mu.Unlock()
	select {
	case <-flowing:
		return true
	case <-done:
		return false
	}
}

// lines calls each with every line, without its end, until the input or done ends.
// It reports whether the peer ended the input.
func (in *input) lines(done <-chan struct{}, each func([]byte)) (eof bool) {
	r := bufio.NewReaderSize(in.src, 64<<10)
	var line []byte
	for in.wait(done) {
		part, err := r.ReadBytes('\n')
		line = append(line, part...)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue // stop called the read off
		}
		// What was read ahead waits too while reading is stopped.
		if len(line) > 0 && in.wait(done) {
			each(bytes.TrimRight(line, "\r\n"))
		}
		line = nil
		if err != nil {
			return !in.wasClosed()
		}
	}
	return false
}
