// Package subagenttest says by a test what a subagent.Provider must do, whatever
// stands behind it.
//
//	func TestProvider(t *testing.T) {
//		subagenttest.Run(t, func(t *testing.T) subagent.Provider { return newMyProvider(t) })
//	}
//
// The agent behind the provider has to play along. The first word of the prompt's
// text tells it what to do:
//
//	answer …   send the prompt's whole text back as one message, and end the turn
//	           with end_turn
//	fail …     fail the turn: answer with an error, crash, panic
//	hang …     send the prompt's whole text back as one message, then nothing until
//	           the turn is cancelled
package subagenttest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// hang bounds whatever is waited for; reaching it means that it will not come.
const hang = 60 * time.Second

// Run tests the providers that make returns. It is called for each subtest anew; a
// provider may be asked for several runs at once.
func Run(t *testing.T, make func(t *testing.T) subagent.Provider) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, p subagent.Provider)
	}{
		{"names itself", names},
		{"completes", completes},
		{"a failed turn is a result", fails},
		{"refuses bad requests", refuses},
		{"refuses what it does not offer", refusesCapabilities},
		{"a done context starts nothing", doneContext},
		{"cancelling the context aborts", cancelContext},
		{"Cancel aborts", cancelRun},
		{"a deadline is a timeout", deadline},
		{"Close alone aborts", closeAlone},
		{"closing is idempotent", closeTwice},
		{"events are in order", events},
		{"a panic in Events is contained", eventsPanic},
		{"updates end with the turn", updates},
		{"nobody need read the updates", updatesUnread},
		{"runs are independent", independent},
		{"the result round-trips", roundTrip},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, make(t)) })
	}
}

func names(t *testing.T, p subagent.Provider) {
	if first := p.Name(); first == "" || p.Name() != first {
		t.Errorf("Name() is %q and then %q, want a name that stays", first, p.Name())
	}
}

func completes(t *testing.T, p subagent.Provider) {
	dir := t.TempDir()
	req := request(dir, "answer the sky is blue")
	req.Labels = map[string]string{"tenant": "t1"}
	res := delegate(t, t.Context(), p, req)
	want(t, res, stopreason.Completed, "")
	if res.Output != "answer the sky is blue" {
		t.Errorf("output %q, want the prompt", res.Output)
	}
	if n := len(res.Messages); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
	// A run in a work tree of its own says so, and where it was.
	if real, _ := filepath.EvalSymlinks(dir); (res.Dir == real) == (res.Worktree != nil) {
		t.Errorf("dir %q and worktree %+v, want %q or a work tree", res.Dir, res.Worktree, real)
	}
	if res.Provider != p.Name() || res.RunID == "" || res.Labels["tenant"] != "t1" || res.StartedAt.IsZero() {
		t.Errorf("provider %q, runId %q, labels %v, startedAt %v", res.Provider, res.RunID, res.Labels, res.StartedAt)
	}
	if res.SessionID != nil && *res.SessionID == res.RunID {
		t.Errorf("the run's id is the session's: %q", res.RunID)
	}
	if res.Empty || res.Err() != nil {
		t.Errorf("empty %v, Err() %v", res.Empty, res.Err())
	}
}

func fails(t *testing.T, p subagent.Provider) {
	res := delegate(t, t.Context(), p, request(t.TempDir(), "fail"))
	if res.Stop != stopreason.Error || res.Error == nil || res.Error.Message == "" || res.Err() == nil {
		t.Errorf("stop %q, error %+v; want an error that says something", res.Stop, res.Error)
	}
}

func refuses(t *testing.T, p subagent.Provider) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, req := range map[string]subagent.Request{
		"no prompt":           {Dir: t.TempDir()},
		"an empty prompt":     request(t.TempDir(), ""),
		"no directory":        request("", "answer x"),
		"a relative one":      request(".", "answer x"),
		"a missing one":       request(filepath.Join(t.TempDir(), "missing"), "answer x"),
		"a file":              request(file, "answer x"),
		"a relative parent's": {Prompt: subagent.Text("answer x"), ParentDir: "somewhere"},
	} {
		refused(t, name, p, t.Context(), req, client.KindConfig)
	}
}

func refusesCapabilities(t *testing.T, p subagent.Provider) {
	depth := 1
	for capability, set := range map[subagent.Capability]func(*subagent.Request){
		subagent.CapabilityModel:        func(r *subagent.Request) { r.Model = "m" },
		subagent.CapabilityMode:         func(r *subagent.Request) { r.Mode = "m" },
		subagent.CapabilityOutputSchema: func(r *subagent.Request) { r.OutputSchema = json.RawMessage(`{}`) },
		subagent.CapabilityMaxDepth:     func(r *subagent.Request) { r.MaxDepth = &depth },
		subagent.CapabilityToolFilter:   func(r *subagent.Request) { r.Tools = []string{} },
		subagent.CapabilityTranscript:   func(r *subagent.Request) { r.Transcript = transcript.NewWriter(io.Discard) },
	} {
		if has(p, capability) {
			continue
		}
		req := request(t.TempDir(), "answer x")
		set(&req)
		err := refused(t, string(capability), p, t.Context(), req, client.KindCapability)
		if err != nil && (err.Capability != capability || err.Provider != p.Name()) {
			t.Errorf("%s: the error names provider %q and capability %q", capability, err.Provider, err.Capability)
		}
	}
}

func doneContext(t *testing.T, p subagent.Provider) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := refused(t, "cancelled", p, ctx, request(t.TempDir(), "answer x"), client.KindCancelled)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v does not wrap context.Canceled", err)
	}
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	<-late.Done()
	refused(t, "past its deadline", p, late, request(t.TempDir(), "answer x"), client.KindTimeout)
}

func cancelContext(t *testing.T, p subagent.Provider) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	run := begin(t, ctx, p, "hang so far")
	firstText(t, run)
	cancel()
	want(t, outcome(t, run), stopreason.Aborted, "")
	res := run.Close()
	want(t, res, stopreason.Aborted, "")
	if res.Output != "hang so far" {
		t.Errorf("output %q, want what was said before the cancel", res.Output)
	}
}

func cancelRun(t *testing.T, p subagent.Provider) {
	run := begin(t, t.Context(), p, "hang so far")
	firstText(t, run)
	run.Cancel()
	res := outcome(t, run)
	want(t, res, stopreason.Aborted, "")
	if !errors.Is(res.Err(), context.Canceled) {
		t.Errorf("Err() is %v, want what errors.Is takes for context.Canceled", res.Err())
	}
	run.Cancel() // too late, and harmless
	want(t, run.Close(), stopreason.Aborted, "")
}

func deadline(t *testing.T, p subagent.Provider) {
	// Long enough for the start of any agent, and waited for in full.
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	want(t, delegate(t, ctx, p, request(t.TempDir(), "hang on")), stopreason.Aborted, client.KindTimeout)
}

func closeAlone(t *testing.T, p subagent.Provider) {
	run := begin(t, t.Context(), p, "hang on")
	res := run.Close()
	want(t, res, stopreason.Aborted, "")
	select {
	case <-run.Done():
	default:
		t.Error("closed, but not done")
	}
}

func closeTwice(t *testing.T, p subagent.Provider) {
	run := begin(t, t.Context(), p, "answer x")
	outcome := outcome(t, run)
	results := make([]*subagent.Result, 8)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i] = run.Close() })
	}
	wg.Wait()
	for _, res := range results {
		if diff := cmp.Diff(results[0], res); diff != "" {
			t.Fatalf("two closes, two results:\n%s", diff)
		}
	}
	if results[0].Stop != outcome.Stop || results[0].Output != outcome.Output || results[0].RunID != run.ID() {
		t.Errorf("the final result says %q %q of run %s, the outcome %q %q of run %s",
			results[0].Stop, results[0].Output, results[0].RunID, outcome.Stop, outcome.Output, run.ID())
	}
	if res := run.Close(); res != results[0] {
		t.Error("a late close returned another result")
	}
}

func events(t *testing.T, p subagent.Provider) {
	var got []subagent.Event // only written by the run, and read after Close
	req := request(t.TempDir(), "answer a b c")
	req.Events = func(e subagent.Event) { got = append(got, e) }
	res := delegate(t, t.Context(), p, req)
	if len(got) < 3 {
		t.Fatalf("%d events, want a start, updates and an end", len(got))
	}
	first, last := got[0], got[len(got)-1]
	if first.Type != subagent.EventStart || first.Start == nil || first.Start.Provider != p.Name() || first.Start.Dir != res.Dir {
		t.Errorf("the first event is %+v", first)
	}
	if last.Type != subagent.EventEnd || last.Result == nil || last.Result.Stop != res.Stop {
		t.Errorf("the last event is %+v", last)
	}
	counts := map[subagent.EventType]int{}
	for i, e := range got {
		counts[e.Type]++
		if e.RunID != res.RunID || e.Time.IsZero() || i > 0 && e.Time.Before(got[i-1].Time) {
			t.Errorf("event %d: run %q at %v", i, e.RunID, e.Time)
		}
		if e.Type == subagent.EventUpdate && !json.Valid(e.Update) {
			t.Errorf("event %d: the update is not JSON: %q", i, e.Update)
		}
	}
	if counts[subagent.EventStart] != 1 || counts[subagent.EventEnd] != 1 || counts[subagent.EventUpdate] == 0 {
		t.Errorf("events by type: %v", counts)
	}
}

func eventsPanic(t *testing.T, p subagent.Provider) {
	req := request(t.TempDir(), "answer fine")
	req.Events = func(subagent.Event) { panic("a listener's own affair") }
	res := delegate(t, t.Context(), p, req)
	want(t, res, stopreason.Completed, "")
	if res.Output != "answer fine" {
		t.Errorf("output %q, want the prompt", res.Output)
	}
	if !strings.Contains(strings.Join(res.Warnings, "\n"), "panicked") {
		t.Errorf("warnings %q do not mention the panic", res.Warnings)
	}
}

func updates(t *testing.T, p subagent.Provider) {
	run := begin(t, t.Context(), p, "answer one two three")
	var text strings.Builder
	for u := range run.Updates() {
		if chunk, ok := u.Text(); ok {
			text.WriteString(chunk)
		}
	}
	res := run.Close()
	want(t, res, stopreason.Completed, "")
	if text.String() != res.Output {
		t.Errorf("the updates say %q, the output is %q", text.String(), res.Output)
	}
	for range run.Updates() {
		t.Fatal("an update after the end")
	}
}

func updatesUnread(t *testing.T, p subagent.Provider) {
	run := begin(t, t.Context(), p, "answer "+strings.Repeat("x", 1<<20))
	for range run.Updates() {
		break
	}
	want(t, outcome(t, run), stopreason.Completed, "")
	run.Close()
}

func independent(t *testing.T, p subagent.Provider) {
	hanging := begin(t, t.Context(), p, "hang on")
	var wg sync.WaitGroup
	ids := make([]string, 4)
	for i := range ids {
		wg.Go(func() {
			res, err := subagent.Delegate(t.Context(), p, request(t.TempDir(), "answer x"))
			if err != nil {
				t.Error(err)
				return
			}
			want(t, res, stopreason.Completed, "")
			ids[i] = res.RunID
		})
	}
	wg.Wait()
	seen := map[string]bool{hanging.ID(): true}
	for _, id := range ids {
		if seen[id] {
			t.Errorf("run id %q is not unique", id)
		}
		seen[id] = true
	}
	select {
	case <-hanging.Done():
		t.Error("the other runs ended the hanging one")
	default:
	}
	want(t, hanging.Close(), stopreason.Aborted, "")
}

func roundTrip(t *testing.T, p subagent.Provider) {
	for _, prompt := range []string{"answer x", "fail"} {
		res := delegate(t, t.Context(), p, request(t.TempDir(), prompt))
		text, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		var back subagent.Result
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(back)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(text), string(again)); diff != "" {
			t.Errorf("%s: the result changed on its way through JSON (-before +after):\n%s", prompt, diff)
		}
		var fields map[string]any
		if err := json.Unmarshal(text, &fields); err != nil {
			t.Fatal(err)
		}
		for _, list := range []string{"messages", "toolCalls", "permissions", "withheldEnv", "warnings", "labels"} {
			if v := reflect.ValueOf(fields[list]); !v.IsValid() {
				t.Errorf("%s: %s is null or missing, want it empty", prompt, list)
			}
		}
	}
}

func request(dir, text string) subagent.Request {
	return subagent.Request{Prompt: subagent.Text(text), Dir: dir}
}

func has(p subagent.Provider, c subagent.Capability) bool {
	for _, offered := range p.Capabilities() {
		if offered == c {
			return true
		}
	}
	return false
}

func begin(t *testing.T, ctx context.Context, p subagent.Provider, text string) subagent.Run {
	t.Helper()
	run, err := p.Start(ctx, request(t.TempDir(), text))
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(func() { run.Close() })
	return run
}

func delegate(t *testing.T, ctx context.Context, p subagent.Provider, req subagent.Request) *subagent.Result {
	t.Helper()
	res, err := subagent.Delegate(ctx, p, req)
	if err != nil {
		t.Fatalf("Delegate: %v", err)
	}
	return res
}

// firstText waits until the agent has said something.
func firstText(t *testing.T, run subagent.Run) {
	t.Helper()
	for u := range run.Updates() {
		if u.Value.AgentMessageChunk != nil {
			return
		}
	}
	t.Fatal("the turn ended without a word")
}

func outcome(t *testing.T, run subagent.Run) *subagent.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	res, err := run.Wait(ctx)
	if err != nil {
		t.Fatalf("no outcome: %v", err)
	}
	return res
}

func want(t *testing.T, res *subagent.Result, stop stopreason.Outcome, kind client.ErrorKind) {
	t.Helper()
	var got client.ErrorKind
	if res.Error != nil {
		got = res.Error.Kind
	}
	if res.Stop != stop || got != kind {
		t.Errorf("stop %q with error %+v, want %q with kind %q", res.Stop, res.Error, stop, kind)
	}
}

// refused checks that a start fails with an Error of the given kind and tells no
// event.
func refused(t *testing.T, name string, p subagent.Provider, ctx context.Context, req subagent.Request, kind client.ErrorKind) *subagent.Error {
	t.Helper()
	req.Events = func(e subagent.Event) { t.Errorf("%s: a %s event although the start was refused", name, e.Type) }
	run, err := p.Start(ctx, req)
	if err == nil {
		run.Close()
		t.Errorf("%s: was started", name)
		return nil
	}
	e, ok := errors.AsType[*subagent.Error](err)
	if !ok || e.Kind != kind || e.Message == "" {
		t.Errorf("%s: error %#v, want a *subagent.Error of kind %q", name, err, kind)
	}
	return e
}
