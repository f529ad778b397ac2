package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
		p.read()
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
		k, err := conn.Start(t.Context(), "peer/call", nil, nil)
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
		k, err := conn.Start(t.Context(), "peer/call", nil, nil)
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
		k, err := conn.Start(t.Context(), "peer/call", nil, nil)
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
		k, err := p.conn.Start(t.Context(), "peer/call", nil, nil)
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

// Neither panics nor what is logged of frames shows what is in them.
func TestLogger(t *testing.T) {
	var out lockedBuffer
	p := dial(t, &hooks{
		run:   func(context.Context, string, string) { panic("secret in a panic") },
		serve: func(r *Request) (any, error) { return "secret result", nil },
	}, &Options{
		Logger: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Redact: func(s string) string { return strings.ReplaceAll(s, "secret", "***") },
	})
	call := make(chan result, 1)
	go func() {
		raw, err := p.conn.Call(t.Context(), "peer/call", "secret params", nil)
		call <- result{string(raw), err}
	}()
	p.read()
	p.send(`{"jsonrpc":"2.0","method":"notify/a","params":"secret note"}`)
	p.send(`{"jsonrpc":"2.0","id":"x","method":"ask/a","params":"secret request"}`)
	p.send(`secret noise`)
	p.read()
	p.send(`{"jsonrpc":"2.0","id":1,"result":"secret reply"}`)
	p.result(call)
	eventually(t, "all is logged", func() bool { return strings.Count(out.String(), "\n") >= 7 })
	text := out.String()
	if strings.Contains(text, "secret") {
		t.Errorf("the log shows contents:\n%s", text)
	}
	for _, want := range []string{"sent", "received", "answered", "noise", "panic", "method=peer/call", "id=1", "bytes="} {
		if !strings.Contains(text, want) {
			t.Errorf("the log has no %q:\n%s", want, text)
		}
	}
	if diff := cmp.Diff([]string{"*** noise"}, p.conn.Stats().Noise); diff != "" {
		t.Errorf("noise (-want +got)\n%s", diff)
	}
}

// badLog is a slog.Handler that panics.
type badLog struct{ slog.Handler }

func (badLog) Enabled(context.Context, slog.Level) bool  { return true }
func (badLog) Handle(context.Context, slog.Record) error { panic("in the log") }

// A Logger and a Redact that panic cost what they were to tell.
func TestLoggerPanics(t *testing.T) {
	p := dial(t, &hooks{
		run:   func(context.Context, string, string) { panic("in a callback") },
		serve: func(*Request) (any, error) { return "served", nil },
	}, &Options{
		Logger: slog.New(badLog{}),
		Redact: func(string) string { panic("in Redact") },
	})
	call := p.call(t.Context(), "peer/call")
	p.read()
	p.send(`noise`)
	p.send(`{"method":"notify/a"}`)
	p.send(`{"id":"a","method":"ask/a"}`)
	if m := p.read(); string(m.Result) != `"served"` {
		t.Errorf("answer %+v", m)
	}
	p.send(`{"id":1,"result":"r"}`)
	if got, err := p.result(call); got != `"r"` || err != nil {
		t.Errorf("reply %s, %v", got, err)
	}
	if s := p.conn.Stats(); s.NoiseLines != 1 || strings.Join(s.Noise, "") != "" || s.Panics == 0 {
		t.Errorf("%+v", s)
	}
}

// What of a frame the peer chose is redacted and cut before it is logged.
func TestLoggerRedacts(t *testing.T) {
	var out lockedBuffer
	p := dial(t, &hooks{}, &Options{
		Logger: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Redact: func(s string) string { return strings.ReplaceAll(s, "secret", "***") },
	})
	long := strings.Repeat("x", maxNoiseLine-3)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":"secret","method":"a/secret"}`,
		`{"jsonrpc":"2.0","id":"%ssecret","method":"%ssecret"}`,
		`{"jsonrpc":"2.0","id":"secret","method":"notify/secret"}`,
	} {
		p.send("%s", strings.ReplaceAll(line, "%s", long))
		p.read()
	}
	p.send(`{"jsonrpc":"2.0","id":"secret","result":1}`)
	p.send(`{"jsonrpc":"2.0","method":"%ssecret"}`, long)
	eventually(t, "all is logged", func() bool { return strings.Count(out.String(), "\n") >= 7 })
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "sec") || len(line) > 3*maxNoiseLine {
			t.Errorf("logged: %s", line)
		}
	}
}

type lockedBuffer struct {
	log
	b bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
