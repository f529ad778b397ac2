package wire

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the peer asks before it replies to a call of a callback is answered, whether it
// was read before the call was made or after; what else is queued keeps its order.
func TestNestedCallbacks(t *testing.T) {
	for _, early := range []bool{false, true} {
		var happened log
		var p *peer
		asked := make(chan struct{})
		p = dial(t, &hooks{
			run: func(ctx context.Context, method, _ string) {
				if method == "notify/call" {
					if early {
						<-asked
					}
					raw, err := p.conn.Call(ctx, "peer/outer", nil, nil)
					happened.add("outer %s %v", raw, err)
				}
				happened.add("%s", method)
			},
			receive: func(*Request) {
				if early {
					// The reader has more to say before it hands this over.
					p.conn.Defer(called{"notify/deferred", ""})
				}
			},
			serve: func(r *Request) (any, error) {
				raw, err := p.conn.Call(r.Context(), "peer/inner", nil, nil)
				happened.add("%s %s %v", r.Method, raw, err)
				return json.RawMessage(raw), err
			},
		}, nil)
		p.send(`{"method":"notify/call"}`)
		p.send(`{"method":"notify/before"}`)
		ask := func() { p.send(`{"id":"q","method":"ask/q"}`) }
		var outer msg
		if early {
			ask()
			eventually(t, "the request waits for its turn", func() bool {
				p.conn.mu.Lock()
				defer p.conn.mu.Unlock()
				return len(p.conn.upcoming) == 1
			})
			close(asked)
			outer = p.read()
		} else {
			outer = p.read()
			ask()
		}
		p.send(`{"method":"notify/after"}`)
		inner := p.read()
		if outer.Method != "peer/outer" || inner.Method != "peer/inner" {
			t.Fatalf("%s, %s", outer.Method, inner.Method)
		}
		p.send(`{"id":%s,"result":"i"}`, inner.ID)
		if m := p.read(); string(m.ID) != `"q"` || string(m.Result) != `"i"` {
			t.Fatalf("%s %s%s", m.ID, m.Result, m.Error)
		}
		p.send(`{"id":%s,"result":"o"}`, outer.ID)
		want := []string{`ask/q "i" <nil>`, `outer "o" <nil>`, "notify/call", "notify/before"}
		if early {
			want = append(want, "notify/deferred")
		}
		want = append(want, "notify/after")
		eventually(t, "all has run", func() bool { return len(happened.all()) == len(want) })
		if diff := cmp.Diff(want, happened.all()); diff != "" {
			t.Errorf("early=%v (-want +got)\n%s", early, diff)
		}
		eventually(t, "all is done", p.conn.idle)
	}
}

// A call of a handler is no reason to serve others before their turn.
func TestHandlersCallKeepsTheOrder(t *testing.T) {
	release := make(chan struct{})
	var happened log
	var p *peer
	p = dial(t, &hooks{
		run: func(context.Context, string, string) { <-release; happened.add("update") },
		serve: func(r *Request) (any, error) {
			happened.add("%s", r.Method)
			if r.Method == "ask/call" {
				p.conn.Call(r.Context(), "peer/call", nil, nil)
			}
			return nil, nil
		},
	}, nil)
	p.send(`{"id":"a","method":"ask/call"}`)
	call := p.read()
	p.send(`{"method":"notify/a"}`)
	p.send(`{"id":"b","method":"ask/b"}`)
	p.send(`{"id":%s,"result":1}`, call.ID)
	p.read() // a is answered
	close(release)
	p.read()
	if diff := cmp.Diff([]string{"ask/call", "update", "ask/b"}, happened.all()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A callback that waits for a reply whose turn comes after it, because its call was not
// made with its own context, ends with the connection.
func TestShutEndsCallbackOutOfOrder(t *testing.T) {
	for _, replied := range []bool{true, false} {
		results := make(chan result, 1)
		var p *peer
		p = dial(t, &hooks{run: func(context.Context, string, string) {
			raw, err := p.conn.Call(context.Background(), "peer/call", nil, nil)
			results <- result{string(raw), err}
		}}, nil)
		p.send(`{"method":"notify/a"}`)
		p.read()
		if replied {
			p.send(`{"id":1,"result":"ok"}`)
			p.send("")
			p.out.Close()
			p.wait(p.conn.Done(), "end")
		}
		p.conn.Shut(io.ErrClosedPipe)
		text, err := p.result(results)
		if replied && (text != `"ok"` || err != nil) || !replied && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("replied=%v: %s, %v", replied, text, err)
		}
		eventually(t, "nothing is queued", func() bool { return p.conn.queued.Load() == 0 })
	}
}
