package bench

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/subagent"
)

// thought is how long the agents of BenchmarkAtOnce think: what they wait for is a model.
const thought = 100 * time.Millisecond

// BenchmarkAtOnce8 is how fast runs are carried out eight at once: against one after
// another, and against as many minimal clients at once.
func BenchmarkAtOnce8(b *testing.B) { atOnce(b, 8) }

// BenchmarkAtOnce50 is the same with fifty.
func BenchmarkAtOnce50(b *testing.B) { atOnce(b, 50) }

func atOnce(b *testing.B, n int) {
	agent := buildScriptedAgent(b)
	args := []string{"-e", "on session/prompt; text \"Hello, \"; wait " + thought.String() + "; text world.; stop end_turn"}
	dir := b.TempDir()
	provider, err := subagent.NewACP("scripted", client.Command{Path: agent, Args: args}, nil)
	if err != nil {
		b.Fatal(err)
	}
	tasks := make([]subagent.Task, n)
	for i := range tasks {
		tasks[i] = subagent.Task{Provider: provider, Request: subagent.Request{Dir: dir, Prompt: subagent.Text("hello")}}
	}
	errand := func(tasks []subagent.Task) {
		for _, res := range subagent.FanOut(b.Context(), tasks, &subagent.FanOutOptions{Limit: subagent.NoLimit}) {
			if err := res.Err(); err != nil || res.Output != "Hello, world." {
				b.Fatalf("output %q, %v", res.Output, err)
			}
		}
	}
	minimal := func() {
		var group sync.WaitGroup
		for range n {
			group.Go(func() {
				if _, err := Minimal(agent, args, dir, "hello"); err != nil {
					b.Error(err)
				}
			})
		}
		group.Wait()
	}
	minimal() // both once unmeasured: the first finds nothing in the caches
	errand(tasks)

	var ofOne, ofMinimal, ofErrand []time.Duration
	for b.Loop() {
		// By turns, so that whatever else the machine does meets all.
		ofOne = append(ofOne, timed(func() { errand(tasks[:1]) }))
		ofMinimal = append(ofMinimal, timed(minimal))
		ofErrand = append(ofErrand, timed(func() { errand(tasks) }))
	}
	perSecond := func(d time.Duration) float64 { return float64(n) / d.Seconds() }
	b.ReportMetric(perSecond(median(ofErrand)), "errand-runs/s")
	b.ReportMetric(perSecond(median(ofMinimal)), "minimal-runs/s")
	b.ReportMetric(1/median(ofOne).Seconds(), "one-by-one-runs/s")
	b.ReportMetric(float64(median(ofErrand))/float64(median(ofMinimal)), "ratio")
	b.ReportMetric(float64(n)*float64(median(ofOne))/float64(median(ofErrand)), "speedup")
}

// BenchmarkPrewarmed is the time from Start until the agent has read its prompt, of spares
// of a pool and of agents that are started for it. The agent says in its answer when it was.
func BenchmarkPrewarmed(b *testing.B) {
	dir := b.TempDir()
	command := rawCommand("prompt", dir)
	pool, err := subagent.NewPool("prewarmed", command, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	cold := rawProvider(b, "prompt", client.Graces{})
	took := func(p subagent.Provider, prewarmed bool) time.Duration {
		for pool.Spares() == 0 { // so that none is being made meanwhile
			time.Sleep(time.Millisecond)
		}
		start := time.Now()
		res, err := subagent.Delegate(b.Context(), p, subagent.Request{Prompt: subagent.Text("hello")})
		if err != nil {
			b.Fatal(err)
		}
		text, _ := res.Meta["readAt"].(string)
		at, err := strconv.ParseInt(text, 10, 64)
		if err != nil || res.Prewarmed != prewarmed {
			b.Fatalf("prewarmed %t, _meta %v", res.Prewarmed, res.Meta)
		}
		return time.Unix(0, at).Sub(start)
	}
	var ofCold, ofPrewarmed []time.Duration
	for b.Loop() {
		ofCold = append(ofCold, took(cold, false))
		ofPrewarmed = append(ofPrewarmed, took(pool, true))
	}
	b.ReportMetric(milliseconds(median(ofCold)), "cold-ms")
	b.ReportMetric(milliseconds(median(ofPrewarmed)), "prewarmed-ms")
	b.ReportMetric(float64(median(ofPrewarmed))/float64(median(ofCold)), "ratio")
}

// crowds are how many runs there are at once in BenchmarkCost.
var crowds = []int{1, 10, 50, 200}

// BenchmarkCost is what a run costs this process in CPU time, as there are more of them at
// once: each agent waits until all are there.
func BenchmarkCost(b *testing.B) {
	agent := buildScriptedAgent(b)
	provider, err := subagent.NewACP("scripted", client.Command{Path: agent, Args: []string{"-e", "on session/prompt; text there; wait file go"}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	// runs carries out so many in a directory of their own.
	runs := func(n int) {
		dir := b.TempDir()
		var there atomic.Int64
		tasks := make([]subagent.Task, n)
		for i := range tasks {
			tasks[i] = subagent.Task{Provider: provider, Request: subagent.Request{Dir: dir, Prompt: subagent.Text("hello"), Events: func(e subagent.Event) {
				if e.Type != subagent.EventUpdate || there.Add(1) < int64(n) {
					return
				}
				if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
					b.Error(err)
				}
			}}}
		}
		for _, res := range subagent.FanOut(b.Context(), tasks, &subagent.FanOutOptions{Limit: subagent.NoLimit}) {
			if err := res.Err(); err != nil || res.Output != "there" {
				b.Fatalf("output %q, %v", res.Output, err)
			}
		}
	}
	runs(crowds[len(crowds)-1]) // what is made once, is
	costs := map[int][]time.Duration{}
	for b.Loop() {
		for _, n := range crowds {
			before := cpuTime()
			// As many runs in all, so that each figure is as good as the others.
			for range crowds[len(crowds)-1] / n {
				runs(n)
			}
			costs[n] = append(costs[n], (cpuTime()-before)/time.Duration(crowds[len(crowds)-1]))
		}
	}
	for _, n := range crowds {
		b.ReportMetric(milliseconds(median(costs[n])), strconv.Itoa(n)+"-at-once-ms")
	}
	b.ReportMetric(float64(median(costs[200]))/float64(median(costs[1])), "ratio")
}
