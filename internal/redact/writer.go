package redact

import "io"

// Writer returns a writer that redacts what is written to it, also where a secret is
// split between writes, and passes it on to w. It holds back only what may be the
// beginning of a secret: an unfinished line or a prompt without one flows through at
// once, and less than the longest secret is ever held, in the longest way of writing it:
// 324 bytes for each of its own where all is escaped twice in a URL and twice in JSON. Close writes what is held back,
// as [Redactor.Cut] has it, and does not close w. After an error of w every call returns
// that error.
//
// The writer is for one goroutine at a time. With a nil *Redactor it passes on
// everything as it is.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser {
	return &writer{r: r, w: w}
}

type writer struct {
	r        *Redactor
	w        io.Writer
	held     []byte // the beginning of a secret, perhaps
	progress progress
	out      []byte // the last output's memory
	err      error
}

func (w *writer) Write(p []byte) (int, error) {
	if w.r == nil {
		return w.w.Write(p)
	}
	if err := w.pass(p, more); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *writer) Close() error {
	if w.r == nil {
		return nil
	}
	return w.pass(nil, cut)
}

// pass writes out what can be decided with p at hand.
func (w *writer) pass(p []byte, end ending) error {
	if w.err != nil {
		return w.err
	}
	if len(w.held) > 0 {
		p = append(w.held, p...)
	}
	out, redacted := w.r.scan(w.out, p, &w.progress, end)
	if len(out) > 0 {
		_, w.err = w.w.Write(out)
	}
	w.held = append(w.held[:0], p[w.progress.done:]...) // now that out is written, which may be in it
	// One long write must not hold its memory for the rest of the run.
	const kept = 64 << 10
	if redacted {
		w.out = out
	}
	if cap(w.out) > kept {
		w.out = nil
	}
	if cap(w.held) > kept && len(w.held) == 0 {
		w.held = nil
	}
	return w.err
}
