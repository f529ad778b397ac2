//go:build unix

package subagent_test

import (
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// What an agent does meanwhile does not put a clock off that is not its to put off. One
// that could be would never end the test.

func TestStartupClock(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		step   client.Step
	}{
		"noise":              {`on initialize; repeat forever; noise "loading"; wait 20ms; end`, client.StepInitialize},
		"stderr":             {`on initialize; repeat forever; stderr "loading\n"; wait 20ms; end`, client.StepInitialize},
		"updates":            {`on session/new; repeat forever; thought "hm" session=s; wait 20ms; end`, client.StepNewSession},
		"requests":           {`on session/new; repeat forever; request _vendor/ping; wait 20ms; end`, client.StepNewSession},
		"one clock for both": {"on initialize; wait 200ms\non session/new; wait forever", client.StepNewSession},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := time.Second
			if tt.step != client.StepInitialize {
				limit = 8 * time.Second // by then initialize is answered, however slow the machine is
			}
			s := play(t, tt.script, &subagent.ACPOptions{StartTimeout: limit, Graces: shortGraces})
			e := s.refused(t.Context(), s.request("go"), client.KindStartupTimeout)
			check.Equal(t, "step", e.Step, tt.step)
			if e.Partial == nil || e.Partial.Exit == nil {
				t.Errorf("nothing is known of the process: %+v", e.Partial)
			}
		})
	}
}

func TestIdleClockOfARun(t *testing.T) {
	const (
		short = 300 * time.Millisecond
		long  = 4 * time.Second // by then the agent has said something, however slow the machine is
	)
	for name, tt := range map[string]struct {
		script        string
		limit, lasted time.Duration
	}{
		"silence":           {`on session/prompt; text "so far"; wait forever`, long, long},
		"noise":             {`on session/prompt; text "so far"; repeat forever; noise x; wait 20ms; end`, long, long},
		"a call that ended": {`on session/prompt; text "so far"; tool a A status=in_progress; tool b B status=in_progress; tool-update a status=completed; tool-update b status=failed; wait forever`, long, long},
		"a call that never ends": {`on session/new; text "so far"; tool a A status=in_progress; tool b B status=in_progress; tool-update a status=completed
			on session/prompt; wait forever`, short, 10 * short},
		"the whole answer, and no response": {"on session/prompt; text \"so far\"; wait forever\non session/cancel; wait forever", long, long},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t, tt.script, &subagent.ACPOptions{IdleTimeout: tt.limit, Graces: shortGraces})
			begin := time.Now()
			run := s.start(t.Context())
			firstText(t, run)
			res := closedAfter(t, run)
			ended(t, res, stopreason.Aborted, client.KindIdleTimeout)
			check.Has(t, res.Output, "so far")
			if took := time.Since(begin); took < tt.lasted {
				t.Errorf("it was ended after %v, want %v of silence", took, tt.lasted)
			}
		})
	}
}

// The caller's deadline is heeded whatever the agent makes of the cancel.
func TestWallClock(t *testing.T) {
	for name, script := range map[string]string{
		"cancelled":         `wait cancel; stop cancelled`,
		"end_turn":          `wait cancel; stop end_turn`,
		"refusal":           `wait cancel; stop refusal`,
		"an odd reason":     `wait cancel; stop banana`,
		"an error":          `wait cancel; fail -32603 "abort"`,
		"withdrawn":         `wait cancel; fail -32800 "cancelled"`,
		"twice":             `wait cancel; reply {"stopReason":"cancelled"}; reply {"stopReason":"end_turn"}`,
		"exit":              `wait cancel; exit 3`,
		"crash":             `wait cancel; raise KILL`,
		"never":             "wait forever\non session/cancel; wait forever",
		"after the grace":   `wait cancel; wait 700ms; stop cancelled`,
		"text for ever":     `wait cancel; repeat forever; text more; wait 10ms; end`,
		"closes its stdout": `wait cancel; stdout close; wait forever`,
		"updates all along": `repeat forever; text more; wait 10ms; end`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// An idle clock beside it, which is not what ends the run.
			s := play(t, "on session/prompt; text \"so far\"; "+script, &subagent.ACPOptions{Graces: shortGraces, IdleTimeout: hang})
			life := newLife(t.Context())
			run := s.start(life)
			firstText(t, run)
			life.pass()
			res := closedAfter(t, run)
			ended(t, res, stopreason.Aborted, client.KindTimeout)
			check.Has(t, res.Output, "so far")
		})
	}
}

// closedAfter waits for the outcome before it closes.
func closedAfter(t *testing.T, run subagent.Run) *subagent.Result {
	t.Helper()
	outcome(t, run)
	return closed(t, run)
}

// The clock of a run begins when it may start: what it waits for before is no part of it,
// nor of how long it took.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"in the start": `on initialize; wait forever`,
		"in the turn":  `on session/prompt; wait cancel; stop cancelled`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := scripted(t, script, &subagent.ACPOptions{Timeout: 300 * time.Millisecond, Graces: shortGraces})
			results := subagent.Gather(bounded(t), tasks(t, p, "1", "2", "3"), &subagent.FanOutOptions{
				Limits: newLimits(t, subagent.LimitOptions{Starts: 1}),
			})
			for _, res := range results {
				ended(t, res, stopreason.Aborted, client.KindTimeout)
				if res.RunID == "" {
					t.Errorf("it was never started: %v", res.Error)
				}
			}
			if total := subagent.Total(results); name == "in the start" && total.SumMs > total.WallMs+1 {
				t.Errorf("one after the other they took %v ms, and one by one %v ms", total.WallMs, total.SumMs)
			}
		})
	}
}

// A run that has a spare has a clock as well.
func TestTimeoutOfASpare(t *testing.T) {
	t.Parallel()
	dir := canonical(t, t.TempDir())
	pool, err := subagent.NewPool("pool", command(t, `on session/prompt; wait cancel; stop cancelled`),
		&subagent.ACPOptions{Timeout: 300 * time.Millisecond, Graces: shortGraces}, &subagent.PoolOptions{Spares: 1, Dirs: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	ready(t, pool, 1)
	res, err := subagent.Delegate(bounded(t), pool, subagent.Request{Dir: dir, Prompt: subagent.Text("hi")})
	if err != nil {
		t.Fatal(err)
	}
	ended(t, res, stopreason.Aborted, client.KindTimeout)
	check.Equal(t, "prewarmed", res.Prewarmed, true)
}
