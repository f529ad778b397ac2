package replay

import (
	"bufio"
	"bytes"
	"io"
	"slices"
	"sync"
)

// output writes what the agent says, from a goroutine of its own: a parent that does not
// read holds that up, and nothing else.
type output struct {
	stdout, stderr io.Writer
	done           chan struct{} // closed when write has ended
	broken         chan struct{} // closed when stdout took an error, which is err
	err            error
	room           chan struct{} // has something when there may be room again

	mu      sync.Mutex // guards what follows
	more    sync.Cond
	queue   []piece
	owed    int // the bytes of those that are owed and not written
	stopped bool
}

// piece is a line. With pad it is the beginning of one that was longer by so many bytes.
type piece struct {
	stderr bool
	owed   bool // is in no recording: how many there are is up to the parent
	line   []byte
	pad    int64
}

// maxOwed is how many bytes may wait of what is in no recording before the parent has to wait.
const maxOwed = 8 << 20

func newOutput(stdout, stderr io.Writer) *output {
	o := &output{stdout: stdout, stderr: stderr, done: make(chan struct{}), broken: make(chan struct{}), room: make(chan struct{}, 1)}
	o.more.L = &o.mu
	return o
}

func (o *output) put(p piece) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = append(o.queue, p)
	if p.owed {
		o.owed += len(p.line)
	}
	o.more.Signal()
}

// full reports whether the parent has been answered more than it has read.
func (o *output) full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.owed > maxOwed
}

// stop ends write once everything is written.
func (o *output) stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stopped = true
	o.more.Signal()
}

// discard ends write before the rest is written.
func (o *output) discard() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue, o.stopped = nil, true
	o.more.Signal()
}

// write is the goroutine that owns stdout and stderr. It ends after stop, or with an error
// of stdout.
func (o *output) write() {
	defer close(o.done)
	w := bufio.NewWriterSize(o.stdout, 64<<10)
	for {
		o.mu.Lock()
		for len(o.queue) == 0 && !o.stopped {
			o.more.Wait()
		}
		pieces := o.queue
		o.queue = nil
		o.mu.Unlock()
		if len(pieces) == 0 {
			return
		}
		for _, p := range pieces {
			if p.stderr {
				w.Flush() // the order is kept as far as two pipes keep one
				put(o.stderr, p)
				continue
			}
			put(w, p)
		}
		if err := w.Flush(); err != nil {
			o.err = err
			close(o.broken)
			return
		}
		o.mu.Lock()
		for _, p := range pieces {
			if p.owed {
				o.owed -= len(p.line)
			}
		}
		o.mu.Unlock()
		select {
		case o.room <- struct{}{}:
		default:
		}
	}
}

// put writes one piece. Errors are for nobody but the bufio.Writer, which keeps them.
func put(w io.Writer, p piece) {
	if p.pad <= 0 {
		_, _ = w.Write(append(p.line[:len(p.line):len(p.line)], '\n'))
		return
	}
	_, _ = w.Write(p.line)
	filling, end := fill(p.line)
	block := bytes.Repeat([]byte{filling}, int(min(p.pad, 64<<10)))
	for left := p.pad - int64(len(end)); left > 0; left -= int64(len(block)) {
		if _, err := w.Write(block[:min(left, int64(len(block)))]); err != nil {
			return
		}
	}
	_, _ = w.Write(append(end, '\n'))
}

// fill says how a line goes on of which only the beginning is known: what begins as JSON ends
// as JSON, so that a frame that was too large is one again.
func fill(line []byte) (filling byte, end []byte) {
	var open []byte // what closes what is open, the innermost last
	inString, escaped := false, false
	for _, c := range line {
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = c == '\\', c != '"'
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			open = append(open, c+2) // as ASCII has them
		case len(open) > 0 && c == open[len(open)-1]:
			open = open[:len(open)-1]
		}
	}
	filling = ' '
	if inString && len(open) > 0 {
		filling, end = 'b', []byte{'"'} // which an escape sequence can go on with, too
	}
	slices.Reverse(open)
	return filling, append(end, open...)
}
