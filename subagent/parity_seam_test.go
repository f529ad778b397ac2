package subagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
	"github.com/errand-acp/errand/subagent/subagenttest"
)

// Providers, registry, run and events.
func paritySeam(t *testing.T) {
	t.Run("A16 run ids and a repeated close", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt; text "$prompt"; wait cancel; exit 3`, nil)
		ids := map[string]bool{}
		var runs []subagent.Run
		for range 3 {
			run := s.start(t.Context())
			runs = append(runs, run)
			ids[run.ID()] = true
			firstText(t, run)
		}
		check.Equal(t, "different ids", len(ids), 3)
		for _, run := range runs {
			results := make([]*subagent.Result, 4)
			var closers sync.WaitGroup
			for i := range results {
				closers.Go(func() { results[i] = run.Close() })
			}
			closers.Wait()
			for _, res := range append(results, run.Close()) {
				check.Equal(t, "the same result", res, results[0])
			}
			res := results[0]
			ended(t, res, stopreason.Aborted, "")
			check.Equal(t, "run id", res.RunID, run.ID())
			check.Equal(t, "session id", *res.SessionID, "session-1")
			check.Equal(t, "exit", res.Exit.String(), "exit status 3")
			out := outcome(t, run)
			check.Equal(t, "outcome", string(out.Stop)+out.Output, string(res.Stop)+res.Output)
		}
	})

	t.Run("A28 a failure is reported once", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt; text "so far"; stderr "broke\n"; exit 3`, nil)
		var ends []*subagent.Result
		req := s.request("go")
		req.Events = func(e subagent.Event) {
			if e.Type == subagent.EventEnd {
				ends = append(ends, e.Result)
			}
		}
		res := s.do(req)
		if len(ends) != 1 || ends[0] == nil || ends[0].Error == nil {
			t.Fatalf("%d end events: %+v", len(ends), ends)
		}
		check.Equal(t, "kind", ends[0].Error.Kind, client.KindExit)
		check.Has(t, ends[0].Error.Message, "exit status 3", "broke")
		check.Equal(t, "stop", ends[0].Stop, stopreason.Error)
		check.Equal(t, "message in the result", res.Error.Message, ends[0].Error.Message)

		// A sink that panics.
		req.Events = func(e subagent.Event) {
			if e.Type == subagent.EventEnd {
				panic("the sink is full")
			}
		}
		res = s.do(req)
		ended(t, res, stopreason.Error, client.KindExit)
		check.Equal(t, "output", res.Output, "so far")
		check.Equal(t, "exit", res.Exit.String(), "exit status 3")
		check.Has(t, strings.Join(res.Warnings, "\n"), "panicked at a end event")
	})

	t.Run("A32 a removed provider", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt; text "begun"; wait file go-on; text ", and done"`, nil)
		agents, err := subagent.NewRegistry(s.provider)
		if err != nil {
			t.Fatal(err)
		}
		run, err := agents.Start(t.Context(), "scripted", s.request("go"))
		if err != nil {
			t.Fatal(err)
		}
		defer run.Close()
		firstText(t, run)
		check.Equal(t, "removed", agents.Remove("scripted"), true)
		check.Equal(t, "removed again", agents.Remove("scripted"), false)
		_, err = agents.Start(t.Context(), "scripted", s.request("go"))
		if e := asError(t, err, client.KindConfig); !errors.Is(e, subagent.ErrUnknownProvider) {
			t.Errorf("after the removal: %v", err)
		}
		s.Touch("go-on")
		res := closed(t, waited(t, run))
		ended(t, res, stopreason.Completed, "")
		check.Equal(t, "output", res.Output, "begun, and done")
		check.Equal(t, "exit", res.Exit.String(), "exit status 0")
		if err := agents.Add(s.provider); err != nil {
			t.Errorf("it cannot be added again: %v", err)
		}
	})

	t.Run("A33 refused before the start", func(t *testing.T) {
		t.Parallel()
		s := play(t, "", nil)
		function := inProcess(t, "function", subagent.CapabilityModel)
		agents, err := subagent.NewRegistry(s.provider, function)
		if err != nil {
			t.Fatal(err)
		}
		for capability, set := range map[subagent.Capability]func(*subagent.Request){
			subagent.CapabilityModel:        func(r *subagent.Request) { r.Model = "big-1" },
			subagent.CapabilityMode:         func(r *subagent.Request) { r.Mode = "plan" },
			subagent.CapabilityOutputSchema: func(r *subagent.Request) { r.OutputSchema = json.RawMessage(`{"type":"object"}`) },
			subagent.CapabilityToolFilter:   func(r *subagent.Request) { r.Tools = []string{} },
		} {
			req := s.request("answer yes")
			set(&req)
			for way, start := range map[string]func(p subagent.Provider) error{
				"the provider": func(p subagent.Provider) error { _, err := p.Start(t.Context(), req); return err },
				"the registry": func(p subagent.Provider) error { _, err := agents.Start(t.Context(), p.Name(), req); return err },
				"Delegate":     func(p subagent.Provider) error { _, err := subagent.Delegate(t.Context(), p, req); return err },
			} {
				e := asError(t, start(s.provider), client.KindCapability)
				check.Equal(t, way+": capability", e.Capability, capability)
				check.Equal(t, way+": provider", e.Provider, "scripted")
				check.Has(t, e.Error(), `"scripted"`, string(capability))
			}
			if capability == subagent.CapabilityModel {
				res, err := subagent.Delegate(t.Context(), function, req)
				if err != nil {
					t.Fatalf("a capability that it has: %v", err)
				}
				ended(t, res, stopreason.Completed, "")
			}
		}
		s.NotStarted()

		_, err = agents.Start(t.Context(), "nobody", s.request("go"))
		if e := asError(t, err, client.KindConfig); !errors.Is(e, subagent.ErrUnknownProvider) {
			t.Errorf("an unknown provider: %v", err)
		}
		check.Has(t, err.Error(), "nobody", "function", "scripted")
		err = agents.Add(inProcess(t, "scripted"))
		if e := asError(t, err, client.KindConfig); !errors.Is(e, subagent.ErrDuplicateProvider) {
			t.Errorf("a duplicate provider: %v", err)
		}
		_, err = subagent.NewRegistry(function, function)
		if !errors.Is(err, subagent.ErrDuplicateProvider) {
			t.Errorf("a duplicate provider: %v", err)
		}
		check.Equal(t, "names", strings.Join(agents.Names(), " "), "function scripted")
	})

	t.Run("A34 lifecycle events", func(t *testing.T) {
		t.Parallel()
		types := func(events []subagent.Event) string {
			var all []string
			for _, e := range events {
				all = append(all, string(e.Type))
			}
			return strings.Join(all, " ")
		}
		// One that settles at once.
		s := play(t, "", nil)
		var events []subagent.Event
		req := s.request("go")
		req.Events = func(e subagent.Event) { events = append(events, e) }
		res := s.do(req)
		check.Equal(t, "events", types(events), "start end")
		check.Equal(t, "the start's session", *events[0].Start.SessionID, "session-1")
		check.Equal(t, "the end's result", events[1].Result.Stop, res.Stop)
		for _, e := range events {
			check.Equal(t, "run id", e.RunID, res.RunID)
		}

		// Everything in between, in its order.
		events = nil
		s = play(t, asks(yes+no)+"\n on session/new; notify session/update {\"sessionId\":\"session-1\",\"update\":{\"sessionUpdate\":\"current_mode_update\",\"currentModeId\":\"early\"}}", nil)
		req.Dir = s.Dir
		s.do(req)
		check.Equal(t, "events", types(events), "start update permission update end")
		check.Has(t, string(events[1].Update), `"early"`)
		check.Has(t, string(events[3].Update), `"then not"`)

		// A start that is refused, or fails, has none.
		events = nil
		s = play(t, "on session/new; text early session=session-1; fail -32603 no", nil)
		req.Dir = s.Dir
		s.refused(t.Context(), req, client.KindAgent)
		req.Dir = ""
		s.refused(t.Context(), req, client.KindConfig)
		check.Equal(t, "events", types(events), "")

		// A listener that panics at every one of them.
		s = play(t, asks(yes+no), nil)
		n := 0
		req = s.request("go")
		req.Events = func(subagent.Event) { n++; panic("a listener's own affair") }
		res = s.do(req)
		ended(t, res, stopreason.Completed, "")
		check.Equal(t, "output", res.Output, "then not")
		check.Equal(t, "events", n, 4)
		check.Has(t, strings.Join(res.Warnings, "\n"), "Request.Events panicked at a start event")
	})

	t.Run("A50 one contract", func(t *testing.T) {
		t.Parallel()
		kinds := map[string]func(t *testing.T) subagent.Provider{
			"a function": func(t *testing.T) subagent.Provider { return inProcess(t, "a function") },
			"ACP": func(t *testing.T) subagent.Provider {
				return scripted(t, contractScript, &subagent.ACPOptions{Graces: shortGraces})
			},
			"lines": lineProvider,
		}
		agents := &subagent.Registry{}
		for name, make := range kinds {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				subagenttest.Run(t, make)
			})
			if err := agents.Add(make(t)); err != nil {
				t.Fatal(err)
			}
		}
		// By name, side by side.
		for _, name := range agents.Names() {
			run, err := agents.Start(t.Context(), name, subagent.Request{Dir: t.TempDir(), Prompt: subagent.Text("answer to " + name)})
			if err != nil {
				t.Fatal(err)
			}
			res := closed(t, waited(t, run))
			ended(t, res, stopreason.Completed, "")
			check.Equal(t, "output", res.Output, "answer to "+name)
			check.Equal(t, "provider", res.Provider, name)
		}
	})
}

// contractScript does what subagenttest asks of an agent.
const contractScript = `
on session/prompt "answer"
  text "$prompt"
  stop end_turn

on session/prompt "fail"
  fail -32603 "it failed"

on session/prompt "hang"
  text "$prompt"
  wait cancel
  stop cancelled
`

// inProcess is a provider of a function that does the same.
func inProcess(t testing.TB, name string, capabilities ...subagent.Capability) subagent.Provider {
	t.Helper()
	p, err := subagent.NewFunc(name, func(ctx context.Context, req subagent.Request, update func(acp.SessionUpdate)) (acp.StopReason, error) {
		text := req.Prompt[0].Text.Text
		word, _, _ := strings.Cut(text, " ")
		if word == "fail" {
			return "", errors.New("it failed")
		}
		update(acp.UpdateAgentMessageText(text))
		if word == "hang" {
			<-ctx.Done()
			return acp.StopReasonCancelled, nil
		}
		return acp.StopReasonEndTurn, nil
	}, capabilities...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
