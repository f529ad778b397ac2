package bench

import (
	"os"
	"runtime"
	"testing"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/subagent"
)

// idleRuns is how many runs are idle at once; the figures are means of them.
const idleRuns = 100

// BenchmarkIdle is what a run holds in this process while its agent is silent.
func BenchmarkIdle(b *testing.B) {
	path, args := script.Command(b, `on session/prompt; text "well"; wait cancel; stop cancelled`)
	provider, err := subagent.NewACP("silent", client.Command{Path: path, Args: args, Dir: b.TempDir()}, nil)
	if err != nil {
		b.Fatal(err)
	}
	start := func() subagent.Run {
		run, err := provider.Start(b.Context(), subagent.Request{Prompt: subagent.Text("hello")})
		if err != nil {
			b.Fatal(err)
		}
		for range run.Updates() {
			break // it has the prompt
		}
		return run
	}
	start().Close() // what is made once is not of a run
	for b.Loop() {
		before := held()
		runs := make([]subagent.Run, idleRuns)
		for i := range runs {
			runs[i] = start()
		}
		after := held()
		for _, run := range runs {
			run.Close()
		}
		b.ReportMetric(float64(after.goroutines-before.goroutines)/idleRuns, "goroutines/run")
		b.ReportMetric(float64(after.bytes-before.bytes)/1024/idleRuns, "KiB/run")
		b.ReportMetric(float64(after.threads-before.threads)/idleRuns, "threads/run")
	}
}

type holding struct {
	goroutines, threads int
	bytes               int64 // live heap and stacks
}

func held() holding {
	runtime.GC()
	runtime.GC() // finalizers of the first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	threads, _ := os.ReadDir("/proc/self/task") // empty where there is none
	return holding{goroutines: runtime.NumGoroutine(), threads: len(threads), bytes: int64(m.HeapAlloc + m.StackInuse)}
}
