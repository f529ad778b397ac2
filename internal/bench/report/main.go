// Report runs the benchmarks of internal/bench and writes what they measured into
// docs/benchmarks.md and, in short, into the README.
//
//	go run ./internal/bench/report
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

const (
	docFile    = "docs/benchmarks.md"
	readmeFile = "README.md"
	// The README's table stands between these lines.
	begin = "<!-- benchmarks: made by make bench -->\n"
	end   = "<!-- end of benchmarks -->\n"
)

// row is a line of the table: one metric of one benchmark, and the most or least it
// may be.
type row struct {
	what              string
	benchmark, metric string
	format            string
	least             bool // the limit is the least that will do
	limit             float64
	// against names metrics of the same benchmark that explain a ratio.
	against []string
	short   bool // in the README too
}

var rows = []row{
	{what: "one whole run, times the minimal client", benchmark: "Run", metric: "ratio", format: "%.2f", limit: 1.25, against: []string{"errand-ms", "minimal-ms"}, short: true},
	{what: "the same beside 3,000 idle processes", benchmark: "RunCrowded", metric: "ratio", format: "%.2f", limit: 1.25, against: []string{"errand-ms", "minimal-ms"}, short: true},
	{what: "text updates, times acp.ClientSideConnection", benchmark: "Updates", metric: "ratio", format: "%.1f", least: true, limit: 10, against: []string{"errand-updates/s", "sdk-updates/s"}, short: true},
	{what: "updates lost of a burst of a million", benchmark: "Burst", metric: "lost", format: "%.0f", limit: 0, against: []string{"updates/s"}, short: true},
	{what: "heap under a slow consumer, MiB at most", benchmark: "SlowConsumer", metric: "peak-MiB", format: "%.1f", limit: 32, against: []string{"sent-MiB"}},
	{what: "an idle run: goroutines", benchmark: "Idle", metric: "goroutines/run", format: "%.2f", limit: 4, short: true},
	{what: "an idle run: heap and stacks, KiB", benchmark: "Idle", metric: "KiB/run", format: "%.0f", limit: 128, short: true},
	{what: "an idle run: threads of its own", benchmark: "Idle", metric: "threads/run", format: "%.2f", limit: 0.1},
	{what: "cancel: the agent's answer to the outcome, ms (median)", benchmark: "Cancel", metric: "median-ms", format: "%.2f", limit: 5, against: []string{"longest-ms"}, short: true},
	{what: "cancel ignored: outcome after its grace, ms (longest)", benchmark: "CancelIgnored", metric: "outcome-longest-ms", format: "%.1f", limit: 50},
	{what: "cancel ignored: nothing left after its graces, ms (longest)", benchmark: "CancelIgnored", metric: "end-longest-ms", format: "%.1f", limit: 50, short: true},
	{what: "8 runs at once, times 8 minimal clients at once", benchmark: "AtOnce8", metric: "ratio", format: "%.2f", limit: 1.25, against: []string{"errand-runs/s", "minimal-runs/s"}},
	{what: "50 runs at once, times 50 minimal clients at once", benchmark: "AtOnce50", metric: "ratio", format: "%.2f", limit: 1.25, against: []string{"errand-runs/s", "minimal-runs/s"}, short: true},
	{what: "throughput with 8 at once, times one after another", benchmark: "AtOnce8", metric: "speedup", format: "%.1f", least: true, limit: 4, against: []string{"errand-runs/s", "one-by-one-runs/s"}},
	{what: "throughput with 50 at once, times one after another", benchmark: "AtOnce50", metric: "speedup", format: "%.1f", least: true, limit: 8, against: []string{"errand-runs/s", "one-by-one-runs/s"}, short: true},
	{what: "start to prompt, prewarmed, times cold", benchmark: "Prewarmed", metric: "ratio", format: "%.3f", limit: 0.1, against: []string{"prewarmed-ms", "cold-ms"}, short: true},
	{what: "CPU time of a run among 200 at once, times that of one alone", benchmark: "Cost", metric: "ratio", format: "%.2f", limit: 1.25, against: []string{"1-at-once-ms", "10-at-once-ms", "50-at-once-ms", "200-at-once-ms"}, short: true},
}

// results maps "Benchmark metric" to its value.
type results map[string]float64

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run() error {
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", ".", "-benchtime", "3s", "./internal/bench")
	var out bytes.Buffer
	cmd.Stdout = io.MultiWriter(os.Stdout, &out)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", cmd, err)
	}
	measured, cpu := parse(out.String())
	doc, short, missed := table(measured)
	if err := os.WriteFile(docFile, []byte(fmt.Sprintf(docText, cpu, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), doc)), 0o644); err != nil {
		return err
	}
	if err := replaceInREADME(short); err != nil {
		return err
	}
	fmt.Printf("\n%s", doc)
	if len(missed) > 0 {
		return fmt.Errorf("missed: %s", strings.Join(missed, "; "))
	}
	return nil
}

// parse reads the output of go test -bench.
func parse(out string) (measured results, cpu string) {
	measured = results{}
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "cpu:"):
			cpu = strings.TrimSpace(strings.TrimPrefix(line, "cpu:"))
		case len(fields) > 2 && strings.HasPrefix(fields[0], "Benchmark"):
			// BenchmarkRun-2  1087  2870117 ns/op  1.02 ratio
			name, _, _ := strings.Cut(strings.TrimPrefix(fields[0], "Benchmark"), "-")
			for i := 2; i+1 < len(fields); i += 2 {
				if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
					measured[name+" "+fields[i+1]] = v
				}
			}
		}
	}
	return measured, cpu
}

// table returns the whole table, the README's, and the rows that missed their limit.
func table(measured results) (doc, short string, missed []string) {
	const head = "| | measured | wanted |\n|---|---|---|\n"
	doc, short = head, head
	for _, r := range rows {
		v, ok := measured[r.benchmark+" "+r.metric]
		wanted := "at most " + strconv.FormatFloat(r.limit, 'g', -1, 64)
		if r.least {
			wanted = "at least " + strconv.FormatFloat(r.limit, 'g', -1, 64)
		}
		if !ok || r.least && v < r.limit || !r.least && v > r.limit {
			missed = append(missed, r.what)
			wanted += " (**missed**)"
		}
		line := fmt.Sprintf("| %s | "+r.format+" | %s |\n", r.what, v, wanted)
		if r.short {
			short += line
		}
		var details []string
		for _, name := range r.against {
			details = append(details, fmt.Sprintf("%s %s", number(measured[r.benchmark+" "+name]), name))
		}
		if len(details) > 0 {
			line = strings.Replace(line, " | "+wanted, " ("+strings.Join(details, ", ")+") | "+wanted, 1)
		}
		doc += line
	}
	return doc, short, missed
}

// number writes v as people do: 1,234,567 or 1.23.
func number(v float64) string {
	if v < 100 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func replaceInREADME(short string) error {
	text, err := os.ReadFile(readmeFile)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no place for the benchmarks", readmeFile)
	}
	return os.WriteFile(readmeFile, []byte(before+begin+short+end+after), 0o644)
}

const docText = `# Benchmarks

Made by ` + "`make bench`" + `, which runs ` + "`go test -run '^$' -bench . -benchtime 3s ./internal/bench`" + `. Do not edit.

Measured on %s, %d CPUs, %s/%s, %s. Times differ from machine to machine; the ratios are of
things measured by turns in the same run, on ordinary builds (not under the race detector).

%s
## How

- **A whole run** is ` + "`subagent.Delegate`" + ` with the scripted agent (the same binary and script on both
  sides): start it, initialize, session/new, one prompt with two text updates, the end, nothing left. The
  minimal client is ` + "`bench.Minimal`" + `: os/exec, one bufio.Reader, constant frames, close stdin, wait. It
  checks, bounds and answers nothing. The ratio is that of the medians. It is for a machine with nothing else to
  do: on a busy one it grows, because Errand's agent leads a session of its own, and Linux schedules each session
  as a group beside the others (autogroup). A minimal client that calls setsid is slowed as much there.
  (` + "`chrt -f 10 make bench`" + ` keeps the others off.)
- **3,000 idle processes** are there at the same time: what looks for leftover processes must not slow down
  on a busy machine.
- **Text updates** come from a process that writes ready-made bytes, in prompts of 1,000, because
  ` + "`acp.ClientSideConnection`" + ` closes the connection when 1,024 are waiting. Both call the same
  SessionUpdate of the same handler, which checks the order.
- **The burst** is one prompt of a million updates to ` + "`client.Conn`" + `, each checked.
- **The slow consumer** sleeps now and then while the agent has all of its updates ready. Shown is by how much
  the live heap grew beside how much was sent: the rest waited in the agent. The queue's bound is 8 MiB.
- **An idle run** has sent its prompt to an agent that is silent. The figures are what a hundred of them hold,
  divided by a hundred.
- **Cancel** is the time from the agent's writing its answer to session/cancel (it puts the time into the
  answer) until ` + "`Run.Done`" + ` is closed. The agent that ignores it, and the end of its stdin, and SIGTERM, is
  measured from the cancel; the graces (100 ms each) are taken off.
- **At once** are runs of a fan-out whose agents think for 100 ms, as they would wait for a model; the minimal
  clients are ` + "`bench.Minimal`" + ` on a goroutine each, with the same agent and script. One after another is one such
  run, as often as there are at once. The figures are medians.
- **Prewarmed** are the spares of a ` + "`subagent.Pool`" + `. The time is that from Start until the agent has read its
  prompt, which it puts into its answer. A cold agent is the same program, which does as good as nothing at its
  start: the ratio of agents that have more to do then is smaller.
- **The CPU time of a run** is what this process used, the agents aside, over 200 runs: one after another, or in
  groups of 10, 50 and 200, whose agents wait until all of them are there.
`
