package proc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// syncBuffer is a writer that can be read at any time.
type syncBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// holdBack is a filter as redaction is one: it takes out a word, and keeps the last
// few bytes until it knows what follows.
type holdBack struct {
	to   io.Writer
	held []byte
}

func (h *holdBack) Write(p []byte) (int, error) {
	h.held = bytes.ReplaceAll(append(h.held, p...), []byte("secret"), []byte("***"))
	n := max(0, len(h.held)-len("secret"))
	h.to.Write(h.held[:n])
	h.held = h.held[n:]
	return len(p), nil
}

func (h *holdBack) Close() error {
	_, err := h.to.Write(h.held)
	return err
}

// The tail and the writer get the same, filtered, and all of it by the time the exit
// is known.
func TestStderr(t *testing.T) {
	var also syncBuffer
	spec := child(t, "stderr", "one sec", "ret two\n", strings.Repeat("x", 100_000)+"\n", "end secret")
	spec.Stderr = &also
	spec.StderrTail = 1000
	spec.Filter = func(w io.Writer) io.WriteCloser { return &holdBack{to: w} }
	p := start(t, spec)
	wait(t, p)
	text, truncated := p.StderrTail()
	if !truncated || len(text) > 1000 || !strings.HasPrefix(text, "one *** two\nxxx") || !strings.HasSuffix(text, "xxx\nend ***") {
		t.Errorf("tail: %v, %d bytes: %q", truncated, len(text), text)
	}
	if got, want := also.String(), "one *** two\n"+strings.Repeat("x", 100_000)+"\nend ***"; got != want {
		t.Errorf("the writer got %d bytes, want %d", len(got), len(want))
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A writer that fails, in whatever way, is left alone, and that is told; it takes
// nothing from anybody else.
func TestStderrWriterFails(t *testing.T) {
	for name, test := range map[string]struct {
		fail func() (int, error)
		want error
	}{
		"error":   {func() (int, error) { return 0, io.ErrClosedPipe }, io.ErrClosedPipe},
		"panic":   {func() (int, error) { panic("in Stderr") }, errPanicked},
		"nil":     {func() (int, error) { panic(nil) }, errPanicked},
		"Goexit":  {func() (int, error) { runtime.Goexit(); return 0, nil }, errPanicked},
		"crash":   {func() (int, error) { var none []int; return none[0], nil }, errPanicked},
		"nothing": {func() (int, error) { return 0, nil }, nil}, // io.Writer forbids it; it is taken for success
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			// More than the pipe and the queue hold: whoever does not drain holds it back.
			spec := child(t, "stderr", append(append([]string{"one\n"}, slices.Repeat([]string{strings.Repeat("x", 100_000)}, 3)...), "\nend")...)
			spec.Stderr = writerFunc(func([]byte) (int, error) {
				calls++
				return test.fail()
			})
			p := start(t, spec)
			wait(t, p)
			if text, _ := p.StderrTail(); !strings.HasPrefix(text, "one\n") || !strings.HasSuffix(text, "\nend") {
				t.Errorf("tail: %q", text)
			}
			got := p.Shutdown(patient)
			if !errors.Is(got.StderrErr, test.want) || got.Rung != RungExit {
				t.Errorf("report: %+v, want %v", got, test.want)
			}
			if test.want != nil && calls != 1 {
				t.Errorf("it was called %d times", calls)
			}
		})
	}
}

// stuck is a writer that blocks in its first call until it is let go.
type stuck struct {
	syncBuffer
	called, free chan struct{}
	once         sync.Once
}

func newStuck() *stuck { return &stuck{called: make(chan struct{}), free: make(chan struct{})} }

func (s *stuck) Write(p []byte) (int, error) {
	s.once.Do(func() { close(s.called) })
	<-s.free
	return s.syncBuffer.Write(p)
}

// A writer that blocks for ever holds up neither the news of the exit nor the end,
// and what the child has written last is known all the same.
func TestStderrWriterBlocks(t *testing.T) {
	w := newStuck()
	spec := child(t, "stderr", "one\n", strings.Repeat("x", 20_000), "\nlast")
	spec.Stderr = w
	p := start(t, spec)
	wait(t, p)
	if text, _ := p.StderrTail(); !strings.HasPrefix(text, "one\n") || !strings.HasSuffix(text, "\nlast") {
		t.Errorf("tail: %q", text)
	}
	if got := p.Shutdown(patient); got.Rung != RungExit || got.StderrErr != errBlocked {
		t.Errorf("report: %+v", got)
	}
	close(w.free)
	eventually(t, "it has got everything", func() bool { return strings.HasSuffix(w.String(), "\nlast") })
}

// A writer that is only slow does not block: the end waits until it has everything.
func TestStderrWriterIsSlow(t *testing.T) {
	w := newStuck()
	spec := child(t, "stderr", "one\n", strings.Repeat("x", 20_000), "\nlast")
	spec.Stderr = w
	p := start(t, spec)
	wait(t, p) // the news of the exit does not wait so long
	time.AfterFunc(4*stderrPatience, func() { close(w.free) })
	if got := p.Shutdown(patient); got.Rung != RungExit || got.StderrErr != nil {
		t.Errorf("report: %+v", got)
	}
	if !strings.HasSuffix(w.String(), "\nlast") {
		t.Error("it has not got everything")
	}
}

// Who is in a hurry does not wait for a writer.
func TestKillWaitsForNoWriter(t *testing.T) {
	w := newStuck()
	defer close(w.free)
	s := newStderrSink(newTail(100), w)
	s.Write([]byte("x"))
	hurry := make(chan struct{})
	close(hurry)
	begun := time.Now()
	s.wait(hang, hurry)
	if took := time.Since(begun); took > hang/2 {
		t.Errorf("it has waited for %v", took)
	}
	if got := s.failure(); got != errBlocked {
		t.Errorf("failure: %v", got)
	}
}

func init() {
	// flood writes as many bytes as it is told to stderr and ends.
	children["flood"] = func(args []string) {
		io.CopyN(os.Stderr, letters{}, int64(atoi(args[0])))
	}
}

// letters is an endless text in one line.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// A writer that blocks holds the child back while it lives, and costs a bounded
// memory. Once it goes on it gets everything; if it does not the child can be ended.
func TestStderrWriterHoldsBack(t *testing.T) {
	const size = 2 << 20
	held := func(t *testing.T) (*Process, *stuck) {
		w := newStuck()
		spec := child(t, "flood", strconv.Itoa(size))
		spec.Stderr = w
		p := start(t, spec)
		<-w.called
		waiting := func() int {
			p.sink.mu.Lock()
			defer p.sink.mu.Unlock()
			return len(p.sink.waiting)
		}
		eventually(t, "the queue is full", func() bool { return waiting() >= stderrQueue })
		if got := waiting(); got > stderrQueue+4<<10 {
			t.Errorf("%d bytes wait", got)
		}
		return p, w
	}
	t.Run("and goes on", func(t *testing.T) {
		p, w := held(t)
		close(w.free)
		wait(t, p)
		if got := p.Shutdown(patient); got.StderrErr != nil {
			t.Errorf("report: %+v", got)
		}
		if got := len(w.String()); got != size {
			t.Errorf("it got %d bytes of %d", got, size)
		}
	})
	t.Run("for ever", func(t *testing.T) {
		p, w := held(t)
		defer close(w.free)
		got := p.Shutdown(Graces{Kill: hang})
		if got.Rung == RungExit || got.Rung == "" || got.StderrErr != errBlocked {
			t.Errorf("report: %+v", got)
		}
	})
}

// badFilter goes wrong where it is told to.
type badFilter struct {
	io.Writer
	in string
}

func (f badFilter) goWrong(in string) {
	if f.in == in+" panics" {
		panic("in Filter")
	} else if f.in == in+" exits" {
		runtime.Goexit()
	}
}

func (f badFilter) Write(p []byte) (int, error) {
	f.goWrong("Write")
	return f.Writer.Write(p)
}

func (f badFilter) Close() error {
	f.goWrong("Close")
	return nil
}

// A filter that goes wrong is contained: the child is drained and ends, and nothing is
// shown of what has not gone through it.
func TestFilterFails(t *testing.T) {
	for _, in := range []string{"New panics", "New exits", "Write panics", "Write exits", "Close panics", "Close exits"} {
		t.Run(in, func(t *testing.T) {
			var also syncBuffer
			spec := child(t, "flood", "300000")
			spec.Stderr = &also
			spec.Filter = func(w io.Writer) io.WriteCloser {
				f := badFilter{w, in}
				f.goWrong("New")
				return f
			}
			p := start(t, spec)
			wait(t, p)
			text, _ := p.StderrTail()
			if closed := strings.HasPrefix(in, "Close"); closed != (text != "") || closed != (also.String() != "") {
				t.Errorf("tail: %d bytes, the writer: %d", len(text), len(also.String()))
			}
			if got := p.Shutdown(patient); got.StderrErr != errFilter || got.Rung != RungExit {
				t.Errorf("report: %+v", got)
			}
		})
	}
}
