package proc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

func init() {
	// deaf reads nothing, says so, and lives until it is killed.
	children["deaf"] = func([]string) {
		os.Stdout.WriteString("deaf\n")
		forever()
	}
	// closes closes the descriptors named and then lives until its stdin ends, or if
	// that is one of them, writes a line and exits.
	children["closes"] = func(args []string) {
		for _, arg := range args {
			[]*os.File{os.Stdin, os.Stdout, os.Stderr}[atoi(arg)].Close()
		}
		io.Copy(io.Discard, os.Stdin)
		os.Stdout.WriteString("still here\n")
	}
}

// A write to a child that does not read ends at its deadline, with what was written
// told, and the rest can follow.
func testT10Deadline(t *testing.T) {
	p := start(t, child(t, "deaf"))
	big := make([]byte, 1<<20)
	p.Stdin().SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
	n, err := p.Stdin().Write(big)
	if n == 0 || n == len(big) || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("wrote %d, %v, want a part and ErrDeadlineExceeded", n, err)
	}
	p.Stdin().SetWriteDeadline(time.Time{})
	if got := p.Kill(hang); got.Exit.Signal == "" && got.Exit.Code == 0 {
		t.Errorf("report: %+v", got)
	}
}

// Close, Shutdown and Kill each end a write that is blocked.
func testT10Close(t *testing.T) {
	for name, end := range map[string]func(*Process){
		"Close":    func(p *Process) { p.Stdin().Close() },
		"Shutdown": func(p *Process) { p.Shutdown(short) },
		"Kill":     func(p *Process) { p.Kill(hang) },
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, child(t, "deaf"))
			blocked := make(chan struct{})
			done := make(chan error)
			go func() {
				p.Stdin().Write(make([]byte, 64<<10)) // fills the pipe
				close(blocked)
				_, err := p.Stdin().Write(make([]byte, 1<<20))
				done <- err
			}()
			<-blocked
			end(p)
			select {
			case err := <-done:
				if err == nil {
					t.Error("the write succeeded")
				}
			case <-time.After(hang):
				t.Error("the write is still blocked")
			}
		})
	}
}

// T22, and a child that is gone: a torn stdin is an error value, and what the child
// says is still read.
func testT22(t *testing.T) {
	p := start(t, child(t, "closes", "0"))
	eventually(t, "a write fails", func() bool {
		_, err := p.Stdin().Write([]byte("x"))
		return err != nil
	})
	if got := lines(t, p)(); got != "still here" {
		t.Errorf("read %q", got)
	}
	wait(t, p)
	if _, err := p.Stdin().Write([]byte("x")); err == nil {
		t.Error("a write to a child that is gone succeeds")
	}
}

// T21: stdout closed by a child that lives on is EOF at once.
func testT21(t *testing.T) {
	p := start(t, child(t, "closes", "1"))
	if out, err := io.ReadAll(p.Stdout()); len(out) > 0 || err != nil {
		t.Errorf("read %q, %v", out, err)
	}
	select {
	case <-p.Exited():
		t.Error("the child has exited")
	default:
	}
	if got := p.Shutdown(patient); got.Rung != RungEOF {
		t.Errorf("report: %+v", got)
	}
}

// Close ends a blocked Read, and may come before and after anything.
func TestCloseStdout(t *testing.T) {
	p := start(t, child(t, "cat"))
	done := make(chan error)
	go func() {
		_, err := p.Stdout().Read(make([]byte, 1))
		done <- err
	}()
	p.Stdout().Close()
	if err := <-done; !errors.Is(err, os.ErrClosed) {
		t.Errorf("Read: %v", err)
	}
	if _, err := p.Stdout().Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Read again: %v", err)
	}
	p.Shutdown(patient)
	p.Stdout().Close()
}

// syncBuffer is a writer that says so when it is closed.
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

// A writer that fails is left alone; one that blocks holds up neither the news of
// the exit nor the end.
func TestStderrWriter(t *testing.T) {
	for name, fail := range map[string]func() (int, error){
		"fails":  func() (int, error) { return 0, io.ErrClosedPipe },
		"panics": func() (int, error) { panic("in Stderr") },
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			spec := child(t, "stderr", "one\n", strings.Repeat("x", 100_000), "\nend")
			spec.Stderr = writerFunc(func([]byte) (int, error) {
				calls++
				return fail()
			})
			p := start(t, spec)
			wait(t, p)
			if text, _ := p.StderrTail(); !strings.HasPrefix(text, "one\n") || !strings.HasSuffix(text, "\nend") {
				t.Errorf("tail: %q", text)
			}
			if calls != 1 {
				t.Errorf("it was called %d times", calls)
			}
		})
	}
	t.Run("blocks", func(t *testing.T) {
		r, w := io.Pipe()
		defer r.Close()
		spec := child(t, "stderr", "one\n")
		spec.Stderr = w
		p := start(t, spec)
		wait(t, p)
		if text, _ := p.StderrTail(); text != "one\n" {
			t.Errorf("tail: %q", text)
		}
		if got := p.Shutdown(patient); got.Rung != RungExit {
			t.Errorf("report: %+v", got)
		}
	})
}
