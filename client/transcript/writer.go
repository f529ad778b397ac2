package transcript

import (
	"errors"
	"io"
	"sync"
)

// Writer writes a transcript, each line in one Write as it is added. Its methods may be
// called from any goroutine, but what several conversations add at the same time is
// mixed up: each has a Writer of its own, or its turn.
//
// Begin and Add wait for the io.Writer. A client.Agent does not: it adds from a goroutine
// of its own.
type Writer struct {
	mu   sync.Mutex // held while w is written to; guards line
	w    io.Writer
	line []byte // the last line's memory

	errMu sync.Mutex // guards err
	err   error
}

// NewWriter returns a Writer to w, which is not closed by it. An *os.File takes every line
// as it comes; a w that is buffered loses the end of the conversation in a crash.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Begin begins a conversation. There can be several in one transcript, one after the
// other. A header of another version of the format is a VersionError.
func (w *Writer) Begin(h Header) {
	if h.Version != 0 && h.Version != Version {
		w.Fail(VersionError(h.Version))
	}
	w.write(func(line []byte) []byte { return appendHeader(line, h) })
}

// Add adds an entry to the conversation that was begun last. A Frame that is no JSON
// object or array, or one that is nested too deeply, is written as the Text that it is. A
// Frame or Text that is from nobody is an error.
func (w *Writer) Add(e Entry) {
	if e.End == nil && !e.From.known() {
		w.Fail(unknownFrom(e.From))
	}
	w.write(func(line []byte) []byte { return appendEntry(line, e) })
}

// Err returns why the transcript is not complete: the first error of the io.Writer, or
// what Fail was given; nil if it is. Nothing is written after an error, so that what there
// is has no gap but its end.
func (w *Writer) Err() error {
	w.errMu.Lock()
	defer w.errMu.Unlock()
	return w.err
}

// Fail makes err the error of the Writer if it has none yet, and so its end. It does not
// wait, and is for who cannot wait for Begin or Add any longer.
func (w *Writer) Fail(err error) {
	w.errMu.Lock()
	defer w.errMu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

// write writes the line that encode appends to what it is given.
func (w *Writer) write(encode func([]byte) []byte) {
	if w.Err() != nil {
		return // also where a Write blocks for ever
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Err() != nil {
		return
	}
	line := append(encode(w.line[:0]), '\n')
	// One long frame must not hold its memory for the rest of the conversation.
	const kept = 64 << 10
	w.line = nil
	if cap(line) <= kept {
		w.line = line
	}
	// What it panics with may hold a secret.
	err := errors.New("its writer panicked or ended the goroutine")
	defer func() {
		recover()
		if err != nil {
			w.Fail(err)
		}
	}()
	n, writeErr := w.w.Write(line)
	if err = writeErr; err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
}
