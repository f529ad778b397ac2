package bench

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/subagent"
)

// exchange is what the scripted agent does in a whole run.
const exchange = `
on session/prompt
  text "Hello, "
  text "world."
  stop end_turn
`

// idleProcesses is how many there are beside a run on a busy machine.
const idleProcesses = 3000

// BenchmarkRun is one whole run, from nothing to nothing left: the start of the
// scripted agent, one prompt, the answer, the end.
func BenchmarkRun(b *testing.B) { compareRuns(b) }

// BenchmarkRunCrowded is the same on a machine that is full of other processes.
func BenchmarkRunCrowded(b *testing.B) {
	crowd(b, idleProcesses)
	compareRuns(b)
}

func compareRuns(b *testing.B) {
	agent := buildScriptedAgent(b)
	args := []string{"-e", exchange}
	dir := b.TempDir()
	provider, err := subagent.NewACP("scripted", client.Command{Path: agent, Args: args}, nil)
	if err != nil {
		b.Fatal(err)
	}
	minimal := func() {
		if _, err := Minimal(agent, args, dir, "hello"); err != nil {
			b.Fatal(err)
		}
	}
	errand := func() {
		res, err := subagent.Delegate(b.Context(), provider, subagent.Request{Dir: dir, Prompt: subagent.Text("hello")})
		if err != nil {
			b.Fatal(err)
		}
		if err := res.Err(); err != nil || res.Output != "Hello, world." || res.Exit == nil || res.Exit.Code == nil {
			b.Fatalf("output %q, exit %v, %v", res.Output, res.Exit, err)
		}
	}
	minimal() // both once unmeasured: the first finds nothing in the caches
	errand()

	var ofMinimal, ofErrand []time.Duration
	for b.Loop() {
		// By turns, so that whatever else the machine does meets both.
		ofMinimal = append(ofMinimal, timed(minimal))
		ofErrand = append(ofErrand, timed(errand))
	}
	b.ReportMetric(milliseconds(median(ofMinimal)), "minimal-ms")
	b.ReportMetric(milliseconds(median(ofErrand)), "errand-ms")
	b.ReportMetric(float64(median(ofErrand))/float64(median(ofMinimal)), "ratio")
}

func buildScriptedAgent(b *testing.B) string {
	file := filepath.Join(b.TempDir(), "scripted-agent")
	out, err := exec.Command("go", "build", "-o", file, "../../testdata/scripted-agent").CombinedOutput()
	if err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return file
}

// crowd starts n idle processes and ends them with the benchmark. They wait for the
// end of a pipe, so that they go with this process whatever happens to it.
func crowd(b *testing.B, n int) {
	idle, release, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `i=0
		while [ $i -lt `+strconv.Itoa(n)+` ]; do (read _ <&3) & i=$((i+1)); done
		echo ready
		wait`)
	cmd.ExtraFiles = []*os.File{idle}
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	idle.Close()
	b.Cleanup(func() {
		release.Close()
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); strings.TrimSpace(line) != "ready" {
		b.Fatalf("%d idle processes: %q, %v", n, line, err)
	}
	if all, err := filepath.Glob("/proc/[0-9]*"); err == nil && len(all) > 0 && len(all) < n {
		b.Fatalf("there are %d processes, want more than %d", len(all), n)
	}
}

func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
