package wire

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// writes is a writer that has fn for each Write.
type writes func(p []byte) (int, error)

func (w writes) Write(p []byte) (int, error) { return w(p) }

// It is told that something of a request was written when something was: not when it is
// about to be, and not only when all of it was.
func TestSent(t *testing.T) {
	in, closeIn := io.Pipe()
	r, w := io.Pipe()
	conn := New(in, w, &hooks{}, nil)
	conn.Listen()
	defer func() { closeIn.Close(); <-conn.Done() }()
	sent := make(chan struct{})
	k, err := conn.Start(t.Context(), "peer/big", []string{strings.Repeat("x", 1<<20)}, func() { close(sent) }, nil)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-sent:
		t.Error("it is told before anything was read")
	default:
	}
	head := make([]byte, beginning)
	if _, err := io.ReadFull(r, head); err != nil {
		t.Fatal(err)
	}
	select {
	case <-sent:
	case <-time.After(patience):
		t.Fatal("it is not told although something was written")
	}
	r.CloseWithError(io.ErrClosedPipe)
	<-k.Done()
	if _, err := k.Reply(); !sentOf(t, err) {
		t.Errorf("%v: nothing of it counts as written", err)
	}
}

func TestSentNothing(t *testing.T) {
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		write writes
		sent  bool
	}{
		"nothing was written": {func(p []byte) (int, error) { return 0, broken }, false},
		"a byte was":          {func(p []byte) (int, error) { return 1, broken }, true},
		"a short write":       {func(p []byte) (int, error) { return 1, nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			in, closeIn := io.Pipe()
			conn := New(in, tt.write, &hooks{}, nil)
			conn.Listen()
			defer func() { closeIn.Close(); <-conn.Done() }()
			told := false
			k, err := conn.Start(t.Context(), "peer/call", nil, func() { told = true }, nil)
			if err != nil {
				t.Fatal(err)
			}
			<-k.Done()
			if _, err = k.Reply(); sentOf(t, err) != tt.sent || told != tt.sent {
				t.Errorf("%v: counts as sent: %v, was told: %v; want %v", err, sentOf(t, err), told, tt.sent)
			}
		})
	}
}

func sentOf(t *testing.T, err error) bool {
	t.Helper()
	e, ok := errors.AsType[*CallError](err)
	if !ok {
		t.Fatalf("%v is no *CallError", err)
	}
	return e.Sent
}
