package client

import (
	"bytes"
	"cmp"
	"io"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/internal/wire"
)

// maxRecordedLine is how much is kept of a line that is no frame, or too long for one, in
// bytes.
const maxRecordedLine = 64 << 10

// tap hands the lines of a stream that passes by to a recorder. It belongs to the
// stream's one reader or writer, which it holds back only where that is the agent's own:
// what we have to say waits for nobody.
type tap struct {
	r    *recorder
	from transcript.From
	max  int // length of a frame in bytes

	line []byte // the beginning of a line whose end has not come
	size int64  // how long that is by now
}

func newTap(r *recorder, from transcript.From, max int) *tap {
	return &tap{r: r, from: from, max: max}
}

// pass takes the next piece of the stream.
func (t *tap) pass(p []byte) {
	for len(p) > 0 {
		piece, rest, ended := bytes.Cut(p, []byte("\n"))
		t.keep(piece)
		if ended {
			t.flush(false)
		}
		p = rest
	}
}

// keep adds to the line what is to be kept of it.
func (t *tap) keep(piece []byte) {
	whole := int64(len(t.line)) == t.size
	t.size += int64(len(piece))
	if !whole {
		return
	}
	t.line = append(t.line, piece...)
	if len(t.line) > maxRecordedLine && (len(t.line) > t.max || !wire.MayBeFrame(t.line)) {
		t.line = bytes.Clone(t.line[:maxRecordedLine])
	}
}

// flush records the line. open says that there will be no end of it.
func (t *tap) flush(open bool) {
	line, size := t.line, t.size
	t.line, t.size = nil, 0
	if len(bytes.TrimSpace(line)) == 0 && (t.from != transcript.FromStderr || open) {
		return
	}
	rec := record{entry: transcript.Entry{From: t.from}, line: line, open: open}
	if rec.line == nil {
		rec.line = []byte{}
	}
	if size > int64(len(line)) {
		rec.entry.Bytes = size
	}
	t.r.add(rec, t.from != transcript.FromClient)
}

// recordedInput records the frames that are written to an agent when they are begun to be
// written: the answer cannot have come before.
type recordedInput struct {
	to  io.Writer
	tap *tap
}

func (r *recorder) input(to io.Writer) io.Writer {
	if r == nil {
		return to
	}
	return &recordedInput{to, newTap(r, transcript.FromClient, int(^uint(0)>>1))}
}

func (in *recordedInput) Write(p []byte) (int, error) {
	in.tap.pass(p)
	n, err := in.to.Write(p)
	if err != nil {
		in.tap.flush(true)
	}
	return n, err
}

// recordedOutput records what is read from an agent before anything is made of it.
type recordedOutput struct {
	from io.Reader
	tap  *tap
}

func (r *recorder) output(from io.Reader, max int) io.Reader {
	if r == nil {
		return from
	}
	return &recordedOutput{from, newTap(r, transcript.FromAgent, cmp.Or(max, wire.DefaultMaxMessageBytes))}
}

func (out *recordedOutput) Read(p []byte) (int, error) {
	n, err := out.from.Read(p)
	out.tap.pass(p[:n])
	if err != nil {
		out.tap.flush(true)
	}
	return n, err
}

// recordedStderr records the lines of stderr that a filter lets through.
type recordedStderr struct {
	io.WriteCloser // the filter
	tap            *tap
}

// filter returns filter with its output recorded.
func (r *recorder) filter(filter func(io.Writer) io.WriteCloser) func(io.Writer) io.WriteCloser {
	if r == nil {
		return filter
	}
	return func(to io.Writer) io.WriteCloser {
		t := newTap(r, transcript.FromStderr, 0)
		return &recordedStderr{filter(io.MultiWriter(to, tapWriter{t})), t}
	}
}

func (s *recordedStderr) Close() error {
	err := s.WriteCloser.Close()
	s.tap.flush(true)
	return err
}

type tapWriter struct{ *tap }

func (w tapWriter) Write(p []byte) (int, error) {
	w.pass(p)
	return len(p), nil
}
