package wire

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Whatever a peer writes without end, little of it is held: while nobody takes what is
// delivered, nobody reads what is answered, and after it.
func TestFlood(t *testing.T) {
	const (
		bound = 128 << 10 // of the queue
		flood = 5 << 20
		most  = 4 << 20 // some times what the bounds allow, and a part of the flood
	)
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, tt := range []struct {
		name string
		line func(i int) string
	}{
		{"one line", nil},
		{"noise", func(i int) string { return fmt.Sprint("noise ", i, x(100)) }},
		{"long lines of noise", func(i int) string { return fmt.Sprint("noise ", i, x(700<<10)) }},
		{"odd frames", func(i int) string { return fmt.Sprintf(`{"id":%d,"level":"info","x":%q}`, i, x(1000)) }},
		{"strays", func(i int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d%s","result":{}}`, i, x(1000)) }},
		{"duplicates", func(i int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":"%s"}`, x(1000)) }},
		{"withdrawals", func(i int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"%d%s"}}`, i, x(1000))
		}},
		{"notifications", func(i int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notify/%d","params":%q}`, i, x(1000))
		}},
		{"small notifications", func(i int) string { return `{"method":"notify/a"}` }},
		{"small requests", func(i int) string { return fmt.Sprintf(`{"id":%d,"method":"ask/a"}`, i) }},
		{"requests", func(i int) string { return fmt.Sprintf(`{"id":%d,"method":"ask/a","params":%q}`, i, x(10_000)) }},
		{"large requests", func(i int) string { return fmt.Sprintf(`{"id":%d,"method":"ask/a","params":%q}`, i, x(500<<10)) }},
		{"large ids", func(i int) string { return fmt.Sprintf(`{"id":"%d%s","method":"ask/a"}`, i, x(100<<10)) }},
		{"requests with one id", func(i int) string { return fmt.Sprintf(`{"id":1,"method":"ask/a","params":%q}`, x(10_000)) }},
		{"unknown requests", func(i int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"vendor/%d%s"}`, i, i, x(1000))
		}},
		{"answered at once", func(i int) string { return fmt.Sprintf(`{"id":%d,"method":"ask/now"}`, i) }},
		{"notifications with an id", func(i int) string { return fmt.Sprintf(`{"id":"%d%s","method":"notify/a"}`, i, x(1000)) }},
		{"invalid requests", func(i int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d%s","method":1}`, i, x(1000)) }},
		{"deep requests", func(i int) string {
			return fmt.Sprintf(`{"id":"%d%s","method":"ask/a","params":%s}`, i, x(100), nested(maxDepth+1))
		}},
		{"oversized requests", func(i int) string { return fmt.Sprintf(`{"id":%d,"method":"ask/a","params":%q}`, i, x(3<<19)) }},
		{"arrays", func(i int) string {
			return "[" + strings.Repeat(`{"id":1,"method":"ask/a"},{"method":"notify/a"},`, 10_000) + "1]"
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in, fromPeer, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			unread, toPeer := io.Pipe()
			release := make(chan struct{})
			before := heap()
			conn := New(in, toPeer, &hooks{
				run:     func(context.Context, string, string) { <-release },
				receive: func(r *Request) { answerNow(r) },
				serve:   func(*Request) (any, error) { <-release; return nil, nil },
			}, &Options{MaxQueueBytes: bound, MaxMessageBytes: 1 << 20})
			conn.Listen()
			written := make(chan struct{})
			go func() {
				defer close(written)
				if tt.line == nil {
					tt.line = func(int) string { return x(64 << 10) }
				}
				w := fromPeer
				for i, n := 0, 0; n < flood; i++ {
					line := tt.line(i)
					if tt.name != "one line" {
						line += "\n"
					}
					if _, err := io.WriteString(w, line); err != nil {
						return
					}
					n += len(line)
				}
			}()
			held := 0
			for deadline := time.Now().Add(4 * patience); held < 20; time.Sleep(time.Millisecond) {
				select {
				case <-written:
					held = 20
				default:
				}
				if conn.held.Load() {
					held++
				}
				if time.Now().After(deadline) {
					t.Fatal("the reader neither ends nor waits")
				}
			}
			limit := int64(most)
			if strings.HasPrefix(tt.name, "small") {
				limit = 10 * bound // what each costs beside its bytes is counted, roughly
			}
			if took := heap() - before; took > limit {
				t.Errorf("%d KiB are held", took>>10)
			}
			// What was asked is done in the end, and nothing stays.
			fromPeer.SetWriteDeadline(time.Unix(1, 0))
			<-written
			fromPeer.Close()
			close(release)
			go io.Copy(io.Discard, unread)
			<-conn.Done()
			eventually(t, "all is done", conn.idle)
			if took := heap() - before; took > most/4 {
				t.Errorf("%d KiB are held after it", took>>10)
			}
			runtime.KeepAlive(conn)
			unread.Close()
		})
	}
}

func answerNow(r *Request) {
	if r.Method == "ask/now" {
		r.Answer(nil, nil)
	}
}

// idle reports whether nothing is under way.
func (c *Conn) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open == 0 && c.serving == 0 && c.servingBytes == 0 && c.parked.all == 0 && c.parked.bytes == 0 && len(c.parked.kinds) == 0 && len(c.waiting) == 0 && !c.writing && !c.dispatching && c.queued.Load() == 0
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Requests that are handled at once hold no more than the queue may, or are one; the
// others wait, in order, and are let go once they have an answer.
func TestRequestBytes(t *testing.T) {
	const bound = 64 << 10
	release := make(chan struct{}, 10)
	var served log
	var early []*Request
	p := dial(t, &hooks{
		receive: func(r *Request) {
			if r.Method == "ask/early" {
				early = append(early, r)
			}
			if r.Method == "ask/flush" {
				for _, r := range early {
					r.Answer("early", nil)
				}
			}
		},
		serve: func(r *Request) (any, error) { served.add("%s", r.Method); <-release; return nil, nil },
	}, &Options{MaxQueueBytes: bound, MaxMessageBytes: 1 << 20})
	ask := func(method string, size int) {
		p.send(`{"id":%q,"method":%q,"params":%q}`, method, method, strings.Repeat("x", size))
	}
	begun := func(want string) {
		t.Helper()
		eventually(t, "served are "+want, func() bool { return strings.Join(served.all(), " ") == want })
		runtime.Gosched()
		if got := strings.Join(served.all(), " "); got != want {
			t.Errorf("served are %s, want %s", got, want)
		}
	}
	ask("ask/huge", 3*bound)
	begun("ask/huge")
	ask("ask/small", 10)
	ask("ask/early", bound/3)
	eventually(t, "all are open", func() bool { return p.conn.Stats().Open == 3 })
	eventually(t, "two wait", func() bool { p.conn.mu.Lock(); defer p.conn.mu.Unlock(); return len(p.conn.waiting) == 2 })
	begun("ask/huge")
	before := p.conn.queued.Load()
	ask("ask/flush", 0)
	if m := p.read(); string(m.ID) != `"ask/early"` {
		t.Errorf("%s is answered", m.ID)
	}
	eventually(t, "what is answered is off the queue", func() bool { return p.conn.queued.Load() < before-bound/4 })
	begun("ask/huge")
	release <- struct{}{}
	if m := p.read(); string(m.ID) != `"ask/huge"` {
		t.Errorf("%s is answered", m.ID)
	}
	eventually(t, "both others are served", func() bool { return len(served.all()) == 3 })
	close(release)
	p.read()
	p.read()
	eventually(t, "all is done", p.conn.idle)
}

// A line of any length is read in bounded memory, and so is what comes after a frame
// has been recognised in it.
func TestEndlessLine(t *testing.T) {
	for name, start := range map[string]string{
		"text": "x", "reply": `{"jsonrpc":"2.0","id":1,"result":"`, "name": `{"`, "id": `{"id":"`, "method": `{"method":"`,
		"escape": "\x1b[", "title": "\x1b]0;", "blank": " ", "array": `[1,`, "depth": `{"id":1,"result":[`,
	} {
		t.Run(name, func(t *testing.T) {
			p := dial(t, &hooks{}, &Options{MaxMessageBytes: 128 << 10})
			before := heap()
			fill := []byte("x")
			switch name {
			case "blank", "escape":
				fill = []byte(" ")
			case "depth":
				fill = []byte("[")
			case "array":
				fill = []byte("[],")
			}
			io.WriteString(p.out, start)
			piece := bytes.Repeat(fill, 60<<10/len(fill))
			for range 60 {
				p.out.Write(piece)
			}
			if took := heap() - before; took > 2<<20 {
				t.Errorf("%d MiB are held", took>>20)
			}
		})
	}
}
