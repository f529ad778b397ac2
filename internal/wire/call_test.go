package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCallContext(t *testing.T) {
	t.Run("done before", func(t *testing.T) {
		p := dial(t, &hooks{}, nil)
		cause := errors.New("my cause")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		_, err := p.conn.Call(ctx, "peer/call", nil, nil)
		call, _ := errors.AsType[*CallError](err)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) || call.Sent {
			t.Errorf("%v", err)
		}
		if err := p.conn.Notify(ctx, "note", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("Notify: %v", err)
		}
	})
	t.Run("withdrawn", func(t *testing.T) {
		p := dial(t, &hooks{}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		call := p.call(ctx, "peer/call")
		p.read()
		cancel()
		_, err := p.result(call)
		if e, _ := errors.AsType[*CallError](err); !errors.Is(err, context.Canceled) || !e.Sent {
			t.Errorf("%v", err)
		}
		if m := p.read(); m.Method != cancelMethod || string(m.Params) != `{"requestId":1}` {
			t.Errorf("%s %s", m.Method, m.Params)
		}
		p.send(`{"jsonrpc":"2.0","id":1,"result":"late"}`)
		eventually(t, "the late reply is counted", func() bool { return p.conn.Stats().Late == 1 })
		if s := p.conn.Stats(); s.NoiseLines+s.Stray+s.Duplicate > 0 {
			t.Errorf("%+v", s)
		}
	})
	t.Run("deadline", func(t *testing.T) {
		p := dial(t, &hooks{}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := p.result(p.call(ctx, "peer/call")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
	// The reply is read but its turn has not come: it counts.
	t.Run("reply read", func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		p := dial(t, &hooks{run: func(context.Context, string, string) { <-release }}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		call := make(chan result, 1)
		read := make(chan struct{})
		go func() {
			raw, err := p.conn.Call(ctx, "peer/call", nil, func([]byte, error) { close(read) })
			call <- result{string(raw), err}
		}()
		p.read()
		p.send(`{"jsonrpc":"2.0","method":"notify/a"}`)
		p.send(`{"jsonrpc":"2.0","id":1,"result":"ok"}`)
		p.wait(read, "reply")
		cancel()
		if text, err := p.result(call); text != `"ok"` || err != nil {
			t.Errorf("%s, %v", text, err)
		}
	})
}

// A frame that has been begun is finished before another one; one that has not is
// taken back by whoever gives up.
func TestStuckWrite(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in, out := io.Pipe()
	conn := New(in, w, &hooks{}, nil)
	conn.Listen()
	defer func() { r.Close(); out.Close(); <-conn.Done() }()

	big := strings.Repeat("x", 1<<20)
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		eventually(t, "the frame is begun", func() bool {
			conn.mu.Lock()
			defer conn.mu.Unlock()
			return conn.writing && len(conn.out) == 0
		})
		cancel()
	}()
	_, err = conn.Call(ctx, "peer/big", []string{big}, nil)
	if e, _ := errors.AsType[*CallError](err); !errors.Is(err, context.Canceled) || !e.Sent {
		t.Fatalf("big call: %v", err)
	}
	_, err = conn.Call(short(), "peer/back", nil, nil)
	if e, _ := errors.AsType[*CallError](err); !errors.Is(err, context.DeadlineExceeded) || e.Sent {
		t.Fatalf("call behind it: %v", err)
	}
	if err := conn.Notify(short(), "peer/back", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("notification behind it: %v", err)
	}
	posted := conn.Post("peer/posted", nil)
	if err := posted.Wait(short()); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("posted: %v", err)
	}

	dec := json.NewDecoder(r)
	var got []string
	for range 3 {
		var m msg
		if err := dec.Decode(&m); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %s %d", m.Method, m.ID, len(m.Params)))
	}
	want := []string{fmt.Sprintf("peer/big 1 %d", len(big)+4), "$/cancel_request  15", "peer/posted  0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if err := posted.Wait(t.Context()); err != nil {
		t.Errorf("posted, at last: %v", err)
	}
}

// brokenWriter fails from the nth write on.
type brokenWriter struct{ left atomic.Int32 }

var errBroken = errors.New("broken pipe")

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.left.Add(-1) < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

// A connection that cannot be written to still reads.
func TestWriteError(t *testing.T) {
	start := func(t *testing.T, writes int32) (*Conn, *io.PipeWriter) {
		in, out := io.Pipe()
		w := &brokenWriter{}
		w.left.Store(writes)
		conn := New(in, w, &hooks{}, nil)
		conn.Listen()
		t.Cleanup(func() { out.Close(); <-conn.Done() })
		return conn, out
	}
	t.Run("later frames fail, a pending call does not", func(t *testing.T) {
		conn, out := start(t, 1)
		k, err := conn.Start(t.Context(), "peer/call", nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "the frame is written", func() bool { return conn.Stats().Sent == 1 })
		err = conn.Notify(t.Context(), "note", nil)
		if _, ok := errors.AsType[*WriteError](err); !ok || !errors.Is(err, errBroken) {
			t.Errorf("Notify: %v", err)
		}
		_, err = conn.Call(t.Context(), "peer/later", nil, nil)
		if e, _ := errors.AsType[*CallError](err); !errors.Is(err, errBroken) || e.Sent {
			t.Errorf("a later call: %v", err)
		}
		io.WriteString(out, `{"jsonrpc":"2.0","id":1,"result":"ok"}`+"\n")
		<-k.Done()
		if raw, err := k.Reply(); string(raw) != `"ok"` || err != nil {
			t.Errorf("pending: %s, %v", raw, err)
		}
	})
	t.Run("a call that was not written whole may still be answered", func(t *testing.T) {
		conn, out := start(t, 0)
		k, err := conn.Start(t.Context(), "peer/call", nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Notify(t.Context(), "note", nil); err == nil {
			t.Fatal("the connection is not broken")
		}
		io.WriteString(out, `{"jsonrpc":"2.0","id":1,"result":"ok"}`+"\n")
		<-k.Done()
		if raw, err := k.Reply(); string(raw) != `"ok"` || err != nil {
			t.Errorf("%s, %v", raw, err)
		}
	})
	t.Run("but not for ever", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			conn, _ := start(t, 0)
			begin := time.Now()
			_, err := conn.Call(t.Context(), "peer/call", nil, nil)
			if !errors.Is(err, errBroken) || time.Since(begin) != writeGrace {
				t.Errorf("%v after %v", err, time.Since(begin))
			}
		})
	})
	t.Run("and the end of the peer says more", func(t *testing.T) {
		conn, out := start(t, 0)
		k, err := conn.Start(t.Context(), "peer/call", nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		out.Close()
		<-k.Done()
		if _, err := k.Reply(); !errors.Is(err, io.EOF) {
			t.Errorf("%v", err)
		}
	})
}

// A call that has its reply is not unwanted, whatever comes after that.
func TestCallUnwanted(t *testing.T) {
	for name, answered := range map[string]bool{"answered": true, "lost": false} {
		t.Run(name, func(t *testing.T) {
			p := dial(t, &hooks{}, nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			k, err := p.conn.Start(ctx, "peer/call", nil, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			request := p.read()
			if answered {
				p.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, request.ID)
				p.wait(k.Done(), "the reply")
			}
			cancel()
			p.conn.mu.Lock()
			p.conn.lose(k, io.ErrClosedPipe)
			p.conn.mu.Unlock()
			if k.Unwanted() == answered {
				t.Errorf("unwanted: %v", k.Unwanted())
			}
		})
	}
}
