package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
)

// callback is a place where the caller's code is called by a connection.
type callback struct {
	name string
	// set makes f what is called there.
	set func(h *Handlers, f func(context.Context))
	// line is what the agent writes to have it called; $N is another number each time.
	line string
	// ordered callbacks are called one after the other, in the order of the wire.
	ordered bool
}

const updateLine = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$N"}}}}`

var callbacks = []callback{
	{"OnUpdate", func(h *Handlers, f func(context.Context)) {
		h.OnUpdate = func(ctx context.Context, _ Update) { f(ctx) }
	}, updateLine, true},
	{"OnSessionUpdate", func(h *Handlers, f func(context.Context)) {
		h.OnSessionUpdate = func(ctx context.Context, _ acp.SessionNotification) error { f(ctx); return nil }
	}, updateLine, true},
	{"OnNotification", func(h *Handlers, f func(context.Context)) {
		h.OnNotification = func(ctx context.Context, _ string, _ json.RawMessage) { f(ctx) }
	}, `{"jsonrpc":"2.0","method":"vendor/note","params":[$N]}`, true},
	{"OnRequestPermission", func(h *Handlers, f func(context.Context)) {
		h.OnRequestPermission = func(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
			f(ctx)
			return allow(ctx, r)
		}
	}, fmt.Sprintf(askLine, `"q$N"`, "s"), false},
	{"OnReadTextFile", func(h *Handlers, f func(context.Context)) {
		h.OnReadTextFile = func(ctx context.Context, r acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
			f(ctx)
			return acp.ReadTextFileResponse{}, nil
		}
	}, `{"jsonrpc":"2.0","id":"q$N","method":"fs/read_text_file","params":{"sessionId":"s","path":"/a"}}`, false},
	{"OnMethod", func(h *Handlers, f func(context.Context)) {
		h.OnMethod = func(ctx context.Context, _ string, _ json.RawMessage) (any, error) { f(ctx); return nil, nil }
	}, `{"jsonrpc":"2.0","id":"q$N","method":"vendor/ask"}`, false},
}

// each runs a test for each callback.
func eachCallback(t *testing.T, test func(t *testing.T, c callback)) {
	for _, c := range callbacks {
		t.Run(c.name, func(t *testing.T) { test(t, c) })
	}
}

// call has the callback called, by p.
func (c callback) call(p *connPeer, n int) {
	p.t.Helper()
	p.send("%s", strings.ReplaceAll(c.line, "$N", fmt.Sprint(n)))
}

// inCallback dials a connection where f is called back, once.
func (c callback) dial(p *connPeer, o *ConnOptions, f func(ctx context.Context, conn *Conn)) (*Conn, <-chan struct{}) {
	var conn *Conn
	done, ready := make(chan struct{}), make(chan struct{})
	var calls atomic.Int64
	h := &Handlers{}
	c.set(h, func(ctx context.Context) {
		if calls.Add(1) == 1 {
			defer close(done)
			<-ready
			f(ctx, conn)
		}
	})
	conn = p.dial(h, o)
	close(ready)
	return conn, done
}

// fill writes notifications of so many bytes, of which each takes one of fill's.
func (p *connPeer) fill(bytes int) {
	line := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[],"x":"` + strings.Repeat("x", 4<<10) + `"}}}` + "\n"
	for n := 0; n < bytes; n += len(line) {
		if _, err := io.WriteString(p.out, line); err != nil {
			return
		}
	}
}

// received waits until so many frames were read.
func received(t testing.TB, conn *Conn, n int64) {
	t.Helper()
	for deadline := time.Now().Add(connPatience); conn.Stats().Received < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d frames are read, want %d", conn.Stats().Received, n)
		}
	}
}

// A call made with a callback's own context has its answer, though that stands behind
// the callback in the order, and behind more than the queue takes.
func TestCallbackCallsWithItsContext(t *testing.T) {
	eachCallback(t, func(t *testing.T, c callback) {
		p := newConnPeer(t)
		var errs [5]error
		var mode acp.SetSessionModeResponse
		_, done := c.dial(p, &ConnOptions{MaxQueueBytes: 64 << 10, MaxRequests: 1}, func(ctx context.Context, conn *Conn) {
			mode, errs[0] = conn.SetSessionMode(ctx, acp.SetSessionModeRequest{SessionId: "s", ModeId: "m"})
			bounded, cancel := context.WithTimeout(ctx, connPatience)
			defer cancel()
			_, errs[1] = conn.CallExtension(bounded, "_vendor", nil)
			errs[2] = conn.Notify(ctx, "vendor/note", nil)
			_, errs[3] = conn.NewSession(context.WithValue(ctx, p, p), acp.NewSessionRequest{})
			errs[4] = conn.Cancel(ctx, acp.CancelNotification{SessionId: "s"})
		})
		c.call(p, 1)
		f := p.expect("session/set_mode")
		p.fill(300 << 10)
		p.reply(f, `{"_meta":{"a":1}}`)
		f = p.expect("_vendor")
		p.fill(300 << 10)
		p.reply(f, `{}`)
		p.expect("vendor/note")
		p.reply(p.expect("session/new"), `{"sessionId":"t"}`)
		p.expect("session/cancel")
		awaitClosed(t, done, "end of the callback")
		for i, err := range errs {
			if err != nil {
				t.Errorf("%d: %v", i, err)
			}
		}
		if mode.Meta["a"] != 1.0 {
			t.Errorf("%+v", mode)
		}
	})
}

// By default the answer may stand behind far more than the 8 MiB of the queue.
func TestCallbackReadsPastTheBound(t *testing.T) {
	p := newConnPeer(t)
	var err error
	_, done := callbacks[0].dial(p, nil, func(ctx context.Context, conn *Conn) {
		_, err = conn.CallExtension(ctx, "_vendor", nil)
	})
	callbacks[0].call(p, 1)
	f := p.expect("_vendor")
	p.fill(20 << 20)
	p.reply(f, `{}`)
	awaitClosed(t, done, "end of the callback")
	if err != nil {
		t.Error(err)
	}
}

// But it does not read on without end: then the call fails, and the connection goes on.
func TestCallbackBacklog(t *testing.T) {
	eachCallback(t, func(t *testing.T, c callback) {
		p := newConnPeer(t)
		var err error
		release := make(chan struct{})
		var conn *Conn
		ready, done := make(chan struct{}), make(chan struct{})
		var calls atomic.Int64
		h := &Handlers{}
		if c.name != "OnSessionUpdate" {
			h.OnUpdate = func(context.Context, Update) { <-release }
		}
		c.set(h, func(ctx context.Context) {
			if calls.Add(1) > 1 {
				<-release
				return
			}
			defer close(done)
			<-ready
			_, err = conn.CallExtension(ctx, "_vendor", nil)
		})
		conn = p.dial(h, &ConnOptions{MaxQueueBytes: 64 << 10, MaxMessageBytes: 128 << 10})
		close(ready)
		c.call(p, 1)
		f := p.expect("_vendor")
		filled := async(func() (any, error) { p.fill(2 << 20); return nil, nil })
		awaitClosed(t, done, "end of the callback")
		if !errors.Is(err, ErrBacklog) {
			t.Errorf("%v, want ErrBacklog", err)
		}
		close(release)
		await(t, filled)
		p.reply(f, `{}`) // of which nobody is left to hear
		turn := prompt(t.Context(), conn, "s")
		for f = p.read(); f.Method != "session/prompt"; f = p.read() {
		}
		p.reply(f, `{"stopReason":"end_turn"}`)
		if _, err := await(t, turn); err != nil {
			t.Error(err)
		}
	})
}

// A prompt and a load fail at once, on any session and with any context made from the
// callback's, and nothing of them is sent.
func TestCallbackPromptAndLoadFailAtOnce(t *testing.T) {
	eachCallback(t, func(t *testing.T, c callback) {
		p := newConnPeer(t)
		var errs []error
		_, done := c.dial(p, nil, func(ctx context.Context, conn *Conn) {
			bounded, cancel := context.WithTimeout(ctx, connPatience)
			defer cancel()
			for _, ctx := range []context.Context{ctx, bounded, context.WithValue(ctx, p, 1), context.WithoutCancel(ctx)} {
				for _, session := range []string{"s", "other"} {
					_, err := conn.Prompt(ctx, promptText(session, "hi"))
					errs = append(errs, err)
					_, err = conn.LoadSession(ctx, acp.LoadSessionRequest{SessionId: acp.SessionId(session)})
					errs = append(errs, err)
					errs = append(errs, conn.Call(ctx, "session/prompt", nil, nil), conn.Call(ctx, "session/load", nil, nil))
				}
			}
			conn.Notify(ctx, "that is all", nil)
		})
		c.call(p, 1)
		p.expect("that is all")
		awaitClosed(t, done, "end of the callback")
		for i, err := range errs {
			if e, ok := errors.AsType[*CallError](err); !ok || !errors.Is(err, ErrCallbackContext) || e.Sent {
				t.Errorf("%d: %v", i, err)
			}
		}
	})
}

// A callback may end the turn it is called in, and the connection.
func TestCallbackCancelsAndShuts(t *testing.T) {
	eachCallback(t, func(t *testing.T, c callback) {
		p := newConnPeer(t)
		cause := errors.New("enough")
		cancelDone := make(chan error, 1)
		conn, done := c.dial(p, &ConnOptions{CancelGrace: connPatience}, func(ctx context.Context, conn *Conn) {
			// With any context: it waits for nothing that is behind the callback.
			cancelDone <- conn.Cancel(context.Background(), acp.CancelNotification{SessionId: "s"})
			<-ctx.Done()
		})
		turn := prompt(t.Context(), conn, "s")
		f := p.expect("session/prompt")
		c.call(p, 1)
		p.expect("session/cancel")
		if err := <-cancelDone; err != nil {
			t.Error(err)
		}
		// What waits for the callback's place in the order is the caller's to give up.
		p.reply(f, `{"stopReason":"cancelled"}`)
		if !c.ordered {
			if r, err := await(t, turn); err != nil || r.StopReason != "cancelled" {
				t.Errorf("%v, %v", r, err)
			}
		}
		received(t, conn, 2)
		conn.Shut(cause)
		awaitClosed(t, done, "end of the callback")
		if c.ordered {
			if r, err := await(t, turn); err != nil || r.StopReason != "cancelled" {
				t.Errorf("%v, %v", r, err)
			}
		}
		if _, err := conn.NewSession(t.Context(), acp.NewSessionRequest{}); !errors.Is(err, cause) {
			t.Errorf("after Shut: %v", err)
		}
	})
	eachCallback(t, func(t *testing.T, c callback) {
		p := newConnPeer(t)
		cause := errors.New("enough")
		conn, done := c.dial(p, nil, func(ctx context.Context, conn *Conn) {
			conn.Shut(cause)
			<-ctx.Done()
		})
		turn := prompt(t.Context(), conn, "s")
		p.expect("session/prompt")
		c.call(p, 1)
		awaitClosed(t, done, "end of the callback")
		if _, err := await(t, turn); !errors.Is(err, cause) {
			t.Errorf("%v", err)
		}
	})
}

// A callback that blocks slows its own agent: that is held back, loses nothing, and can
// be cancelled. Other connections go on.
func TestCallbackBlocks(t *testing.T) {
	eachCallback(t, func(t *testing.T, c callback) {
		p, other := newConnPeer(t), newConnPeer(t)
		release := make(chan struct{})
		var calls atomic.Int64
		h := &Handlers{}
		c.set(h, func(context.Context) { <-release; calls.Add(1) })
		conn := p.dial(h, &ConnOptions{MaxQueueBytes: 32 << 10, MaxRequests: 2, CancelGrace: connPatience, patience: connPatience})
		ctx, cancel := context.WithCancel(t.Context())
		turn := prompt(ctx, conn, "s")
		f := p.expect("session/prompt")
		const n = 3000 // more than queue and pipe hold
		var sent atomic.Int64
		written := async(func() (any, error) {
			for i := range n {
				c.call(p, i)
				sent.Add(1)
			}
			p.reply(f, `{"stopReason":"cancelled"}`)
			return nil, nil
		})
		for last := int64(-1); sent.Load() != last || last == 0; time.Sleep(20 * time.Millisecond) {
			last = sent.Load()
		}
		if sent.Load() == n {
			t.Fatal("the agent is not held back")
		}

		quick := other.dial(nil, nil)
		r := prompt(t.Context(), quick, "s")
		other.reply(other.expect("session/prompt"), `{"stopReason":"end_turn"}`)
		if _, err := await(t, r); err != nil {
			t.Error(err)
		}

		cancel()
		answers := async(func() (int, error) { // the agent reads what it is answered
			answered := 0
			for c.ordered || answered < n {
				f := p.read()
				if f.Method == "session/cancel" && c.ordered {
					break
				}
				if f.Method == "" {
					answered++
				}
			}
			return answered, nil
		})
		if c.name == "OnRequestPermission" {
			// All are answered by the cancel, though the callback blocks.
			await(t, answers)
		}
		if c.ordered {
			await(t, answers)
			// So is the turn.
			if r, err := await(t, turn); err != nil || r.StopReason != "cancelled" {
				t.Errorf("%v, %v", r, err)
			}
		}
		close(release)
		await(t, written)
		if !c.ordered {
			if c.name != "OnRequestPermission" {
				await(t, answers)
			}
			if r, err := await(t, turn); err != nil || r.StopReason != "cancelled" {
				t.Errorf("%v, %v", r, err)
			}
		}
		want := int64(n)
		if c.name == "OnRequestPermission" {
			want = 1 // those in the callback at the cancel, at least
		}
		for deadline := time.Now().Add(connPatience); calls.Load() < want; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d of %d calls", calls.Load(), want)
			}
		}
	})
}

// What a callback that panics or ends its goroutine takes with it is itself: that is
// counted and logged, the agent is answered, and everything after it comes.
func TestCallbackPanics(t *testing.T) {
	for name, leave := range map[string]func(){"panic": func() { panic("hunter2") }, "Goexit": runtime.Goexit} {
		eachCallback(t, func(t *testing.T, c callback) {
			p := newConnPeer(t)
			var calls, told atomic.Int64
			h := &Handlers{}
			c.set(h, func(context.Context) {
				if calls.Add(1)%2 == 1 {
					leave()
				}
			})
			conn := p.dial(h, &ConnOptions{Logger: slog.New(onLog(func(msg string) {
				if msg == "panic" {
					told.Add(1)
				}
			}))})
			turn := prompt(t.Context(), conn, "s")
			f := p.expect("session/prompt")
			const n = 6
			var answers []string
			for i := range n {
				c.call(p, i)
				if !c.ordered {
					a := p.read()
					answers = append(answers, string(a.Result)+string(a.Error))
				}
			}
			p.reply(f, `{"stopReason":"end_turn"}`)
			if r, err := await(t, turn); err != nil || r.StopReason != "end_turn" {
				t.Errorf("%s: %v, %v", name, r, err)
			}
			for deadline := time.Now().Add(connPatience); calls.Load() < n || told.Load() < n/2; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%s: %d of %d calls, %d told of", name, calls.Load(), n, told.Load())
				}
			}
			if got := conn.Stats().Panics; got != n/2 {
				t.Errorf("%s: %d panics are counted, want %d", name, got, n/2)
			}
			if c.name == "OnRequestPermission" {
				if want := slices.Repeat([]string{cancelled, selected}, n/2); !slices.Equal(answers, want) {
					t.Errorf("%s: %s", name, answers)
				}
			}
			if s := strings.Join(answers, ""); strings.Contains(s, "hunter2") {
				t.Errorf("%s: the agent is told %s", name, s)
			}
		})
	}
}

// With another context a call out of a handler works as from anywhere. Out of an
// ordered callback it waits for itself, until its context ends (and then it has the
// answer that was read), or the connection does.
func TestCallbackCallsWithAnotherContext(t *testing.T) {
	eachCallback(t, func(t *testing.T, c callback) {
		p := newConnPeer(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var raw json.RawMessage
		var errs [3]error
		conn, done := c.dial(p, nil, func(_ context.Context, conn *Conn) {
			raw, errs[0] = conn.CallExtension(ctx, "_vendor", nil)
			errs[1] = conn.Notify(context.Background(), "vendor/note", nil)
			_, errs[2] = conn.CallExtension(context.Background(), "_last", nil)
		})
		c.call(p, 1)
		p.reply(p.expect("_vendor"), `"ok"`)
		if c.ordered {
			received(t, conn, 2)
			cancel()
		}
		p.expect("vendor/note")
		p.reply(p.expect("_last"), `{}`)
		if c.ordered {
			conn.Shut(io.ErrClosedPipe)
		}
		awaitClosed(t, done, "end of the callback")
		if string(raw) != `"ok"` || errs[0] != nil || errs[1] != nil {
			t.Errorf("%s, %v", raw, errs)
		}
		if errs[2] != nil && !c.ordered {
			t.Error(errs[2])
		}
	})
}

// What the agent asks before it answers a callback's call is answered, at each level.
func TestCallbacksNest(t *testing.T) {
	eachCallback(t, func(t *testing.T, outer callback) {
		for _, inner := range callbacks[3:] {
			if inner.name == outer.name {
				continue
			}
			p := newConnPeer(t)
			h := &Handlers{}
			var conn *Conn
			ready, done := make(chan struct{}), make(chan struct{})
			var errs [2]error
			outer.set(h, func(ctx context.Context) {
				<-ready
				_, errs[0] = conn.CallExtension(ctx, "_outer", nil)
				close(done)
			})
			inner.set(h, func(ctx context.Context) { _, errs[1] = conn.CallExtension(ctx, "_inner", nil) })
			conn = p.dial(h, nil)
			close(ready)
			outer.call(p, 1)
			f := p.expect("_outer")
			inner.call(p, 2)
			p.reply(p.expect("_inner"), `{}`)
			if a := p.read(); string(a.ID) != `"q2"` || a.Error != nil {
				t.Errorf("%s: %s %s", inner.name, a.ID, a.Error)
			}
			p.reply(f, `{}`)
			awaitClosed(t, done, "end of the callback")
			if errs[0] != nil || errs[1] != nil {
				t.Errorf("%s: %v", inner.name, errs)
			}
		}
	})
}

// A callback for one session may call for another, whose turn goes on meanwhile; and
// each turn has its own end.
func TestCallbackOfTwoSessions(t *testing.T) {
	eachCallback(t, func(t *testing.T, c callback) {
		p := newConnPeer(t)
		var errs [2]error
		conn, done := c.dial(p, nil, func(ctx context.Context, conn *Conn) {
			_, errs[0] = conn.Prompt(ctx, promptText("b", "again"))
			_, errs[1] = conn.SetSessionMode(ctx, acp.SetSessionModeRequest{SessionId: "b", ModeId: "m"})
		})
		a := prompt(t.Context(), conn, "s")
		toA := p.expect("session/prompt")
		b := prompt(t.Context(), conn, "b")
		toB := p.expect("session/prompt")
		c.call(p, 1)
		mode := p.expect("session/set_mode")
		p.chunk("b", "x")
		p.reply(toB, `{"stopReason":"refusal"}`)
		p.reply(mode, `{}`)
		awaitClosed(t, done, "end of the callback")
		if r, err := await(t, b); err != nil || r.StopReason != "refusal" {
			t.Errorf("%v, %v", r, err)
		}
		p.reply(toA, `{"stopReason":"end_turn"}`)
		if r, err := await(t, a); err != nil || r.StopReason != "end_turn" {
			t.Errorf("%v, %v", r, err)
		}
		if !errors.Is(errs[0], ErrCallbackContext) || errs[1] != nil {
			t.Errorf("%v", errs)
		}
	})
}
