package main

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"
)

// tally counts what the runs were and came to.
type tally struct {
	runs, viaErrand                  int
	endings, extras, outcomes, exits map[string]int
	longest                          time.Duration
	slowest                          string // the run that took that
}

func newTally() tally {
	return tally{endings: map[string]int{}, extras: map[string]int{}, outcomes: map[string]int{}, exits: map[string]int{}}
}

func (t *tally) add(p *played) {
	t.runs++
	if p.errand {
		t.viaErrand++
	}
	t.endings[p.ending]++
	for _, extra := range p.extras {
		t.extras[extra]++
	}
	outcome := p.got.Stop
	if kind, _, ok := strings.Cut(p.got.Error, " at "); ok {
		outcome += ", " + kind
	}
	t.outcomes[outcome]++
	exit := "no process"
	if p.got.Rung != "" {
		exit = fmt.Sprintf("%s by %s", p.got.Rung, strings.TrimRight(p.got.Exit, " 0123456789"))
	}
	t.exits[exit]++
	if p.took > t.longest {
		t.longest, t.slowest = p.took, p.name
	}
}

// document is docs/soak.md.
func (k *soak) document(seed uint64, phases []figures) string {
	var b strings.Builder
	t := &k.tally
	fmt.Fprintf(&b, docHead, t.runs, t.viaErrand, seed, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), k.failed(phases))
	b.WriteString("| | runs | at once | time |\n|---|---|---|---|\n")
	var total time.Duration
	for _, f := range phases {
		total += f.took
		fmt.Fprintf(&b, "| %s | %d | %d | %v |\n", f.name, f.done, f.atOnce, f.took.Round(time.Second))
	}
	fmt.Fprintf(&b, "\nAll together %v; the longest run %v.\n", total.Round(time.Second), t.longest.Round(100*time.Millisecond))

	b.WriteString("\n## What is held\n\nOf this program: before a phase, at most during it, after it.\n\n")
	b.WriteString("| | goroutines | descriptors | threads | heap, MiB | child processes |\n|---|---|---|---|---|---|\n")
	for _, f := range phases {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", f.name,
			three(f, func(h held) any { return h.goroutines }), three(f, func(h held) any { return h.descriptors }),
			three(f, func(h held) any { return h.threads }), three(f, func(h held) any { return fmt.Sprintf("%.1f", float64(h.heap)/(1<<20)) }),
			three(f, func(h held) any { return h.children }))
	}
	for _, table := range []struct {
		title, head string
		counts      map[string]int
	}{
		{"How the runs ended", "result's stop, error", t.outcomes},
		{"How the agents ended", "the last rung of the ladder, and how", t.exits},
		{"How the runs were made to fail", "ending", t.endings},
		{"What went on beside that", "beside", t.extras},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n| %s | runs |\n|---|---|\n", table.title, table.head)
		for _, name := range slices.SortedFunc(maps.Keys(table.counts), func(a, b string) int {
			return cmp.Or(cmp.Compare(table.counts[b], table.counts[a]), cmp.Compare(a, b))
		}) {
			fmt.Fprintf(&b, "| %s | %d |\n", name, table.counts[name])
		}
	}
	return b.String()
}

func three(f figures, of func(held) any) string {
	return fmt.Sprintf("%v → %v → %v", of(f.before), of(f.most), of(f.after))
}

const docHead = "# The soak\n\nMade by `go run ./internal/soak -write`. Do not edit.\n\n" +
	`%d runs, %d of them through ` + "`errand run --json`" + `, of agents that fail at points drawn from seed %d; on %s/%s with
%d CPUs, %s. Failures: **%d**.

A run is drawn as a whole: the script of its agent, how it is asked for, what the caller does meanwhile, and what must
come of it, down to each message, tool call, permission and count. The last is known from the script alone. It is a
failure too if a run

- has more than one outcome, or another number of end events, or a final result that adds to the outcome more than
  could not be known before;
- has a result whose JSON does not come back the same, or is not as ` + "`errand schema result`" + ` has it;
- has either of two secrets in its result, one held back and one handed on, which its agent says all the time;
- leaves a process;

and if a phase leaves a process, a child, a zombie, a descriptor, a goroutine, or 4 MiB more of heap than before it.
A failure prints its seed and its script; ` + "`go run ./internal/soak -run SEED`" + ` repeats that run alone.

`
