package subagent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

func TestTotal(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ran := func(n int, stop stopreason.Outcome, from, took time.Duration) *subagent.Result {
		return &subagent.Result{
			RunID: fmt.Sprint("run-", n), Stop: stop, StartedAt: start.Add(from),
			Timing: subagent.Timing{PromptMs: 1, TotalMs: float64(took / time.Millisecond)},
		}
	}
	with := func(res *subagent.Result, set func(*subagent.Result)) *subagent.Result {
		set(res)
		return res
	}
	failed := func(kind client.ErrorKind, step client.Step) func(*subagent.Result) {
		return func(res *subagent.Result) { res.Error = &subagent.Error{Kind: kind, Step: step} }
	}
	for name, tt := range map[string]struct {
		results []*subagent.Result
		want    string
	}{
		"none": {nil, `{"runs": 0, "outcomes": {}, "errors": {}, "cancelled": 0, "notStarted": 0, "cost": {}, "wallMs": 0, "sumMs": 0, "slowest": null}`},
		"time": {[]*subagent.Result{
			ran(0, stopreason.Completed, 2*time.Second, time.Second), nil,
			ran(1, stopreason.Completed, 0, 2500*time.Millisecond), ran(2, stopreason.Refusal, time.Second, 2500*time.Millisecond),
		}, `{"runs": 3, "outcomes": {"completed": 2, "refusal": 1}, "errors": {}, "cancelled": 0, "notStarted": 0, "cost": {},
			"wallMs": 3500, "sumMs": 6000, "slowest": {"index": 2, "runId": "run-1", "ms": 2500}}`},
		"what went wrong": {[]*subagent.Result{
			with(ran(0, stopreason.Error, 0, 0), failed(client.KindExit, client.StepPrompt)),
			with(ran(1, stopreason.Error, 0, 0), failed(client.KindExit, client.StepInitialize)), // not started
			with(ran(2, stopreason.Error, 0, 0), failed(client.KindLeftover, client.StepShutdown)),
			with(&subagent.Result{Stop: stopreason.Error}, failed(client.KindLimit, client.StepConfig)), // not started
			with(ran(3, stopreason.Aborted, 0, 0), failed(client.KindTimeout, client.StepPrompt)),
			with(ran(4, stopreason.Aborted, 0, 0), failed(client.KindIdleTimeout, client.StepPrompt)),
			with(ran(5, stopreason.Aborted, 0, 0), failed(client.KindLeftover, client.StepShutdown)), // cancelled
			ran(6, stopreason.Aborted, 0, 0), // cancelled
			{Stop: stopreason.Aborted},       // cancelled, not started
			with(ran(7, stopreason.Aborted, 0, 0), func(r *subagent.Result) { r.Timing.PromptMs = 0 }), // both: when it was starting
		}, `{"runs": 10, "outcomes": {"error": 4, "aborted": 6}, "errors": {"exit": 2, "leftover": 2, "limit": 1, "timeout": 1, "idle_timeout": 1},
			"cancelled": 4, "notStarted": 4, "cost": {}, "wallMs": 0, "sumMs": 0, "slowest": {"index": 0, "runId": "run-0", "ms": 0}}`},
		"more than a number can be": {slices.Repeat([]*subagent.Result{
			with(ran(0, stopreason.Completed, 0, 0), func(r *subagent.Result) {
				r.Usage = &subagent.Usage{TotalTokens: ptr(1e308), Cost: &subagent.Cost{Amount: -1e308, Currency: "USD"}}
			}),
		}, 3), `{"runs": 3, "outcomes": {"completed": 3}, "errors": {}, "cancelled": 0, "notStarted": 0,
			"usage": {"totalTokens": {"sum": null, "runs": 3}}, "cost": {"USD": {"sum": null, "runs": 3}},
			"wallMs": 0, "sumMs": 0, "slowest": {"index": 0, "runId": "run-0", "ms": 0}}`},
		"usage": {[]*subagent.Result{
			with(ran(0, stopreason.Completed, 0, 0), func(r *subagent.Result) {
				r.Usage = &subagent.Usage{InputTokens: ptr(10.0), OutputTokens: ptr(0.0), ContextUsed: ptr(99.0), Cost: &subagent.Cost{Amount: 0.5, Currency: "USD"}}
			}),
			ran(1, stopreason.Completed, 0, 0), // says nothing
			with(ran(2, stopreason.Completed, 0, 0), func(r *subagent.Result) {
				r.Usage = &subagent.Usage{InputTokens: ptr(5.0), Cost: &subagent.Cost{Amount: 1, Currency: "EUR"}}
			}),
			with(ran(3, stopreason.Completed, 0, 0), func(r *subagent.Result) {
				r.Usage = &subagent.Usage{ThoughtTokens: ptr(1.0), CachedReadTokens: ptr(2.0), CachedWriteTokens: ptr(3.0), TotalTokens: ptr(4.0), Cost: &subagent.Cost{Amount: 0.25, Currency: "USD"}}
			}),
		}, `{"runs": 4, "outcomes": {"completed": 4}, "errors": {}, "cancelled": 0, "notStarted": 0,
			"usage": {"inputTokens": {"sum": 15, "runs": 2}, "outputTokens": {"sum": 0, "runs": 1}, "thoughtTokens": {"sum": 1, "runs": 1},
				"cachedReadTokens": {"sum": 2, "runs": 1}, "cachedWriteTokens": {"sum": 3, "runs": 1}, "totalTokens": {"sum": 4, "runs": 1}},
			"cost": {"USD": {"sum": 0.75, "runs": 2}, "EUR": {"sum": 1, "runs": 1}},
			"wallMs": 0, "sumMs": 0, "slowest": {"index": 0, "runId": "run-0", "ms": 0}}`},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := json.Marshal(subagent.Total(tt.results))
			if err != nil {
				t.Fatal(err)
			}
			var got, want map[string]any
			if err := json.Unmarshal(raw, &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			usage, _ := want["usage"].(map[string]any)
			if usage == nil {
				usage = map[string]any{}
			}
			for _, field := range []string{"inputTokens", "outputTokens", "totalTokens", "thoughtTokens", "cachedReadTokens", "cachedWriteTokens"} {
				if usage[field] == nil {
					usage[field] = map[string]any{"sum": nil, "runs": 0.0} // unknown, and not 0
				}
			}
			want["usage"] = usage
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("totals (-want +got):\n%s", diff)
			}
			var back subagent.Totals
			if err := json.Unmarshal(raw, &back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(subagent.Total(tt.results), back); diff != "" {
				t.Errorf("it changed on its way through JSON (-before +after):\n%s", diff)
			}
		})
	}
}

// The same of results that were really come to.
func TestTotalOfAFanOut(t *testing.T) {
	t.Parallel()
	p := scripted(t, `
		on session/prompt "use"; usage used=10 size=100; stop end_turn {"usage": {"inputTokens": 7, "outputTokens": 3, "totalTokens": 10}}
		on session/prompt "hang"; wait forever
		on session/prompt; stop refusal`, &subagent.ACPOptions{Graces: shortGraces})
	list := tasks(t, p, "use 1", "no", "use 2", "hang", "hang too", "never")
	list[1].Provider = missing(t)
	ctx, cancel := context.WithCancel(bounded(t))
	defer cancel()
	results := make([]*subagent.Result, len(list))
	n := 0
	for i, res := range subagent.FanOut(ctx, list, &subagent.FanOutOptions{Limit: 2}) {
		results[i] = res
		if n++; n == 3 {
			cancel() // those that hang have the places, and one waits
		}
	}
	got := subagent.Total(results)
	check.Equal(t, "runs", got.Runs, 6)
	check.Equal(t, "completed", got.Outcomes[stopreason.Completed], 2)
	check.Equal(t, "errors", fmt.Sprint(got.Errors), "map[spawn:1]")
	check.Equal(t, "cancelled", got.Cancelled, 3)
	check.Equal(t, "input and output tokens", *got.Usage.InputTokens.Sum+*got.Usage.OutputTokens.Sum, 20)
	check.Equal(t, "of runs", got.Usage.InputTokens.Runs, 2)
	check.Equal(t, "what nobody has said", got.Usage.ThoughtTokens, subagent.Sum{})
	if got.NotStarted < 2 || got.SumMs <= 0 || got.Slowest == nil || got.WallMs < got.Slowest.Ms {
		t.Errorf("%+v, slowest %+v", got, got.Slowest)
	}
}
