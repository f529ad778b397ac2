package transcript

import (
	"fmt"
	"io"
	"sync"
)

// Writer writes a transcript, each line in one Write as it is added. Its methods may be
// called from any goroutine, but what several conversations add at the same time is
// mixed up: each has a Writer of its own, or its turn.
//
// A Writer waits for its io.Writer. A client.Agent does not wait for it: it adds from a
// goroutine of its own and leaves out, with an error that it tells, what the Writer does
// not take in time.
type Writer struct {
	mu   sync.Mutex // guards what is below it, and is held while w is written to
	w    io.Writer
	line []byte // the last line's memory
	err  error
}

// NewWriter returns a Writer to w, which is not closed by it. An *os.File takes every line
// as it comes; w should not be buffered, or a crash loses the end of the conversation.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Begin begins a conversation. There can be several in one transcript, one after the
// other.
func (w *Writer) Begin(h Header) {
	w.write(func(line []byte) []byte { return appendHeader(line, h) })
}

// Add adds an entry to the conversation that was begun last. A Frame that is no JSON
// object or array is written as the Text that it is.
func (w *Writer) Add(e Entry) {
	w.write(func(line []byte) []byte { return appendEntry(line, e) })
}

// Err returns the first error of the io.Writer. Nothing is written after one: a line that
// is missing in the middle would not be noticed.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// write writes the line that encode appends to what it is given.
func (w *Writer) write(encode func([]byte) []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return
	}
	// What the io.Writer does not survive, the program does.
	defer func() {
		if p := recover(); p != nil {
			w.err = fmt.Errorf("the writer of the transcript panicked: %v", p)
		}
	}()
	line := append(encode(w.line[:0]), '\n')
	// One long frame must not hold its memory for the rest of the conversation.
	const kept = 64 << 10
	w.line = nil
	if cap(line) <= kept {
		w.line = line
	}
	n, err := w.w.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	w.err = err
}
