package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/internal/wire"
)

const (
	askLine   = `{"jsonrpc":"2.0","id":%s,"method":"session/request_permission","params":{"sessionId":%q,"toolCall":{"toolCallId":"t"},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}}`
	cancelled = `{"outcome":{"outcome":"cancelled"}}`
	selected  = `{"outcome":{"optionId":"yes","outcome":"selected"}}`
)

// allow selects the option "yes".
func allow(context.Context, acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected("yes")}, nil
}

func prompt(ctx context.Context, conn *Conn, session string) <-chan outcome[acp.PromptResponse] {
	return async(func() (acp.PromptResponse, error) { return conn.Prompt(ctx, promptText(session, "hi")) })
}

// A cancelled prompt sends one session/cancel, whoever cancels, and nothing else; when
// the agent stays silent it ends after the grace with the context's error.
func TestConnCancelOnce(t *testing.T) {
	p := newConnPeer(t)
	conn := p.dial(nil, &ConnOptions{CancelGrace: 20 * time.Millisecond})
	ctx, cancel := context.WithCancelCause(t.Context())
	turn := prompt(ctx, conn, "s")
	f := p.expect("session/prompt")
	if err := conn.Cancel(t.Context(), acp.CancelNotification{SessionId: "s", Meta: map[string]any{"why": "test"}}); err != nil {
		t.Fatal(err)
	}
	if f := p.expect("session/cancel"); string(f.Params) != `{"_meta":{"why":"test"},"sessionId":"s"}` {
		t.Errorf("%s", f.Params)
	}
	cause := errors.New("enough")
	cancel(cause)
	_, err := await(t, turn)
	if e, ok := errors.AsType[*CallError](err); !ok || !errors.Is(err, context.Canceled) || !errors.Is(err, cause) || !e.Sent {
		t.Errorf("%v", err)
	}
	p.silent(50 * time.Millisecond)
	p.reply(f, `{"stopReason":"cancelled"}`)
	for deadline := time.Now().Add(connPatience); conn.Stats().LateAnswers != 1; {
		if time.Now().After(deadline) {
			t.Fatal("the late answer is not counted")
		}
	}
	// The session can be used again.
	turn = prompt(t.Context(), conn, "s")
	p.reply(p.expect("session/prompt"), `{"stopReason":"end_turn"}`)
	if r, err := await(t, turn); err != nil || r.StopReason != acp.StopReasonEndTurn {
		t.Errorf("the next turn: %v, %v", r, err)
	}
}

func TestConnDeadlineIsVisible(t *testing.T) {
	p := newConnPeer(t)
	conn := p.dial(nil, &ConnOptions{CancelGrace: time.Millisecond})
	ctx, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	if _, err := await(t, prompt(ctx, conn, "s")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("prompt: %v", err)
	}
	if _, err := conn.NewSession(ctx, acp.NewSessionRequest{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("another call: %v", err)
	}
}

// What was read before session/cancel was written wins, and nothing is cancelled.
func TestConnAnswerBeforeCancel(t *testing.T) {
	p := newConnPeer(t)
	release := make(chan struct{})
	read := make(chan struct{})
	conn := p.dial(&Handlers{OnSessionUpdate: func(context.Context, acp.SessionNotification) error { <-release; return nil }},
		&ConnOptions{CancelGrace: 30 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	turn := async(func() (promptReply, error) {
		return conn.prompt(ctx, promptText("s", "hi"), promptHooks{reply: func() { close(read) }})
	})
	f := p.expect("session/prompt")
	p.chunk("s", "x")
	p.reply(f, `{"stopReason":"end_turn"}`)
	awaitClosed(t, read, "answer")
	cancel()
	r, err := await(t, turn)
	if err != nil || string(r.raw) != `{"stopReason":"end_turn"}` || r.cancelled || !r.sent {
		t.Errorf("%+v, %v", r, err)
	}
	p.silent(20 * time.Millisecond)
	close(release)
}

// onLog is a slog.Handler that calls itself with each message.
type onLog func(msg string)

func (onLog) Enabled(context.Context, slog.Level) bool        { return true }
func (h onLog) Handle(_ context.Context, r slog.Record) error { h(r.Message); return nil }
func (h onLog) WithAttrs([]slog.Attr) slog.Handler            { return h }
func (h onLog) WithGroup(string) slog.Handler                 { return h }

// So does what is still on its way from the reader when the context ends.
func TestConnAnswerBeforeCancelAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		var sent, received int
		conn := NewConn(nil, io.Discard, r, &ConnOptions{Logger: slog.New(onLog(func(msg string) {
			switch msg {
			case "sent":
				sent++
			case "received":
				received++
				cancel()
				synctest.Wait() // Prompt has done what the end of its context makes it do
			}
		}))})
		turn := async(func() (promptReply, error) { return conn.prompt(ctx, promptText("s", "hi"), promptHooks{}) })
		synctest.Wait()
		io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}`+"\n")
		reply, err := await(t, turn)
		if err != nil || string(reply.raw) != `{"stopReason":"end_turn"}` || reply.cancelled || received != 1 || sent != 1 {
			t.Errorf("%+v, %v; sent %d frames, received %d", reply, err, sent, received)
		}
		w.Close()
		<-conn.Done()
	})
}

// A call that has failed is not cancelled either: the peer had gone before.
func TestConnEndBeforeCancel(t *testing.T) {
	p := newConnPeer(t)
	conn := p.dial(nil, nil)
	turn := &promptTurn{}
	k, err := conn.startTurn(t.Context(), turn, "s", json.RawMessage(`{}`), promptHooks{})
	if err != nil {
		t.Fatal(err)
	}
	p.expect("session/prompt")
	p.out.Close()
	awaitClosed(t, k.Done(), "end of the call")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	conn.giveUp(ctx, turn, "s", k)
	var closed *wire.ClosedError
	if _, err := k.Reply(); conn.endTurn(turn, "s") || !errors.As(err, &closed) {
		t.Errorf("cancelled, or %v", err)
	}
	p.silent(20 * time.Millisecond)
}

// From a cancel on, neither a full queue nor a callback that blocks keeps the agent's
// answer from being read and returned.
func TestConnCancelReadsOn(t *testing.T) {
	p := newConnPeer(t)
	release := make(chan struct{})
	var delivered atomic.Int64
	conn := p.dial(&Handlers{OnSessionUpdate: func(context.Context, acp.SessionNotification) error {
		<-release
		delivered.Add(1)
		return nil
	}}, &ConnOptions{MaxQueueBytes: 16 << 10, CancelGrace: connPatience})
	ctx, cancel := context.WithCancel(t.Context())
	turn := prompt(ctx, conn, "s")
	f := p.expect("session/prompt")
	const n = 5000 // more than queue and pipe hold
	go func() {
		for range n {
			fmt.Fprintln(p.out, chunkLine("s", "x"))
		}
		p.reply(f, `{"stopReason":"cancelled"}`)
	}()
	for last := int64(-1); conn.Stats().Received != last || last == 0; time.Sleep(20 * time.Millisecond) {
		last = conn.Stats().Received
	}
	if got := conn.Stats().Received; got == n {
		t.Fatalf("all %d updates were read", got)
	}
	cancel()
	p.expect("session/cancel")
	begin := time.Now()
	if r, err := await(t, turn); err != nil || r.StopReason != acp.StopReasonCancelled {
		t.Errorf("%v, %v", r, err)
	}
	if d := time.Since(begin); d > connPatience/2 {
		t.Errorf("after %v", d)
	}
	close(release)
	for deadline := time.Now().Add(connPatience); delivered.Load() != n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d updates", delivered.Load(), n)
		}
	}
}

// A prompt of which nothing has left is taken back: there is nothing to cancel.
func TestConnPromptTakenBack(t *testing.T) {
	p := newConnPeer(t)
	conn := p.dial(nil, &ConnOptions{CancelGrace: time.Millisecond})
	stuck, giveUp := context.WithCancel(t.Context())
	big := async(func() (acp.PromptResponse, error) {
		return conn.Prompt(stuck, promptText("big", strings.Repeat("x", 1<<20)))
	})
	p.in.Peek(1) // it is under way
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := conn.Prompt(ctx, promptText("small", "hi"))
	if e, ok := errors.AsType[*CallError](err); !ok || e.Sent || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	// Cancelling and closing end within their bounds too, though the agent reads nothing.
	giveUp()
	if _, err := await(t, big); !errors.Is(err, context.Canceled) {
		t.Errorf("the big one: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := conn.Cancel(ctx, acp.CancelNotification{SessionId: "other"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Cancel: %v", err)
	}
	// Once it reads again it gets whole frames, and no trace of the small one.
	p.expect("session/prompt")
	for _, session := range []string{"big", "other"} {
		if f := p.expect("session/cancel"); !strings.Contains(string(f.Params), session) {
			t.Errorf("%s, want %s", f.Params, session)
		}
	}
	p.silent(20 * time.Millisecond)
}

func TestConnCallbackContext(t *testing.T) {
	p := newConnPeer(t)
	var conn *Conn
	results := make(chan error, 5)
	ready := make(chan struct{})
	conn = p.dial(&Handlers{OnSessionUpdate: func(ctx context.Context, n acp.SessionNotification) error {
		<-ready
		ctx, cancel := context.WithTimeout(ctx, connPatience)
		defer cancel()
		_, err := conn.Prompt(ctx, promptText("s", "hi"))
		results <- err
		_, err = conn.LoadSession(ctx, acp.LoadSessionRequest{})
		results <- err
		results <- conn.Call(ctx, acp.AgentMethodSessionLoad, nil, nil)
		_, err = conn.SetSessionMode(ctx, acp.SetSessionModeRequest{SessionId: "s", ModeId: "m"})
		results <- err
		results <- conn.Cancel(ctx, acp.CancelNotification{SessionId: "s"})
		return nil
	}}, nil)
	close(ready)
	p.chunk("s", "x")
	f := p.expect("session/set_mode")
	p.reply(f, `{}`)
	p.expect("session/cancel")
	for i, want := range []error{ErrCallbackContext, ErrCallbackContext, ErrCallbackContext, nil, nil} {
		if err := <-results; !errors.Is(err, want) {
			t.Errorf("%d: %v, want %v", i, err, want)
		}
	}
}

// After session/cancel no `selected` is written, however the race goes.
func TestConnNoSelectedAfterCancel(t *testing.T) {
	for i := range 30 {
		p := newConnPeer(t)
		conn := p.dial(&Handlers{OnRequestPermission: allow}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		turn := prompt(ctx, conn, "s")
		f := p.expect("session/prompt")
		const n = 200
		go func() {
			for id := range n {
				if id == n/2 {
					cancel()
				}
				// The agent's own nested session belongs to the turn as well.
				fmt.Fprintf(p.out, askLine+"\n", fmt.Sprint(id), []string{"s", "nested"}[id%2])
			}
		}()
		stopped := false
		for range n + 1 {
			f := p.read()
			switch {
			case f.Method == "session/cancel":
				stopped = true
			case string(f.Result) == selected && stopped:
				t.Fatalf("round %d: selected after session/cancel", i)
			case string(f.Result) != selected && string(f.Result) != cancelled:
				t.Fatalf("%s %s", f.Result, f.Error)
			}
		}
		p.reply(f, `{"stopReason":"cancelled"}`)
		await(t, turn)
	}
}

// One session's cancel leaves the other alone, and lasts until the next prompt.
func TestConnSessionsAreIndependent(t *testing.T) {
	p := newConnPeer(t)
	conn := p.dial(&Handlers{OnRequestPermission: allow}, nil)
	a, b := prompt(t.Context(), conn, "a"), prompt(t.Context(), conn, "b")
	frames := map[string]peerFrame{}
	for range 2 {
		f := p.expect("session/prompt")
		frames[string(f.Params[len(f.Params)-3:])] = f
	}
	ask := func(session, want string) {
		t.Helper()
		p.send(askLine, `"q"`, session)
		if got := p.read(); string(got.Result) != want {
			t.Errorf("session %s: %s, want %s", session, got.Result, want)
		}
	}
	ask("a", selected)
	if err := conn.Cancel(t.Context(), acp.CancelNotification{SessionId: "a"}); err != nil {
		t.Fatal(err)
	}
	p.expect("session/cancel")
	ask("a", cancelled)
	ask("b", selected)
	ask("unknown", selected) // it may be b's own
	p.reply(frames[`a"}`], `{"stopReason":"cancelled"}`)
	await(t, a)
	ask("a", cancelled)
	p.reply(frames[`b"}`], `{"stopReason":"end_turn"}`)
	await(t, b)
	ask("b", selected)
	ask("unknown", cancelled) // only a can be meant
	a = prompt(t.Context(), conn, "a")
	f := p.expect("session/prompt")
	ask("a", selected)
	p.reply(f, `{"stopReason":"end_turn"}`)
	await(t, a)
}

// Whatever a permission request looks like and the client does, the agent gets an
// outcome.
func TestConnPermissionShapes(t *testing.T) {
	const options = `"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}]`
	const call = `"sessionId":"s","toolCall":{"toolCallId":"t"}`
	boom := func(context.Context, acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
		panic("boom")
	}
	fails := func(context.Context, acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
		return acp.RequestPermissionResponse{}, acp.NewInternalError("secret")
	}
	empty := func(context.Context, acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
		return acp.RequestPermissionResponse{}, nil
	}
	for _, tt := range []struct {
		name, id, params string
		answer           func(context.Context, acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error)
		want             string
	}{
		{"plain", `1`, call + `,` + options, allow, selected},
		{"string id", `"u-u-i-d"`, call + `,` + options, allow, selected},
		{"null id", `null`, call + `,` + options, allow, selected},
		{"more than the schema has", `1`, call + `,` + options + `,"x":1,"_meta":{"a":[1]}`, allow, selected},
		{"no session", `1`, `"toolCall":{},` + options, allow, selected},
		{"session is a number", `1`, `"sessionId":7,"toolCall":null,` + options, allow, selected},
		{"odd tool call", `1`, `"sessionId":"s","toolCall":{"toolCallId":7,"title":["x"],"locations":[{"path":"a","line":"3"},null,4],"content":"x","kind":{},"rawInput":[1]},` + options, allow, selected},
		{"tool call is text", `1`, `"sessionId":"s","toolCall":"rm -rf",` + options, allow, selected},
		{"odd options beside", `1`, call + `,"options":[null,7,"x",[],{"optionId":{}},{"optionId":"yes","name":3,"kind":"allow_once"}]`, allow, selected},
		{"not offered", `1`, call + `,"options":[{"optionId":"no","name":"No","kind":"reject_once"}]`, allow, cancelled},
		{"options empty", `1`, call + `,"options":[]`, allow, cancelled},
		{"options null", `1`, call + `,"options":null`, allow, cancelled},
		{"options missing", `1`, call, allow, cancelled},
		{"options an object", `1`, call + `,"options":{"yes":true}`, allow, cancelled},
		{"nobody to ask", `1`, call + `,` + options, nil, cancelled},
		{"panic", `1`, call + `,` + options, boom, cancelled},
		{"error", `1`, call + `,` + options, fails, cancelled},
		{"no outcome", `1`, call + `,` + options, empty, cancelled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newConnPeer(t)
			p.dial(&Handlers{OnRequestPermission: tt.answer}, nil)
			p.send(`{"jsonrpc":"2.0","id":%s,"method":"session/request_permission","params":{%s}}`, tt.id, tt.params)
			if f := p.read(); string(f.ID) != tt.id || string(f.Result) != tt.want || f.Error != nil {
				t.Errorf("%s %s %s, want %s %s", f.ID, f.Result, f.Error, tt.id, tt.want)
			}
		})
	}
	for name, params := range map[string]string{"null": `,"params":null`, "none": ``, "an array": `,"params":[]`} {
		t.Run("params "+name, func(t *testing.T) {
			p := newConnPeer(t)
			p.dial(&Handlers{OnRequestPermission: allow}, nil)
			p.send(`{"jsonrpc":"2.0","id":1,"method":"session/request_permission"%s}`, params)
			if f := p.read(); string(f.Result) != cancelled {
				t.Errorf("%s %s", f.Result, f.Error)
			}
		})
	}
	t.Run("too large", func(t *testing.T) {
		p := newConnPeer(t)
		p.dial(&Handlers{OnRequestPermission: allow}, &ConnOptions{MaxMessageBytes: 1 << 10})
		p.send(askLine, `"q"`, strings.Repeat("s", 1<<10))
		if f := p.read(); string(f.ID) != `"q"` || string(f.Result) != cancelled {
			t.Errorf("%s %s %s", f.ID, f.Result, f.Error)
		}
	})
}

// However many sessions an agent makes up, a cancel does not look through all of them
// for each.
func TestConnManyForeignSessions(t *testing.T) {
	conn := newReader()
	for i := range 100_000 {
		conn.state(acp.SessionId(fmt.Sprint("s", i)))
	}
	done := async(func() (struct{}, error) {
		return struct{}{}, conn.Cancel(t.Context(), acp.CancelNotification{SessionId: "ours"})
	})
	if _, err := await(t, done); err != nil {
		t.Error(err)
	}
}

// A request that the agent withdraws is answered although the client goes on deciding.
func TestConnPermissionWithdrawn(t *testing.T) {
	p := newConnPeer(t)
	asked, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	p.dial(&Handlers{OnRequestPermission: func(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
		close(asked)
		<-release
		return allow(ctx, r)
	}}, nil)
	p.send(askLine, "7", "s")
	awaitClosed(t, asked, "question")
	p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}`)
	if f := p.read(); string(f.ID) != "7" || string(f.Result) != cancelled {
		t.Errorf("%s %s", f.ID, f.Result)
	}
}

// However many ask at once, few are handled at once and all are answered.
func TestConnManyPermissions(t *testing.T) {
	p := newConnPeer(t)
	var running, most atomic.Int64
	p.dial(&Handlers{OnRequestPermission: func(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		return allow(ctx, r)
	}}, nil)
	const n = 3000
	go func() {
		for i := range n {
			fmt.Fprintf(p.out, askLine+"\n", fmt.Sprint(i), "s")
		}
	}()
	seen := map[string]bool{}
	for range n {
		f := p.read()
		if string(f.Result) != selected {
			t.Fatalf("%s", f.Result)
		}
		seen[string(f.ID)] = true
	}
	if len(seen) != n || most.Load() > 64 {
		t.Errorf("%d answers, %d at once", len(seen), most.Load())
	}
}

// An answer of the agent that is an error is the SDK's.
func TestConnAgentError(t *testing.T) {
	p := newConnPeer(t)
	conn := p.dial(nil, nil)
	for _, tt := range []struct{ answer, want string }{
		{`{"code":-32603,"message":"Internal error","data":{"details":["x",1]}}`, `{"code":-32603,"message":"Internal error","data":{"details":["x",1]}}`},
		{`{"code":-32800,"message":"cancelled"}`, `{"code":-32800,"message":"cancelled"}`},
		{`{"code":401,"message":"no key","data":"text"}`, `{"code":401,"message":"no key","data":"text"}`},
		{`{"code":"500"}`, `{"code":500,"message":""}`},
	} {
		turn := prompt(t.Context(), conn, "s")
		f := p.expect("session/prompt")
		p.send(`{"jsonrpc":"2.0","id":%s,"error":%s}`, f.ID, tt.answer)
		_, err := await(t, turn)
		var e *acp.RequestError
		if !errors.As(err, &e) || e.Error() != tt.want {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}

// What ends a call is a type of its own.
func TestConnErrors(t *testing.T) {
	newSession := func(conn *Conn) <-chan outcome[acp.NewSessionResponse] {
		return async(func() (acp.NewSessionResponse, error) { return conn.NewSession(t.Context(), acp.NewSessionRequest{}) })
	}
	t.Run("too large", func(t *testing.T) {
		p := newConnPeer(t)
		conn := p.dial(nil, &ConnOptions{MaxMessageBytes: 1000})
		r := newSession(conn)
		p.reply(p.expect("session/new"), `{"sessionId":"`+strings.Repeat("x", 2000)+`"}`)
		_, err := await(t, r)
		e, ok := errors.AsType[*TooLargeError](err)
		if !ok || e.Method != "session/new" || e.Limit != 1000 {
			t.Errorf("%v", err)
		}
	})
	t.Run("echo", func(t *testing.T) {
		p := newConnPeer(t)
		go io.Copy(p.out, p.in)
		conn := p.dial(nil, nil)
		_, err := await(t, newSession(conn))
		if e, ok := errors.AsType[*EchoError](err); !ok || e.Method != "session/new" {
			t.Errorf("%v", err)
		}
	})
	t.Run("closed", func(t *testing.T) {
		p := newConnPeer(t)
		conn := p.dial(nil, nil)
		r := newSession(conn)
		p.expect("session/new")
		p.out.Close()
		_, err := await(t, r)
		if _, ok := errors.AsType[*ClosedError](err); !ok || !errors.Is(err, io.EOF) {
			t.Errorf("%v", err)
		}
		awaitClosed(t, conn.Done(), "end")
	})
	t.Run("stdin closed", func(t *testing.T) {
		p := newConnPeer(t)
		conn := p.dial(nil, nil)
		turn := prompt(t.Context(), conn, "s")
		f := p.expect("session/prompt")
		p.raw.Close()
		_, err := conn.NewSession(t.Context(), acp.NewSessionRequest{})
		if e, ok := errors.AsType[*WriteError](err); !ok || e.Cause == nil {
			t.Errorf("%v", err)
		}
		// The answer to what it has read still counts.
		p.chunk("s", "x")
		p.reply(f, `{"stopReason":"end_turn"}`)
		if r, err := await(t, turn); err != nil || r.StopReason != "end_turn" {
			t.Errorf("%v, %v", r, err)
		}
	})
	t.Run("shut", func(t *testing.T) {
		p := newConnPeer(t)
		conn := p.dial(nil, nil)
		r := newSession(conn)
		p.expect("session/new")
		cause := errors.New("over")
		conn.Shut(cause)
		if _, err := await(t, r); !errors.Is(err, cause) {
			t.Errorf("%v", err)
		}
	})
}
