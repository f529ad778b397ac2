package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type panicker struct{}

func (panicker) MarshalJSON() ([]byte, error) { panic("while encoding") }

// Whatever a handler does, there is an answer, under the id as it was sent, and it
// tells nothing that it should not.
func TestAnswer(t *testing.T) {
	const internal = `{"code":-32603,"message":"Internal error"}`
	for _, tt := range []struct {
		name   string
		id     string
		serve  func(r *Request) (any, error)
		result string
		err    string
	}{
		{"result", `1`, func(*Request) (any, error) { return map[string]int{"a": 1}, nil }, `{"a":1}`, ``},
		{"nothing", `"x\u0041"`, func(*Request) (any, error) { return nil, nil }, `null`, ``},
		{"null id", `null`, func(*Request) (any, error) { return 1, nil }, `1`, ``},
		{"float id", `1.50`, func(*Request) (any, error) { return 1, nil }, `1`, ``},
		{"big id", `123456789012345678901234567890`, func(*Request) (any, error) { return 1, nil }, `1`, ``},
		{"error", `1`, func(*Request) (any, error) { return 1, errors.New("password is hunter2") }, ``, internal},
		{"typed error", `1`, func(*Request) (any, error) {
			return nil, fmt.Errorf("wrapped: %w", &Error{Code: 7, Message: "no", Data: json.RawMessage(`{"a":1}`)})
		}, ``, `{"code":7,"message":"no","data":{"a":1}}`},
		{"panic", `1`, func(*Request) (any, error) { panic("hunter2") }, ``, internal},
		{"end of the goroutine", `1`, func(*Request) (any, error) { runtime.Goexit(); return nil, nil }, ``, internal},
		{"cannot be encoded", `1`, func(*Request) (any, error) { return math.NaN(), nil }, ``, internal},
		{"panic while encoding", `1`, func(*Request) (any, error) { return panicker{}, nil }, ``, internal},
		{"not served", `1`, nil, ``, `{"code":-32601,"message":"Method not found"}`},
		{"early", `1`, func(r *Request) (any, error) { r.Answer("first", nil); return "second", nil }, `"first"`, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := dial(t, &hooks{serve: tt.serve}, &Options{MaxRequests: 1})
			for range 2 { // the slot is free again
				p.send(`{"jsonrpc":"2.0","id":%s,"method":"ask/a","params":{}}`, tt.id)
				m := p.read()
				got := []string{string(m.ID), string(m.Result), string(m.Error)}
				if diff := cmp.Diff([]string{tt.id, tt.result, tt.err}, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			}
			eventually(t, "nothing is open", func() bool { return p.conn.Stats().Open == 0 })
		})
	}
}

func TestPanicsAreCounted(t *testing.T) {
	p := dial(t, &hooks{
		run:   func(_ context.Context, method, _ string) { panic(method) },
		serve: func(r *Request) (any, error) { panic(r.Method) },
	}, nil)
	p.send(`{"jsonrpc":"2.0","method":"notify/a"}`)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"ask/a"}`)
	p.read()
	if got := p.conn.Stats().Panics; got != 2 {
		t.Errorf("%d panics, want 2", got)
	}
}

// A hook on the reader that panics or ends its goroutine costs its frame and no more:
// the line is noise, a request is answered, a call has its reply.
func TestReaderIsContained(t *testing.T) {
	for name, leave := range map[string]func(){"panic": func() { panic("on the reader") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			p := dial(t, &hooks{
				notified: func(method string, _ []byte) {
					if method == "notify/bad" {
						leave()
					}
				},
				receive: func(*Request) { leave() },
				serve:   func(*Request) (any, error) { return "served", nil },
			}, &Options{MaxMessageBytes: 200})
			var calls []*Call
			for range 3 {
				k, err := p.conn.Start(t.Context(), "peer/call", nil, nil, func([]byte, error) { leave() })
				if err != nil {
					t.Fatal(err)
				}
				p.read()
				calls = append(calls, k)
			}
			p.send(`{"method":"notify/bad"}`)
			p.send(`[{"method":"notify/bad"},{"method":"notify/good"}]`)
			p.send(`{"id":"a","method":"ask/a"}`)
			if m := p.read(); string(m.ID) != `"a"` || string(m.Result) != `"served"` {
				t.Errorf("answer %+v", m)
			}
			p.send(`{"id":"b","method":"ask/a","x":"%s"}`, strings.Repeat("x", 300))
			if m := p.read(); string(m.ID) != `"b"` {
				t.Errorf("answer %+v", m)
			}
			p.send(`{"id":1,"result":"r"}`)
			p.send(`{"id":2,"method":"peer/call"}`) // an echo
			p.send(`{"id":3,"result":"%s"}`, strings.Repeat("x", 300))
			want := []string{"r", "peer/call: the peer echoes our own frames", "peer/call: the frame is larger than the limit of 200 bytes"}
			for i, k := range calls {
				p.wait(k.Done(), "reply")
				raw, err := k.Reply()
				got := strings.Trim(string(raw), `"`)
				if err != nil {
					got = err.Error()
				}
				if got != want[i] {
					t.Errorf("call %d: %s, want %s", i+1, got, want[i])
				}
			}
			if s := p.conn.Stats(); s.Panics != 7 || name == "panic" && s.NoiseLines != 7 || s.Open != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A callback that ends its goroutine takes only itself with it.
func TestGoexitInCallback(t *testing.T) {
	var ran log
	p := dial(t, &hooks{run: func(_ context.Context, method, _ string) {
		ran.add("%s", method)
		if method == "notify/exit" {
			runtime.Goexit()
		}
	}}, nil)
	p.send(`[{"method":"notify/a"},{"method":"notify/exit"},{"method":"notify/b"}]`)
	p.send(`{"method":"notify/exit"}`)
	p.send(`{"method":"notify/c"}`)
	want := []string{"notify/a", "notify/exit", "notify/b", "notify/exit", "notify/c"}
	eventually(t, "all have run", func() bool { return len(ran.all()) == len(want) })
	if diff := cmp.Diff(want, ran.all()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	eventually(t, "nothing is queued", func() bool { return p.conn.queued.Load() == 0 })
}

// Requests are handled at once, but only so many.
func TestManyRequests(t *testing.T) {
	const n, bound = 3000, 16
	release := make(chan struct{})
	var running, most, done atomic.Int64
	p := dial(t, &hooks{serve: func(r *Request) (any, error) {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		<-release
		done.Add(1)
		return nil, nil
	}}, &Options{MaxRequests: bound})
	goroutines := runtime.NumGoroutine()
	for i := range n {
		p.send(`{"jsonrpc":"2.0","id":%d,"method":"ask/a"}`, i)
	}
	eventually(t, "all slots are taken", func() bool { return running.Load() == bound })
	if got := runtime.NumGoroutine(); got > goroutines+bound+10 {
		t.Errorf("%d goroutines for %d requests, %d before", got, n, goroutines)
	}
	eventually(t, "all are open", func() bool { return p.conn.Stats().Open == n })
	go close(release)
	seen := map[string]bool{}
	for range n {
		seen[string(p.read().ID)] = true
	}
	if len(seen) != n || most.Load() > bound {
		t.Errorf("%d answers, at most %d at once", len(seen), most.Load())
	}
	eventually(t, "nothing is queued", func() bool { return p.conn.queued.Load() == 0 && p.conn.Stats().Open == 0 })
}

// Answers that nobody reads hold the reader back.
func TestUnreadAnswers(t *testing.T) {
	p := dial(t, &hooks{serve: func(*Request) (any, error) { return nil, nil }}, &Options{MaxQueueBytes: 64 << 10, MaxRequests: 2})
	const n = 2000
	go func() {
		for i := range n {
			fmt.Fprintf(p.out, `{"jsonrpc":"2.0","id":%d,"method":"notify/%s"}`+"\n", i, strings.Repeat("x", i%20))
			fmt.Fprintf(p.out, `{"jsonrpc":"2.0","id":"a%d","method":"ask/a"}`+"\n", i)
		}
	}()
	eventually(t, "the reader waits", p.conn.held.Load)
	for range 2 * n {
		p.read()
	}
	eventually(t, "nothing is queued", func() bool { return p.conn.queued.Load() == 0 })
}

func TestWithdrawnRequest(t *testing.T) {
	for _, tt := range []struct{ id, requestID string }{
		{`7`, `7`}, {`"x"`, `"x"`}, {`7`, `7.0`}, {`"\u0078"`, `"x"`}, {`null`, `null`},
	} {
		t.Run(tt.id+" "+tt.requestID, func(t *testing.T) {
			begun := make(chan struct{}, 2)
			p := dial(t, &hooks{serve: func(r *Request) (any, error) {
				begun <- struct{}{}
				<-r.Context().Done()
				return nil, &Error{Code: -32800, Message: context.Cause(r.Context()).Error()}
			}}, &Options{MaxRequests: 1})
			p.send(`{"jsonrpc":"2.0","id":"other","method":"ask/other"}`)
			p.wait(begun, "handler")
			p.send(`{"jsonrpc":"2.0","id":%s,"method":"ask/a"}`, tt.id)
			// It has not been begun, and is withdrawn all the same.
			p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%s}}`, tt.requestID)
			p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"unknown"}}`)
			p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":["x"]}`)
			p.send(`{"jsonrpc":"2.0","method":"$/cancel_request"}`)
			p.send(`{"jsonrpc":"2.0","id":"c","method":"$/cancel_request","params":{"requestId":"unknown"}}`)
			if m := p.read(); string(m.ID) != `"c"` || string(m.Result) != "null" {
				t.Errorf("%s %s %s", m.ID, m.Result, m.Error)
			}
			p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"other"}}`)
			for _, want := range []string{`"other"`, tt.id} {
				m := p.read()
				if string(m.ID) != want || !strings.Contains(string(m.Error), errWithdrawn.Error()) {
					t.Errorf("%s %s, want %s", m.ID, m.Error, want)
				}
			}
		})
	}
}

// The contexts of handlers end with the peer.
func TestRequestContextAtEnd(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	p := dial(t, &hooks{serve: func(r *Request) (any, error) {
		close(begun)
		<-r.Context().Done()
		close(ended)
		return nil, nil
	}}, nil)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"ask/a"}`)
	p.wait(begun, "handler")
	p.out.Close()
	p.wait(ended, "end of the context")
}

// What Receive answers is never served.
func TestAnswerOnReceipt(t *testing.T) {
	p := dial(t, &hooks{
		receive: func(r *Request) {
			if r.Method == "ask/now" {
				r.Answer("now", nil)
			}
		},
		serve: func(r *Request) (any, error) { return r.Method, nil },
	}, nil)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"ask/now"}`)
	if m := p.read(); string(m.Result) != `"now"` {
		t.Errorf("%s", m.Result)
	}
	p.send(`{"jsonrpc":"2.0","id":2,"method":"ask/later"}`)
	if m := p.read(); string(m.ID) != "2" || string(m.Result) != `"ask/later"` {
		t.Errorf("%s %s", m.ID, m.Result)
	}
}

// An oversized line costs itself only, and it is known what it was.
func TestOversized(t *testing.T) {
	const limit = 4 << 10
	big := strings.Repeat("x", 10*limit)
	var served, ran log
	p := dial(t, &hooks{
		run: func(_ context.Context, method, params string) { ran.add("%s %d", method, len(params)) },
		serve: func(r *Request) (any, error) {
			served.add("%s %v %d", r.Method, r.Unread, len(r.Params))
			return nil, &Error{Code: -32600, Message: "too large"}
		},
	}, &Options{MaxMessageBytes: limit})

	p.send(`{"jsonrpc":"2.0","method":"notify/a","params":"%s"}`, big)
	p.send(`{"params":["%s",{"id":1}],"method":"notify/a","jsonrpc":"2.0"}`, big)
	p.send(`{"jsonrpc":"2.0","id":"q","method":"ask/a","params":"%s"}`, big)
	if m := p.read(); string(m.ID) != `"q"` || string(m.Error) != `{"code":-32600,"message":"too large"}` {
		t.Errorf("request: %s %s", m.ID, m.Error)
	}
	for i, line := range []string{
		`{"jsonrpc":"2.0","id":1,"result":"` + big + `"}`,
		`{"result":{"a":"` + big + `"},"id":"2"}`,
		"\x1b[0m" + `{"jsonrpc":"2.0","id":3.0,"error":{"message":"` + big + `"}}`,
		`[{"jsonrpc":"2.0","method":"notify/a"},{"jsonrpc":"2.0","id":4,"result":"` + big + `"}]`,
	} {
		call := p.call(t.Context(), "peer/call")
		p.read()
		p.send("%s", line)
		_, err := p.result(call)
		tooLarge, ok := errors.AsType[*TooLargeError](err)
		if e, _ := errors.AsType[*CallError](err); !ok || tooLarge.Limit != limit || e.Method != "peer/call" || !e.Sent {
			t.Errorf("reply %d: %v", i, err)
		}
	}
	p.send(`%s`, big)
	p.send(`{"level":"info","id":5,"msg":"%s"}`, big)
	p.send(`{"jsonrpc":"2.0","method":"notify/b","params":"small"}`)
	eventually(t, "the connection goes on", func() bool { return len(ran.all()) == 1 })
	if diff := cmp.Diff([]string{"ask/a the frame is larger than the limit of 4096 bytes 0"}, served.all()); diff != "" {
		t.Errorf("served (-want +got)\n%s", diff)
	}
	s := p.conn.Stats()
	if s.Dropped != 3 || s.NoiseLines != 2 || len(s.Noise) != 2 || len(s.Noise[0]) > maxNoiseLine+10 {
		t.Errorf("%d dropped, %d noise %.50q", s.Dropped, s.NoiseLines, s.Noise)
	}
}

// A peer that sends our requests back is no peer.
func TestEcho(t *testing.T) {
	p := dial(t, &hooks{}, nil)
	call := p.call(t.Context(), "peer/call")
	line, err := p.got.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	p.send("%s", strings.TrimSuffix(line, "\n"))
	_, err = p.result(call)
	if _, ok := errors.AsType[*EchoError](err); !ok {
		t.Errorf("%v", err)
	}
	// Another method, or another id, is a request of the peer's own.
	call = p.call(t.Context(), "peer/call")
	p.read()
	p.send(`{"jsonrpc":"2.0","id":2,"method":"peer/other"}`)
	p.send(`{"jsonrpc":"2.0","id":9,"method":"peer/call"}`)
	for range 2 {
		if m := p.read(); !strings.Contains(string(m.Error), "-32601") {
			t.Errorf("%s %s", m.ID, m.Error)
		}
	}
	p.send(`{"jsonrpc":"2.0","id":2,"result":"ok"}`)
	if text, err := p.result(call); text != `"ok"` || err != nil {
		t.Errorf("%s, %v", text, err)
	}
}

// One line with very many frames is held back as many lines are.
func TestManyFramesInALine(t *testing.T) {
	const n = 5000
	for name, frame := range map[string]string{"requests": `{"id":%d,"method":"ask/a"}`, "notifications": `{"method":"notify/a","n":%d}`, "oversized": `{"id":%d,"method":"ask/a"}`} {
		t.Run(name, func(t *testing.T) {
			limit := n * len(frame) * 2
			if name == "oversized" {
				limit = n * len(frame) / 2
			}
			release := make(chan struct{})
			var read, done atomic.Int64
			in, out := io.Pipe()
			conn := New(in, io.Discard, &hooks{
				notified: func(string, []byte) { read.Add(1) },
				receive:  func(*Request) { read.Add(1) },
				run:      func(context.Context, string, string) { <-release; done.Add(1) },
				serve:    func(*Request) (any, error) { <-release; done.Add(1); return nil, nil },
			}, &Options{MaxMessageBytes: limit, MaxQueueBytes: 4000, MaxRequests: 1})
			conn.Listen()
			var line strings.Builder
			for i := range n {
				fmt.Fprintf(&line, ","+frame, i)
			}
			go io.WriteString(out, "["+line.String()[1:]+"]\n")
			eventually(t, "the reader is held back", conn.held.Load)
			if got := read.Load(); got > 100 {
				t.Errorf("%d frames were read", got)
			}
			close(release)
			eventually(t, "all are done", func() bool { return done.Load() == n })
			out.Close() // the line has been read
			<-conn.Done()
		})
	}
}

// What a connection keeps of a method is bounded.
func TestLongMethodIsNotKept(t *testing.T) {
	var got atomic.Int64
	p := dial(t, &hooks{notified: func(method string, _ []byte) { got.Add(int64(len(method))) }}, nil)
	p.send(`{"jsonrpc":"2.0","method":"notify/%s"}`, strings.Repeat("x", 1<<20))
	p.send(`{"jsonrpc":"2.0","method":"notify/%s"}`, strings.Repeat("x", 1<<20))
	p.out.Close()
	p.wait(p.conn.Done(), "end")
	if len(p.conn.method) > maxToken || got.Load() != 2*(1<<20+7) {
		t.Errorf("%d bytes are kept, %d were read", len(p.conn.method), got.Load())
	}
}
