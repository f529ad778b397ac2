package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What comes before is done before; what comes after is not begun.
func TestOrder(t *testing.T) {
	var happened log
	release := make(chan struct{})
	p := dial(t, &hooks{
		notified: func(method string, _ []byte) { happened.add("read %s", method) },
		run: func(_ context.Context, method, _ string) {
			<-release
			happened.add("run %s", method)
		},
		serve: func(r *Request) (any, error) { happened.add("serve %s", r.Method); return nil, nil },
	}, nil)
	call := make(chan result, 1)
	go func() {
		raw, err := p.conn.Call(t.Context(), "peer/call", nil, func([]byte, error) { happened.add("reply read") })
		happened.add("reply delivered")
		call <- result{string(raw), err}
	}()
	p.read()
	p.send(`{"jsonrpc":"2.0","method":"notify/1"}`)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"ask/2"}`)
	p.send(`{"jsonrpc":"2.0","method":"notify/3"}`)
	p.send(`{"jsonrpc":"2.0","id":1,"result":1}`)
	p.send(`{"jsonrpc":"2.0","method":"notify/5"}`)
	p.send("")
	release <- struct{}{}
	p.read() // the answer to 2
	release <- struct{}{}
	p.result(call)
	close(release)
	eventually(t, "the last callback has run", func() bool { return len(happened.all()) == 9 })
	want := []string{
		"read notify/1", "read notify/3", "reply read", "read notify/5",
		"run notify/1", "serve ask/2", "run notify/3", "reply delivered", "run notify/5",
	}
	if diff := cmp.Diff(want, happened.all()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A slow callback slows the peer down; nothing is lost and little is held.
func TestBackPressure(t *testing.T) {
	const n, size, bound = 2000, 1000, 64 << 10
	release := make(chan struct{})
	var ran atomic.Int64
	p := dial(t, &hooks{run: func(_ context.Context, _, params string) {
		<-release
		if want := fmt.Sprintf(`["%d",`, ran.Load()); !strings.HasPrefix(params, want) {
			t.Errorf("%.20s, want %s", params, want)
		}
		ran.Add(1)
	}}, &Options{MaxQueueBytes: bound})
	var sent atomic.Int64
	go func() {
		pad := strings.Repeat("x", size)
		for i := range n {
			fmt.Fprintf(p.out, `{"jsonrpc":"2.0","method":"notify/x","params":["%d","%s"]}`+"\n", i, pad)
			sent.Add(1)
		}
	}()
	eventually(t, "the reader waits", p.conn.held.Load)
	if got := sent.Load() * size; got > 2*bound+2*bulkBuffer {
		t.Errorf("%d bytes were read with a bound of %d", got, bound)
	}
	close(release)
	eventually(t, "all has run", func() bool { return ran.Load() == n })
	if left := p.conn.queued.Load(); left != 0 {
		eventually(t, "nothing is queued", func() bool { return p.conn.queued.Load() == 0 })
	}
}

// A call with a callback's context gets its reply though that callback, and more than
// the bound, stands before it in the order.
func TestCallFromCallback(t *testing.T) {
	const bound = 16 << 10
	fill := func(p *peer, n int) {
		for range n {
			p.send(`{"jsonrpc":"2.0","method":"notify/fill","params":["%s"]}`, strings.Repeat("x", 1<<10))
		}
	}
	start := func(t *testing.T, max int) (*peer, chan result) {
		p := (*peer)(nil)
		results := make(chan result, 1)
		ready := make(chan struct{})
		h := &hooks{run: func(ctx context.Context, method, _ string) {
			if method == "notify/call" {
				<-ready
				raw, err := p.conn.Call(ctx, "peer/call", nil, nil)
				results <- result{string(raw), err}
			}
		}}
		p = dial(t, h, &Options{MaxQueueBytes: bound, MaxMessageBytes: max})
		close(ready)
		p.send(`{"jsonrpc":"2.0","method":"notify/call"}`)
		p.read()
		return p, results
	}
	t.Run("reply", func(t *testing.T) {
		p, results := start(t, 1<<20)
		fill(p, 64)
		p.send(`{"jsonrpc":"2.0","id":1,"result":"ok"}`)
		if text, err := p.result(results); text != `"ok"` || err != nil {
			t.Errorf("%s, %v", text, err)
		}
	})
	t.Run("backlog", func(t *testing.T) {
		p, results := start(t, 32<<10)
		go func() {
			defer func() { recover() }()
			for {
				if _, err := fmt.Fprintf(p.out, `{"jsonrpc":"2.0","method":"notify/fill","params":["%s"]}`+"\n", strings.Repeat("x", 1<<10)); err != nil {
					return
				}
			}
		}()
		if _, err := p.result(results); !errors.Is(err, ErrBacklog) {
			t.Errorf("%v, want ErrBacklog", err)
		}
	})
	t.Run("peer goes", func(t *testing.T) {
		p, results := start(t, 1<<20)
		p.out.Close()
		if _, err := p.result(results); !errors.Is(err, io.EOF) {
			t.Errorf("%v, want EOF", err)
		}
	})
	t.Run("request", func(t *testing.T) {
		var p *peer
		p = dial(t, &hooks{serve: func(r *Request) (any, error) {
			raw, err := p.conn.Call(r.Context(), "peer/call", nil, nil)
			return json.RawMessage(raw), err
		}}, &Options{MaxRequests: 1})
		p.send(`{"jsonrpc":"2.0","id":"a","method":"ask/a"}`)
		p.read()
		p.send(`{"jsonrpc":"2.0","id":"b","method":"ask/b"}`)
		p.send(`{"jsonrpc":"2.0","id":1,"result":"ok"}`)
		if m := p.read(); string(m.ID) != `"a"` || string(m.Result) != `"ok"` {
			t.Errorf("%s %s", m.ID, m.Result)
		}
		p.read()
		p.send(`{"jsonrpc":"2.0","id":2,"result":"ok"}`)
		p.read()
	})
}

// While the bound is lifted the reader does not wait, within a larger one.
func TestLift(t *testing.T) {
	release := make(chan struct{})
	p := dial(t, &hooks{run: func(context.Context, string, string) { <-release }}, &Options{MaxQueueBytes: 16 << 10, MaxMessageBytes: 1 << 20})
	sent := make(chan struct{})
	const n = 500 // half of what the larger bound takes
	send := func() {
		for range n {
			fmt.Fprintf(p.out, `{"jsonrpc":"2.0","method":"notify/x","params":["%s"]}`+"\n", strings.Repeat("x", 1<<10))
		}
		sent <- struct{}{}
	}
	go send()
	eventually(t, "the reader waits", p.conn.held.Load)
	restore := p.conn.Lift()
	p.wait(sent, "end of the sending")
	go send()
	eventually(t, "the reader waits for the larger bound", p.conn.held.Load)
	p.conn.Unbind()
	p.wait(sent, "end of the sending")
	restore()
	close(release)
}
