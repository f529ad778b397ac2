package wire

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What was read before the end is delivered, in order; what is pending ends with the
// cause.
func TestEnd(t *testing.T) {
	release := make(chan struct{})
	var ran log
	p := dial(t, &hooks{run: func(_ context.Context, method, _ string) { <-release; ran.add("%s", method) }}, nil)
	answered, pending := p.call(t.Context(), "peer/1"), (<-chan result)(nil)
	p.read()
	pending = p.call(t.Context(), "peer/2")
	p.read()
	p.send(`{"jsonrpc":"2.0","method":"notify/a"}`)
	io.WriteString(p.out, `{"jsonrpc":"2.0","id":1,"result":"ok"}`)
	p.out.Close()
	p.wait(p.conn.Done(), "end")
	if _, err := p.conn.Call(t.Context(), "peer/3", nil, nil); !errors.Is(err, io.EOF) {
		t.Errorf("a call after the end: %v", err)
	}
	close(release)
	if text, err := p.result(answered); text != `"ok"` || err != nil {
		t.Errorf("answered: %s, %v", text, err)
	}
	_, err := p.result(pending)
	closed, ok := errors.AsType[*ClosedError](err)
	if call, _ := errors.AsType[*CallError](err); !ok || closed.Cause != io.EOF || call.Method != "peer/2" || !call.Sent {
		t.Errorf("pending: %#v", err)
	}
	if diff := cmp.Diff([]string{"notify/a"}, ran.all()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if !errors.Is(p.conn.Err(), io.EOF) {
		t.Errorf("Err: %v", p.conn.Err())
	}
}

// A callback that waits for its context ends though nobody shuts the connection.
func TestEndOfStuckCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		p := dial(t, &hooks{run: func(ctx context.Context, _, _ string) { <-ctx.Done(); close(ended) }}, nil)
		p.send(`{"jsonrpc":"2.0","method":"notify/a"}`)
		p.out.Close()
		begin := time.Now()
		<-ended
		if d := time.Since(begin); d != drainGrace {
			t.Errorf("after %v, want %v", d, drainGrace)
		}
	})
}

func TestShut(t *testing.T) {
	cause := errors.New("enough")
	begun, ended := make(chan struct{}), make(chan struct{})
	p := dial(t, &hooks{run: func(ctx context.Context, _, _ string) {
		close(begun)
		<-ctx.Done()
		close(ended)
	}}, &Options{MaxQueueBytes: 1})
	call := p.call(t.Context(), "peer/call")
	p.read()
	p.send(`{"jsonrpc":"2.0","method":"notify/a"}`)
	p.wait(begun, "callback")
	p.conn.Shut(cause)
	if _, err := p.result(call); !errors.Is(err, cause) {
		t.Errorf("pending: %v", err)
	}
	p.wait(ended, "end of the callback's context")
	if _, err := p.conn.Call(t.Context(), "peer/call", nil, nil); !errors.Is(err, cause) {
		t.Errorf("later: %v", err)
	}
	if err := p.conn.Notify(t.Context(), "note", nil); !errors.Is(err, cause) {
		t.Errorf("notification: %v", err)
	}
	// Nobody listens, and nobody is kept from writing.
	for range 100 {
		p.send(`{"jsonrpc":"2.0","method":"notify/b","params":["%s"]}`, strings.Repeat("x", 1<<10))
	}
	p.conn.Shut(errors.New("twice"))
	if !errors.Is(p.conn.Err(), cause) {
		t.Errorf("Err: %v", p.conn.Err())
	}
}

// An idle connection is one goroutine and a few KiB.
func TestIdle(t *testing.T) {
	const n = 100
	var before, after runtime.MemStats
	goroutines := runtime.NumGoroutine()
	runtime.GC()
	runtime.ReadMemStats(&before)
	var peers []*peer
	for range n {
		p := dial(t, &hooks{run: func(context.Context, string, string) {}}, nil)
		peers = append(peers, p)
		k, err := p.conn.Start(t.Context(), "peer/call", nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		p.read()
		p.send(`{"jsonrpc":"2.0","method":"notify/a","params":["%s"]}`, strings.Repeat("x", 200<<10))
		p.send(`{"jsonrpc":"2.0","id":1,"result":"ok"}`)
		<-k.Done()
		for range 10 {
			p.send("")
		}
	}
	eventually(t, "one goroutine each", func() bool { return runtime.NumGoroutine() <= goroutines+n })
	runtime.GC()
	runtime.ReadMemStats(&after)
	if per := (int64(after.HeapInuse) - int64(before.HeapInuse)) / n; per > 32<<10 {
		t.Errorf("an idle connection holds %d bytes", per)
	}
	runtime.KeepAlive(peers)
}
