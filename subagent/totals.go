package subagent

import (
	"math"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/stopreason"
)

// Totals are what results add up to. Their JSON is a contract, like that of a Result.
type Totals struct {
	// Runs is how many results there are, Outcomes how many of each outcome, and Errors
	// how many with an error of each kind. An outcome or a kind that there is none of is not
	// in them.
	Runs     int                        `json:"runs"`
	Outcomes map[stopreason.Outcome]int `json:"outcomes"`
	Errors   map[client.ErrorKind]int   `json:"errors"`
	// Cancelled are the aborted ones that no clock has ended, NotStarted those that did not
	// come to their prompt. A task that was cancelled before its turn is in both.
	Cancelled  int `json:"cancelled"`
	NotStarted int `json:"notStarted"`

	Usage UsageTotals `json:"usage"`
	// Cost is what the runs cost that said so, by currency (ISO 4217).
	Cost map[string]Sum `json:"cost"`

	// WallMs is the time from the first start to the last end, SumMs that of all runs one
	// after another, in milliseconds.
	WallMs float64 `json:"wallMs"`
	SumMs  float64 `json:"sumMs"`
	// Slowest is the run that took longest; null where nothing was started.
	Slowest *Slowest `json:"slowest"`
}

// UsageTotals add up the tokens that runs said they used. What a context holds is no sum.
type UsageTotals struct {
	InputTokens       Sum `json:"inputTokens"`
	OutputTokens      Sum `json:"outputTokens"`
	TotalTokens       Sum `json:"totalTokens"`
	ThoughtTokens     Sum `json:"thoughtTokens"`
	CachedReadTokens  Sum `json:"cachedReadTokens"`
	CachedWriteTokens Sum `json:"cachedWriteTokens"`
}

// Sum adds up what some runs said; of the others it is not known.
type Sum struct {
	// Sum is null where no run said anything, which is not 0, and where it is more than a
	// number can be.
	Sum *float64 `json:"sum"`
	// Runs is how many said it.
	Runs int `json:"runs"`
}

// Slowest names a run: Index is that of its result.
type Slowest struct {
	Index int     `json:"index"`
	RunID string  `json:"runId"`
	Ms    float64 `json:"ms"`
}

// Total adds up results, as those of Gather. A nil one is left out.
func Total(results []*Result) Totals {
	t := Totals{Outcomes: map[stopreason.Outcome]int{}, Errors: map[client.ErrorKind]int{}, Cost: map[string]Sum{}}
	var first, last time.Time
	for i, res := range results {
		if res == nil {
			continue
		}
		t.Runs++
		t.Outcomes[res.Stop]++
		if res.Error != nil {
			t.Errors[res.Error.Kind]++
		}
		if res.Stop == stopreason.Aborted && !timedOut(res.Error) {
			t.Cancelled++
		}
		if !hadPrompt(res) {
			t.NotStarted++
		}
		if u := res.Usage; u != nil {
			t.Usage.add(u)
			if u.Cost != nil {
				t.Cost[u.Cost.Currency] = t.Cost[u.Cost.Currency].with(&u.Cost.Amount)
			}
		}
		if res.RunID == "" {
			continue // it took no time
		}
		took := res.Timing.TotalMs
		t.SumMs += took
		if t.Slowest == nil || took > t.Slowest.Ms {
			t.Slowest = &Slowest{Index: i, RunID: res.RunID, Ms: took}
		}
		if first.IsZero() || res.StartedAt.Before(first) {
			first = res.StartedAt
		}
		if end := res.StartedAt.Add(time.Duration(took * float64(time.Millisecond))); end.After(last) {
			last = end
		}
	}
	t.WallMs = ms(last.Sub(first))
	return t
}

// timedOut reports whether an aborted run was ended by a clock.
func timedOut(e *Error) bool {
	if e == nil {
		return false
	}
	switch e.Kind {
	case client.KindTimeout, client.KindIdleTimeout, client.KindStartupTimeout:
		return true
	}
	return false
}

// hadPrompt reports whether a run came to its prompt turn. A start that was cancelled has no
// error to tell by.
func hadPrompt(res *Result) bool {
	switch {
	case res.RunID == "":
		return false
	case res.Error == nil:
		return res.Stop != stopreason.Aborted || res.SessionID != nil || res.Timing.PromptMs > 0
	}
	return res.Error.Step == client.StepPrompt || res.Error.Step == client.StepShutdown
}

func (t *UsageTotals) add(u *Usage) {
	for _, f := range []struct {
		to   *Sum
		from *float64
	}{
		{&t.InputTokens, u.InputTokens}, {&t.OutputTokens, u.OutputTokens}, {&t.TotalTokens, u.TotalTokens},
		{&t.ThoughtTokens, u.ThoughtTokens}, {&t.CachedReadTokens, u.CachedReadTokens}, {&t.CachedWriteTokens, u.CachedWriteTokens},
	} {
		*f.to = f.to.with(f.from)
	}
}

// with returns s and n, which is nil where it is not known.
func (s Sum) with(n *float64) Sum {
	if n == nil {
		return s
	}
	var sum float64
	switch {
	case s.Sum != nil:
		sum = *s.Sum + *n
	case s.Runs == 0:
		sum = *n
	default:
		sum = math.Inf(1)
	}
	if math.IsInf(sum, 0) || math.IsNaN(sum) {
		return Sum{Runs: s.Runs + 1}
	}
	return Sum{Sum: &sum, Runs: s.Runs + 1}
}
