package subagent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// turn is what a function provider carries out.
type turn = func(ctx context.Context, req subagent.Request, update func(acp.SessionUpdate)) (acp.StopReason, error)

func function(t testing.TB, fn turn) subagent.Provider {
	t.Helper()
	p, err := subagent.NewFunc("function", fn)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func request(t testing.TB) subagent.Request {
	t.Helper()
	return subagent.Request{Dir: t.TempDir(), Prompt: subagent.Text("go")}
}

func delegated(t testing.TB, p subagent.Provider) *subagent.Result {
	t.Helper()
	res, err := subagent.Delegate(t.Context(), p, request(t))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestFuncOutcome(t *testing.T) {
	for name, tt := range map[string]struct {
		fn   turn
		stop stopreason.Outcome
		kind client.ErrorKind
		says string
	}{
		"end_turn": {func(context.Context, subagent.Request, func(acp.SessionUpdate)) (acp.StopReason, error) {
			return acp.StopReasonEndTurn, nil
		}, stopreason.Completed, "", ""},
		"nothing": {func(context.Context, subagent.Request, func(acp.SessionUpdate)) (acp.StopReason, error) {
			return "", nil
		}, stopreason.Error, client.KindProtocol, "without a stop reason"},
		"an error": {func(context.Context, subagent.Request, func(acp.SessionUpdate)) (acp.StopReason, error) {
			return acp.StopReasonEndTurn, errors.New("no luck")
		}, stopreason.Error, client.KindAgent, "no luck"},
		"an error of the protocol": {func(context.Context, subagent.Request, func(acp.SessionUpdate)) (acp.StopReason, error) {
			return "", fmt.Errorf("wrapped: %w", &acp.RequestError{Code: 401, Message: "bad key", Data: []any{"a"}})
		}, stopreason.Error, client.KindAgent, "bad key"},
		"a panic": {func(context.Context, subagent.Request, func(acp.SessionUpdate)) (acp.StopReason, error) {
			panic("what I panic with is mine")
		}, stopreason.Error, client.KindAgent, "panicked"},
	} {
		t.Run(name, func(t *testing.T) {
			res := delegated(t, function(t, tt.fn))
			ended(t, res, tt.stop, tt.kind)
			if tt.kind != "" {
				check.Has(t, res.Error.Message, tt.says)
			}
			if res.Exit != nil || res.SessionID != nil || res.Agent.Path != nil {
				t.Errorf("exit %v, session %v, agent %+v of a function", res.Exit, res.SessionID, res.Agent)
			}
			if name == "an error of the protocol" && (*res.Error.Code != 401 || string(res.Error.Data) != `["a"]`) {
				t.Errorf("code %v, data %s", res.Error.Code, res.Error.Data)
			}
			if name == "a panic" && strings.Contains(res.Error.Message, "mine") {
				t.Errorf("the message has what it panicked with: %s", res.Error.Message)
			}
		})
	}
}

func TestFuncRequest(t *testing.T) {
	var got subagent.Request
	p := function(t, func(_ context.Context, req subagent.Request, _ func(acp.SessionUpdate)) (acp.StopReason, error) {
		got = req
		return acp.StopReasonEndTurn, nil
	})
	parent := canonical(t, t.TempDir())
	res, err := subagent.Delegate(t.Context(), p, subagent.Request{ParentDir: parent, Prompt: subagent.Text("go")})
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, "directory", got.Dir, parent)
	check.Equal(t, "in the result", res.Dir, parent)
	check.Equal(t, "prompt", got.Prompt[0].Text.Text, "go")
}

// Updates may come from any goroutine, and mean nothing once the turn is over.
func TestFuncUpdates(t *testing.T) {
	const each = 100
	var late func(acp.SessionUpdate)
	p := function(t, func(_ context.Context, _ subagent.Request, update func(acp.SessionUpdate)) (acp.StopReason, error) {
		late = update
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for range each {
					update(acp.UpdateAgentMessageText("x"))
				}
			})
		}
		group.Wait()
		update(acp.SessionUpdate{}) // cannot be encoded
		return acp.StopReasonEndTurn, nil
	})
	events := 0
	req := request(t)
	req.Events = func(e subagent.Event) {
		if e.Type == subagent.EventUpdate {
			events++
		}
	}
	run, err := p.Start(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range run.Updates() {
		n++
	}
	late(acp.UpdateAgentMessageText("late"))
	res := run.Close()
	late(acp.UpdateAgentMessageText("later"))
	ended(t, res, stopreason.Completed, "")
	check.Equal(t, "output", res.Output, strings.Repeat("x", 4*each))
	check.Equal(t, "updates", n, 4*each)
	check.Equal(t, "events", events, 4*each)
	check.Equal(t, "counts", res.Counts, subagent.Counts{Updates: 4 * each})
	check.Has(t, strings.Join(res.Warnings, "\n"), "could not be encoded")
}

func TestNewProviderRefuses(t *testing.T) {
	open := func(context.Context, subagent.Request) (*subagent.Session, error) { return nil, nil }
	for name, make := range map[string]func() (subagent.Provider, error){
		"no name":     func() (subagent.Provider, error) { return subagent.NewProvider("", open) },
		"no open":     func() (subagent.Provider, error) { return subagent.NewProvider("p", nil) },
		"no function": func() (subagent.Provider, error) { return subagent.NewFunc("p", nil) },
		"no name, Func": func() (subagent.Provider, error) {
			return subagent.NewFunc("", func(context.Context, subagent.Request, func(acp.SessionUpdate)) (acp.StopReason, error) {
				return "", nil
			})
		},
	} {
		p, err := make()
		if p != nil {
			t.Errorf("%s: made", name)
		}
		asError(t, err, client.KindConfig)
	}
}

func TestNewProviderOpen(t *testing.T) {
	cause := errors.New("nobody is there")
	own := &subagent.Error{Kind: client.KindLimit, Step: client.StepSpawn, Message: "enough"}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for name, tt := range map[string]struct {
		open func(context.Context, subagent.Request) (*subagent.Session, error)
		kind client.ErrorKind
		is   error
	}{
		"an error":    {func(context.Context, subagent.Request) (*subagent.Session, error) { return nil, cause }, client.KindSpawn, cause},
		"one of ours": {func(context.Context, subagent.Request) (*subagent.Session, error) { return nil, own }, client.KindLimit, nil},
		"nothing":     {func(context.Context, subagent.Request) (*subagent.Session, error) { return nil, nil }, client.KindSpawn, nil},
		"no turn":     {func(context.Context, subagent.Request) (*subagent.Session, error) { return &subagent.Session{}, nil }, client.KindSpawn, nil},
		"it was ended": {func(ctx context.Context, _ subagent.Request) (*subagent.Session, error) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		}, client.KindCancelled, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := subagent.NewProvider("p", tt.open)
			if err != nil {
				t.Fatal(err)
			}
			start := t.Context()
			if tt.kind == client.KindCancelled {
				start = ctx
			}
			req := request(t)
			req.Events = func(e subagent.Event) { t.Errorf("%s event", e.Type) }
			_, err = p.Start(start, req)
			e := asError(t, err, tt.kind)
			check.Has(t, e.Error(), "p: ")
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%v does not wrap %v", err, tt.is)
			}
		})
	}
	if own.Provider != "" {
		t.Error("the provider's own error was changed")
	}
}

// What a provider can know only at the end is in the final result, and only there.
func TestNewProviderClose(t *testing.T) {
	closes := 0
	p, err := subagent.NewProvider("p", func(_ context.Context, req subagent.Request) (*subagent.Session, error) {
		return &subagent.Session{
			ID:    "s-1",
			Agent: subagent.Agent{Name: ptr("thing"), Command: []string{"thing", "--go"}},
			Turn: func(_ context.Context, update func(acp.SessionUpdate)) (acp.StopReason, error) {
				update(acp.UpdateAgentMessageText("hi"))
				return acp.StopReasonEndTurn, nil
			},
			Close: func(final *subagent.Result) {
				closes++
				final.Exit = &client.Exit{Code: ptr(4), Rung: client.RungEOF}
				final.Warnings = append(final.Warnings, "it was slow to go")
			},
		}, nil
	}, subagent.CapabilityMode)
	if err != nil {
		t.Fatal(err)
	}
	p.Capabilities()[0] = subagent.CapabilityModel
	if got := p.Capabilities(); !slices.Equal(got, []subagent.Capability{subagent.CapabilityMode}) {
		t.Errorf("a caller changed the capabilities to %q", got)
	}
	req := request(t)
	req.Mode = "plan"
	run, err := p.Start(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	out := outcome(t, run)
	final := run.Close()
	run.Close()
	check.Equal(t, "closes", closes, 1)
	check.Equal(t, "exit", final.Exit.String(), "exit status 4")
	if out.Exit != nil || len(out.Warnings) != 0 {
		t.Errorf("the outcome knows of exit %v, warnings %q", out.Exit, out.Warnings)
	}
	check.Equal(t, "warnings", strings.Join(final.Warnings, "|"), "it was slow to go")
	check.Equal(t, "session", *final.SessionID, "s-1")
	check.Equal(t, "agent", *final.Agent.Name+strings.Join(final.Agent.Command, " "), "thingthing --go")
	check.Equal(t, "output", final.Output, "hi")
}

func TestWaitIsBounded(t *testing.T) {
	p := inProcess(t, "p")
	req := request(t)
	req.Prompt = subagent.Text("hang")
	run, err := p.Start(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough waiting")
	cancel(cause)
	if res, err := run.Wait(ctx); res != nil || !errors.Is(err, cause) || !errors.Is(err, context.Canceled) {
		t.Errorf("Wait: %v, %v", res, err)
	}
	select {
	case <-run.Done():
		t.Error("giving up the wait ended the run")
	default:
	}
	run.Close()
	if res, err := run.Wait(ctx); err != nil || res.Stop != stopreason.Aborted {
		t.Errorf("an outcome that is there: %v, %v", res, err)
	}
}

// A run may be used from any goroutine at any time.
func TestRunFromManyGoroutines(t *testing.T) {
	p := inProcess(t, "p")
	for range 50 {
		run, err := p.Start(t.Context(), subagent.Request{Dir: t.TempDir(), Prompt: subagent.Text("hang")})
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for range 3 {
			group.Go(run.Cancel)
			group.Go(func() { run.Close() })
			group.Go(func() { <-run.Done() })
			group.Go(func() { run.Wait(t.Context()) })
		}
		group.Go(func() {
			for range run.Updates() {
			}
		})
		group.Wait()
		ended(t, run.Close(), stopreason.Aborted, "")
	}
}
