package bench

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// BenchmarkCancel is the time from an agent's answer to session/cancel until the
// outcome is there. The agent says in the answer when it wrote that.
func BenchmarkCancel(b *testing.B) {
	provider := rawProvider(b, "cancel", client.Graces{})
	var took []time.Duration
	for b.Loop() {
		run := hanging(b, provider)
		run.Cancel()
		<-run.Done()
		now := time.Now()
		res := run.Close()
		at, err := strconv.ParseInt(fmt.Sprint(res.Meta["writtenAt"]), 10, 64)
		if err != nil || res.Stop != stopreason.Aborted {
			b.Fatalf("stop %q, _meta %v", res.Stop, res.Meta)
		}
		took = append(took, now.Sub(time.Unix(0, at)))
	}
	b.ReportMetric(milliseconds(median(took)), "median-ms")
	b.ReportMetric(milliseconds(slices.Max(took)), "longest-ms")
}

// BenchmarkCancelIgnored is by how much an agent that heeds nothing but SIGKILL
// outlasts the graces it was given: until the outcome, and until nothing is left.
func BenchmarkCancelIgnored(b *testing.B) {
	graces := client.Graces{Cancel: 100 * time.Millisecond, EOF: 100 * time.Millisecond, Term: 100 * time.Millisecond}
	provider := rawProvider(b, "deaf", graces)
	var outcome, end []time.Duration
	for b.Loop() {
		run := hanging(b, provider)
		start := time.Now()
		run.Cancel()
		<-run.Done()
		outcome = append(outcome, time.Since(start)-graces.Cancel)
		res := run.Close()
		end = append(end, time.Since(start)-graces.Cancel-graces.EOF-graces.Term)
		if res.Stop != stopreason.Aborted || res.Exit == nil || res.Exit.Signal == nil || *res.Exit.Signal != "SIGKILL" {
			b.Fatalf("stop %q, exit %v", res.Stop, res.Exit)
		}
	}
	b.ReportMetric(milliseconds(slices.Max(outcome)), "outcome-longest-ms")
	b.ReportMetric(milliseconds(slices.Max(end)), "end-longest-ms")
}

func rawProvider(b *testing.B, which string, graces client.Graces) subagent.Provider {
	provider, err := subagent.NewACP(which, rawCommand(which, b.TempDir()), &subagent.ACPOptions{Graces: graces})
	if err != nil {
		b.Fatal(err)
	}
	return provider
}

// hanging starts a run whose agent has its prompt and says nothing.
func hanging(b *testing.B, provider subagent.Provider) subagent.Run {
	run, err := provider.Start(b.Context(), subagent.Request{Prompt: subagent.Text("hello")})
	if err != nil {
		b.Fatal(err)
	}
	for range run.Updates() {
		break
	}
	return run
}
