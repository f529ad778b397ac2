package subagent

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
)

// What a caller's own functions do is contained: the run has one outcome, and nobody
// waits for ever.

// untilCancelled is a turn with one update, which it does not wait for, that ends with
// ctx.
func untilCancelled(r *run) func(context.Context) turnEnd {
	return func(ctx context.Context) turnEnd {
		go r.update(client.Update{}) // ends when it is delivered
		<-ctx.Done()
		return turnEnd{cancelled: true}
	}
}

func TestListenerThatDoesNotReturn(t *testing.T) {
	free, at, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var told []EventType
	r := newRun(t.Context(), "p", Request{Events: func(e Event) {
		told = append(told, e.Type)
		if e.Type == EventUpdate {
			close(at)
			<-free
			close(left)
		}
	}})
	r.grace = 50 * time.Millisecond
	r.begin(Result{}, driver{turn: untilCancelled(r)})
	<-at
	final := r.Close() // hangs, if it waits for that
	if final.Stop != stopreason.Aborted || !strings.Contains(strings.Join(final.Warnings, "\n"), "Events has not returned") {
		t.Errorf("%q with %q", final.Stop, final.Warnings)
	}
	close(free)
	<-left
	<-r.ended // and nothing is told on the way
	if want := []EventType{EventStart, EventUpdate}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

func TestCloseByTheListener(t *testing.T) {
	var r *run
	inside := make(chan *Result, 1)
	r = newRun(t.Context(), "p", Request{Events: func(e Event) {
		if e.Type == EventUpdate {
			inside <- r.Close()
		}
	}})
	r.grace = 50 * time.Millisecond
	r.begin(Result{}, driver{turn: untilCancelled(r)})
	in := <-inside
	if out := r.Close(); in != out || out.Stop != stopreason.Aborted {
		t.Errorf("Close returned %p inside and %p outside, %q", in, out, out.Stop)
	}
	<-r.ended
}

// A listener that is at work, or waits for the very end it is told of, keeps nobody from
// that end: not where there is something to warn of when the turn is over either.
func TestWarningsWaitForNobody(t *testing.T) {
	unasked := "cancelled"
	for _, at := range []EventType{EventUpdate, EventPermission, EventWarning, EventEnd} {
		for does, listen := range map[string]func(r *run, free chan struct{}){
			"blocks": func(_ *run, free chan struct{}) { <-free },
			"closes": func(r *run, _ chan struct{}) { r.Close() },
		} {
			t.Run(string(at)+", "+does, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				free, reached := make(chan struct{}), make(chan struct{})
				var r *run
				r = newRun(ctx, "p", Request{Events: func(e Event) {
					if e.Type == at {
						close(reached)
						listen(r, free)
					}
				}})
				r.grace = 50 * time.Millisecond
				r.begin(Result{}, driver{turn: func(ctx context.Context) turnEnd {
					go func() { // the connection's; ends with the listener
						r.update(client.Update{})
						r.permission(permission.Record{Decision: permission.Denied})
					}()
					if at == EventUpdate || at == EventPermission {
						<-reached
					}
					r.note("there is more")
					return turnEnd{stopReason: &unasked}
				}})
				select {
				case <-r.Done():
				case <-ctx.Done():
					t.Fatal("there is no outcome")
				}
				want := []string{"there is more", "the agent ended the turn as cancelled although nobody had cancelled it"}
				if res, final := r.outcome, r.Close(); res.Stop != stopreason.Aborted || !slices.Equal(res.Warnings, want) || !slices.Equal(final.Warnings[:2], want) {
					t.Errorf("%q with %q, then %q", res.Stop, res.Warnings, final.Warnings)
				}
				close(free)
				<-r.ended
			})
		}
	}
}

// What the turn's end warns of is told between the outcome and the end.
func TestWarningsOfTheEndAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		var r *run
		r = newRun(t.Context(), "p", Request{Events: func(e Event) {
			if told = append(told, string(e.Type)+e.Warning); e.Type == EventWarning && r.outcome == nil {
				t.Error("it was told before there was an outcome")
			}
		}})
		r.begin(Result{}, driver{turn: func(context.Context) turnEnd {
			r.note(" one")
			r.note(" two")
			reason := "end_turn"
			return turnEnd{stopReason: &reason}
		}})
		r.Close()
		if want := []string{"start", "warning one", "warning two", "end"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}

func TestListenerThatEndsItsGoroutine(t *testing.T) {
	for _, at := range []EventType{EventUpdate, EventWarning, EventEnd} {
		t.Run(string(at), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told []EventType
				r := newRun(t.Context(), "p", Request{Events: func(e Event) {
					told = append(told, e.Type)
					if e.Type == at {
						runtime.Goexit()
					}
				}})
				r.begin(Result{}, driver{turn: func(context.Context) turnEnd {
					delivered := make(chan struct{})
					go func() { // the connection's, which survives it
						defer close(delivered)
						r.update(client.Update{})
					}()
					<-delivered
					reason := "cancelled" // unasked: there is a warning
					return turnEnd{stopReason: &reason}
				}})
				updates := 0
				for range r.Updates() {
					updates++
				}
				final := r.Close()
				if want := []EventType{EventStart, EventUpdate, EventWarning, EventEnd}; !slices.Equal(told, want) {
					t.Errorf("told %q, want %q", told, want)
				}
				if warning := "Request.Events ended its goroutine at a " + string(at) + " event"; !slices.Contains(final.Warnings, warning) {
					t.Errorf("warnings %q", final.Warnings)
				}
				if updates != 1 || final.Stop != stopreason.Aborted {
					t.Errorf("%d updates, %q", updates, final.Stop)
				}
			})
		})
	}
}

func TestTurnThatDoesNotReturn(t *testing.T) {
	for name, leave := range map[string]func(){
		"panic": func() { panic("x") }, "goexit": runtime.Goexit,
	} {
		for _, cancelled := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, cancelled %v", name, cancelled), func(t *testing.T) {
				p, err := NewFunc("p", func(ctx context.Context, _ Request, _ func(acp.SessionUpdate)) (acp.StopReason, error) {
					if cancelled {
						<-ctx.Done()
					}
					leave()
					return "", nil
				})
				if err != nil {
					t.Fatal(err)
				}
				run, err := p.Start(t.Context(), Request{Dir: t.TempDir(), Prompt: Text("go")})
				if err != nil {
					t.Fatal(err)
				}
				stop, kind := stopreason.Error, client.KindAgent
				if cancelled {
					run.Cancel()
					stop, kind = stopreason.Aborted, ""
				}
				ctx, done := context.WithTimeout(t.Context(), 20*time.Second)
				defer done()
				res, err := run.Wait(ctx)
				if err != nil {
					t.Fatalf("there is no outcome: %v", err)
				}
				if e := run.Close().Error; res.Stop != stop || (e == nil) != (kind == "") || e != nil && e.Kind != kind {
					t.Errorf("%q with error %v", res.Stop, e)
				}
			})
		}
	}
}

func TestCloseOfAProviderThatPanics(t *testing.T) {
	p, err := NewProvider("p", func(context.Context, Request) (*Session, error) {
		return &Session{
			Turn:  func(context.Context, func(acp.SessionUpdate)) (acp.StopReason, error) { return "end_turn", nil },
			Close: func(*Result) { panic("oops") },
		}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	run, err := p.Start(t.Context(), Request{Dir: t.TempDir(), Prompt: Text("go")})
	if err != nil {
		t.Fatal(err)
	}
	<-run.Done()
	final := run.Close()
	if final.Stop != stopreason.Completed || len(final.Warnings) != 1 || !strings.Contains(final.Warnings[0], "oops") || run.Close() != final {
		t.Errorf("%q with warnings %q", final.Stop, final.Warnings)
	}
}

// What a provider panics with is cut after its secrets were taken out.
func TestCloseThatPanicsWithASecret(t *testing.T) {
	const secret = "qxjvkzwypmhgtrbd"
	for at := range 1100 {
		r := newRun(t.Context(), "p", Request{})
		r.setSecrets(func(text string) string { return strings.ReplaceAll(text, secret, "[redacted]") })
		r.driver.close = func(*Result) { panic(strings.Repeat("-", at) + secret) }
		var final Result
		if r.shut(&final); len(final.Warnings) != 1 || strings.Contains(final.Warnings[0], secret[:8]) {
			t.Fatalf("after %d bytes: %q", at, final.Warnings)
		}
		r.cancel(errClosed)
	}
}

// A loop over Updates that ends by a panic has ended like any other.
func TestReaderThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newUpdateQueue()
		q.push(numbered(0, 1000))
		func() {
			defer func() { _ = recover() }()
			for range q.all() {
				panic("x")
			}
		}()
		pushing(q, 10, holdBack) // a deadlock, if it waits for that reader
	})
}

// The prompt is sent after Start has returned; the caller may use its own again.
func TestPromptIsACopy(t *testing.T) {
	changed, seen := make(chan struct{}), make(chan string, 1)
	p, err := NewFunc("p", func(_ context.Context, req Request, _ func(acp.SessionUpdate)) (acp.StopReason, error) {
		<-changed
		seen <- req.Prompt[0].Text.Text
		return "end_turn", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	req := Request{Dir: t.TempDir(), Prompt: Text("one")}
	run, err := p.Start(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	req.Prompt[0] = acp.TextBlock("two")
	close(changed)
	if got := <-seen; got != "one" {
		t.Errorf("the turn was asked %q", got)
	}
	run.Close()
}

// What an agent can make without end is bounded.

func TestWarningsAreBounded(t *testing.T) {
	events := 0
	r := newRun(t.Context(), "p", Request{Events: func(Event) { events++ }})
	defer r.cancel(errClosed)
	r.tellStart()
	for n := range 10 * maxWarnings {
		r.permission(permission.Record{Ambiguous: true, ToolCallID: fmt.Sprint(n) + strings.Repeat("x", 1<<16)})
	}
	size := 0
	for _, w := range r.warnings {
		size += len(w)
	}
	if len(r.warnings) != maxWarnings+1 || size > 1000*maxWarnings || !strings.Contains(r.warnings[maxWarnings], "more to warn of") {
		t.Errorf("%d warnings of %d bytes are kept", len(r.warnings), size)
	}
	if want := 1 + 10*maxWarnings + maxWarnings + 1; events != want {
		t.Errorf("%d events, want %d", events, want)
	}
}

func TestEarlyPermissionsAreBounded(t *testing.T) {
	r := newRun(t.Context(), "p", Request{Events: func(Event) {}})
	defer r.cancel(errClosed)
	input := strings.Repeat("x", 1<<20)
	for range 50 {
		r.permission(permission.Record{RawInput: input})
	}
	if len(r.early) > keepEarly>>20 {
		t.Errorf("%d MiB of permissions wait for the start event", len(r.early))
	}
}

func TestIDsAreBounded(t *testing.T) {
	c := newCollector()
	c.setSession("s")
	long := strings.Repeat("x", 1<<20)
	const n = 20
	for i := range n {
		id := fmt.Sprint(i, long)
		u := client.DecodeUpdate("s", json.RawMessage(`{"sessionUpdate":"agent_message_chunk","messageId":"`+id+`","content":{"type":"text","text":"`+fmt.Sprint(i)+`"}}`))
		c.update(&u)
		c.permission(permission.Record{SessionID: "s", ToolCallID: id})
	}
	held := 0
	for _, m := range c.messages {
		held += len(m.id)
	}
	if held > maxIDBytes || held != c.idBytes {
		t.Errorf("the ids of messages hold %d bytes, counted as %d", held, c.idBytes)
	}
	for _, rec := range c.records {
		held += len(rec.ToolCallID)
	}
	if held > maxIDBytes+maxCardBytes {
		t.Errorf("ids hold %d bytes", held)
	}
	var res Result
	c.fill(&res, false, func(s string) string { return s })
	if res.Output != fmt.Sprint(n-1) || !res.Truncated || !strings.Contains(strings.Join(res.Warnings, "\n"), "than are kept") {
		t.Errorf("output %q, truncated %v, warnings %q", res.Output, res.Truncated, res.Warnings)
	}
}

// How much of the output is kept has nothing to do with what may come before the
// session is known.
func TestEarlyUpdatesOfASmallOutput(t *testing.T) {
	c := newCollector()
	c.limit = 10
	u := client.DecodeUpdate("s", json.RawMessage(`{"sessionUpdate":"current_mode_update","currentModeId":"plan"}`))
	c.update(&u)
	c.setSession("s")
	if c.mode == nil || *c.mode != "plan" || c.counts.Dropped != 0 || c.truncated {
		t.Errorf("mode %v, %+v, truncated %v", c.mode, c.counts, c.truncated)
	}
}

func TestPieces(t *testing.T) {
	c := newCollector()
	c.setSession("s")
	apply := func(format string, args ...any) {
		u := client.DecodeUpdate("s", json.RawMessage(fmt.Sprintf(format, args...)))
		c.update(&u)
	}
	for i := range 3 * maxCards {
		apply(`{"sessionUpdate":"tool_call","toolCallId":"c%d","title":"t","status":"in_progress"}`, i)
	}
	for i := range 1000 {
		apply(`{"sessionUpdate":"plan","entries":[{"content":"%d","priority":"high","status":"pending"}]}`, i)
	}
	for i := range 3 * maxCards {
		apply(`{"sessionUpdate":"agent_message_chunk","messageId":"m%d","content":{"type":"text","text":"%d"}}`, i, i)
	}
	var res Result
	c.fill(&res, true, func(s string) string { return s })
	if len(res.ToolCalls) != maxCards || len(res.Messages) != maxCards || len(res.Plan) != 1 {
		t.Errorf("%d tool calls, %d messages, %d plan entries", len(res.ToolCalls), len(res.Messages), len(res.Plan))
	}
	if res.Output != fmt.Sprint(3*maxCards-1) || res.Plan[0].Content != "999" || !res.Truncated || len(res.Warnings) != 2 {
		t.Errorf("output %q, plan %+v, truncated %v, warnings %q", res.Output, res.Plan, res.Truncated, res.Warnings)
	}
}
