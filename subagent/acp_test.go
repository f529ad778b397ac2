package subagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/envscrub"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/traces"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

func TestNewACPRefuses(t *testing.T) {
	const secret = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345" // what a token looks like
	for name, tt := range map[string]struct {
		name string
		cmd  client.Command
		o    subagent.ACPOptions
		says string
	}{
		"no name":               {"", client.Command{Path: "agent"}, subagent.ACPOptions{}, "name"},
		"no path":               {"a", client.Command{}, subagent.ACPOptions{}, "Path"},
		"a NUL in an argument":  {"a", client.Command{Path: "agent", Args: []string{"ok", "a\x00b"}}, subagent.ACPOptions{}, "Args[1]"},
		"an entry without =":    {"a", client.Command{Path: "agent", Env: []string{secret}}, subagent.ACPOptions{}, "Env"},
		"an entry with no name": {"a", client.Command{Path: "agent", Env: []string{"A=b", "=" + secret}}, subagent.ACPOptions{}, "Env"},
		"a NUL in an entry":     {"a", client.Command{Path: "agent", Env: []string{"A=" + secret + "\x00"}}, subagent.ACPOptions{}, "Env"},
		"a bad pattern":         {"a", client.Command{Path: "agent", Inherit: envscrub.Policy{Pass: []string{"[A"}}}, subagent.ACPOptions{}, "Pass"},
		"output below nothing":  {"a", client.Command{Path: "agent"}, subagent.ACPOptions{MaxOutput: -1}, "MaxOutput"},
		"a tail below nothing":  {"a", client.Command{Path: "agent"}, subagent.ACPOptions{StderrTail: -1}, "StderrTail"},
		"messages of less":      {"a", client.Command{Path: "agent"}, subagent.ACPOptions{MaxMessageBytes: -1}, "MaxMessageBytes"},
		"a depth below nothing": {"a", client.Command{Path: "agent"}, subagent.ACPOptions{MaxDepth: -1}, "MaxDepth"},
		"an unknown sweep":      {"a", client.Command{Path: "agent"}, subagent.ACPOptions{Sweep: "everything"}, "everything"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := subagent.NewACP(tt.name, tt.cmd, &tt.o)
			e := asError(t, err, client.KindConfig)
			check.Equal(t, "provider", p, nil)
			check.Has(t, e.Message, tt.says)
			if strings.Contains(fmt.Sprintf("%v %+v", e, e), secret) {
				t.Errorf("the error shows a value: %v", e)
			}
		})
	}
}

// What the caller does with its lists afterwards is its own affair.
func TestNewACPKeepsItsOwn(t *testing.T) {
	s := play(t, "", nil)
	cmd := command(t, s.Recording(`on session/prompt; text "$env.COLOUR"`), "COLOUR=red")
	s.provider = provider(t, cmd, nil)
	cmd.Args[0], cmd.Env[0] = "nothing", "COLOUR=blue"
	check.Equal(t, "output", s.run("go").Output, "red")
	s.provider.Capabilities()[0] = subagent.CapabilityModel
	if got := s.provider.Capabilities(); !slices.Equal(got, []subagent.Capability{subagent.CapabilityMaxDepth, subagent.CapabilityTranscript}) {
		t.Errorf("capabilities %q", got)
	}
	check.Equal(t, "name", s.provider.Name(), "scripted")
}

func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	// Before the limit the answer has to come, and before the end of stdin the cancel is read.
	const limit = 4 * time.Second
	o := &subagent.ACPOptions{IdleTimeout: limit, Graces: client.Graces{Cancel: 300 * time.Millisecond, EOF: hang}}
	s := play(t, `on session/prompt; text "the whole answer"; wait cancel; wait forever`, o)
	res := s.run("go")
	ended(t, res, stopreason.Aborted, client.KindIdleTimeout)
	check.Equal(t, "output", res.Output, "the whole answer")
	check.Has(t, res.Error.Message, limit.String())
	check.Equal(t, "methods", s.methods(), "initialize session/new session/prompt session/cancel")

	// A tool call and an answer that we owe are no idleness.
	slow := permission.PolicyFunc(func(ctx context.Context, req permission.Request) permission.Decision {
		select {
		case <-time.After(3 * limit / 2): // a user who thinks
		case <-ctx.Done():
		}
		return permission.Allow().Decide(ctx, req)
	})
	o = &subagent.ACPOptions{IdleTimeout: limit, Permission: slow}
	res = play(t, `on session/prompt
		tool c1 "Build" status=in_progress
		wait 6s
		tool-update c1 status=completed
		`+strings.TrimPrefix(asks(yes+no), "on session/prompt"), o).run("go")
	ended(t, res, stopreason.Completed, "")
	check.Equal(t, "output", res.Output, "done")
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	s := play(t, `on session/prompt; text "so far"; wait cancel; stop cancelled`, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second) // long enough for the start
	defer cancel()
	res, err := subagent.Delegate(ctx, s.provider, s.request("go"))
	if err != nil {
		t.Fatal(err)
	}
	ended(t, res, stopreason.Aborted, client.KindTimeout)
	check.Equal(t, "output", res.Output, "so far")
	if !errors.Is(res.Err(), context.DeadlineExceeded) {
		t.Errorf("%v does not wrap context.DeadlineExceeded", res.Err())
	}

	s = play(t, `on session/new; never reply`, nil)
	ctx, cancel = context.WithTimeout(t.Context(), 3*time.Second) // the process has to be there
	defer cancel()
	e := s.refused(ctx, s.request("go"), client.KindTimeout)
	if !errors.Is(e, context.DeadlineExceeded) {
		t.Errorf("%v does not wrap context.DeadlineExceeded", e)
	}
	check.Equal(t, "stop of what is known", e.Partial.Stop, stopreason.Aborted)
}

// Whatever the caller gave as its reason, that it is a cancel or a deadline stays
// visible.
func TestCauses(t *testing.T) {
	t.Parallel()
	cause := errors.New("the user went home")
	both := func(what string, err, kind error) {
		t.Helper()
		if !errors.Is(err, cause) || !errors.Is(err, kind) {
			t.Errorf("%s: %v does not wrap both the cause and %v", what, err, kind)
		}
	}
	s := play(t, `on session/new; write asked; never reply`, nil)

	done, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	both("before the start", s.refused(done, s.request("go"), client.KindCancelled), context.Canceled)
	late, release := context.WithTimeoutCause(t.Context(), 0, cause)
	defer release()
	<-late.Done()
	both("too late", s.refused(late, s.request("go"), client.KindTimeout), context.DeadlineExceeded)

	during, cancel := context.WithCancelCause(t.Context())
	go func() { // ends with the start
		s.Await("asked")
		cancel(cause)
	}()
	both("during the start", s.refused(during, s.request("go"), client.KindCancelled), context.Canceled)

	ctx, release := context.WithTimeoutCause(t.Context(), 2*time.Second, cause) // long enough for the start
	defer release()
	res, err := subagent.Delegate(ctx, inProcess(t, "p"), subagent.Request{Dir: t.TempDir(), Prompt: subagent.Text("hang")})
	if err != nil {
		t.Fatal(err)
	}
	ended(t, res, stopreason.Aborted, client.KindTimeout)
	both("in the turn", res.Err(), context.DeadlineExceeded)
}

func TestHints(t *testing.T) {
	t.Parallel()
	const src = `on session/new
		if "$env.THING_API_KEY" is ""
			stderr "THING_API_KEY is not set\n"
			exit 1
		end`
	o := &subagent.ACPOptions{Hints: []string{"THING_API_KEY", "OTHER_KEY"}}
	s := play(t, src, o)
	e := s.refused(t.Context(), s.request("go"), client.KindExit)
	check.Has(t, e.Message, "exit status 1", "THING_API_KEY is not set", "THING_API_KEY or OTHER_KEY")
	check.Equal(t, "step", e.Step, client.StepNewSession)
	check.Equal(t, "retryable", e.Retryable, true)

	s = play(t, src, o, "THING_API_KEY=abc")
	ended(t, s.run("go"), stopreason.Completed, "")

	s = play(t, `on session/new; exit 1`, o, "OTHER_KEY=abc")
	if e := s.refused(t.Context(), s.request("go"), client.KindExit); strings.Contains(e.Message, "THING_API_KEY") {
		t.Errorf("a hint for an agent that was given a key: %s", e.Message)
	}
}

// What is known of a run that did not start goes with the error.
func TestPartialResult(t *testing.T) {
	t.Parallel()
	s := play(t, `stderr "starting\n"
		noise "hello"
		on session/new; exit 4`, nil)
	req := s.request("go")
	req.Labels = map[string]string{"a": "b"}
	e := s.refused(t.Context(), req, client.KindExit)
	res := e.Partial
	check.Equal(t, "exit", res.Exit.String(), "exit status 4")
	check.Equal(t, "stderr", res.StderrTail, "starting\n")
	check.Equal(t, "noise", strings.Join(res.Noise.First, "|"), "hello")
	check.Equal(t, "stop", res.Stop, stopreason.Error)
	check.Equal(t, "error", res.Error.Error(), e.Error())
	check.Equal(t, "what is known of what is known", res.Error.Partial, nil)
	check.Equal(t, "labels", res.Labels["a"], "b")
	check.Equal(t, "dir", res.Dir, s.Dir)
	check.Equal(t, "protocol", *res.ProtocolVersion, 1)
	check.Equal(t, "empty", res.Empty, true)
	if res.SessionID != nil || res.Messages == nil || res.Timing.StartMs <= 0 {
		t.Errorf("session %v, messages %v, timing %+v", res.SessionID, res.Messages, res.Timing)
	}

	// A command that holds a secret is not shown where it could not be started.
	const key = "hunter2-hunter2-hunter2"
	p := provider(t, client.Command{Path: "errand-no-such-command", Args: []string{"--key=" + key}, Env: []string{"AGENT_KEY=" + key}}, nil)
	_, err := p.Start(t.Context(), s.request("go"))
	spawn := asError(t, err, client.KindSpawn)
	check.Has(t, strings.Join(spawn.Partial.Agent.Command, " "), "errand-no-such-command --key=")
	if raw, err := json.Marshal(spawn.Partial); err != nil || strings.Contains(string(raw), key) {
		t.Errorf("the key is shown: %v %s", err, raw)
	}

	s = play(t, "", nil)
	if e := s.refused(t.Context(), subagent.Request{}, client.KindConfig); e.Partial != nil {
		t.Errorf("a result of nothing: %+v", e.Partial)
	}
}

func TestMaxOutput(t *testing.T) {
	t.Parallel()
	res := play(t, `on session/prompt
		text "an older message"
		thought hm
		text "the answer" size=100KB
		text "and its end"`, &subagent.ACPOptions{MaxOutput: 1000}).run("go")
	ended(t, res, stopreason.Completed, "")
	check.Equal(t, "truncated", res.Truncated, true)
	check.Equal(t, "messages", len(res.Messages), 1)
	check.Equal(t, "output", res.Output, strings.Repeat("the answer", 100))
}

// One message over the limit costs itself, or the call that it answers.
func TestMaxMessageBytes(t *testing.T) {
	t.Parallel()
	o := &subagent.ACPOptions{MaxMessageBytes: 50_000}
	res := play(t, `on session/prompt; text before; text x size=100KB; text " and after"`, o).run("go")
	ended(t, res, stopreason.Completed, "")
	check.Equal(t, "output", res.Output, "before and after")
	check.Equal(t, "counts", res.Counts, subagent.Counts{Updates: 2, Dropped: 1})
	check.Equal(t, "truncated", res.Truncated, true)
	check.Equal(t, "warnings", strings.Join(res.Warnings, "|"), "1 update of the agent was larger than the limit of 50000 bytes and is missing; the output may not be complete")

	s := play(t, `on session/prompt
		text before
		set filler x size=100KB
		stop end_turn {"_meta":{"filler":"$filler"}}`, o)
	res = s.run("go")
	ended(t, res, stopreason.Error, client.KindTooLarge)
	check.Has(t, res.Error.Message, "session/prompt", "50000")
	check.Equal(t, "output", res.Output, "before")
}

func TestUsageAndMeta(t *testing.T) {
	t.Parallel()
	res := play(t, `on session/prompt
		usage used=10 size=100
		stop end_turn {"usage":{"inputTokens":3,"outputTokens":4,"totalTokens":7},"_meta":{"trace":"t1"}}`, nil).run("go")
	ended(t, res, stopreason.Completed, "")
	u := res.Usage
	check.Equal(t, "usage", fmt.Sprint(*u.InputTokens, *u.OutputTokens, *u.TotalTokens, *u.ContextUsed, *u.ContextSize), "3 4 7 10 100")
	check.Equal(t, "meta", res.Meta["trace"], any("t1"))
	check.Equal(t, "empty", res.Empty, true)
	if res.Timing.StartMs <= 0 || res.Timing.CloseMs <= 0 || res.Timing.TotalMs < res.Timing.StartMs+res.Timing.PromptMs+res.Timing.CloseMs-0.01 {
		t.Errorf("timing %+v", res.Timing)
	}
}

// An option of which there are several is a question, and the result says so.
func TestAmbiguousPermissionIsAWarning(t *testing.T) {
	t.Parallel()
	res := play(t, asks("option a allow_once A\noption b allow_once B\n"+no), &subagent.ACPOptions{Permission: permission.Allow()}).run("go")
	ended(t, res, stopreason.Completed, "")
	check.Equal(t, "output", res.Output, "then not")
	check.Has(t, strings.Join(res.Warnings, "\n"), `"c1"`, "several options of one kind")
}

// Runs at the same time share nothing.
func TestManyRunsAtOnce(t *testing.T) {
	t.Parallel()
	s := play(t, `on session/prompt
		burst 50 "$prompt"
		if "$prompt" contains crash
			exit 3
		end`, nil)
	var group sync.WaitGroup
	results := make([]*subagent.Result, 12)
	for i := range results {
		group.Go(func() {
			text := fmt.Sprintf("<%d>", i)
			if i%4 == 0 {
				text = fmt.Sprintf("<%d crash>", i)
			}
			res, err := subagent.Delegate(t.Context(), s.provider, s.request(text))
			if err != nil {
				t.Errorf("run %d: %v", i, err)
				return
			}
			check.Equal(t, "output", res.Output, strings.Repeat(text, 50))
			results[i] = res
		})
	}
	group.Wait()
	var failed []int
	for i, res := range results {
		if res != nil && res.Stop != stopreason.Completed {
			failed = append(failed, i)
			ended(t, res, stopreason.Error, client.KindExit)
		}
	}
	if !slices.Equal(failed, []int{0, 4, 8}) {
		t.Errorf("runs %v failed, want 0, 4 and 8", failed)
	}
}

// A slow reader of the updates slows the agent and loses nothing; one that leaves
// does not keep the turn from ending.
func TestUpdatesOfASlowReader(t *testing.T) {
	t.Parallel()
	const n = 3000
	s := play(t, fmt.Sprintf(`on session/prompt; burst %d "$i," size=2KB`, n), nil)
	run := s.start(t.Context())
	seen := 0
	for u := range run.Updates() {
		seen++
		text := u.Value.AgentMessageChunk.Content.Text.Text
		if want := fmt.Sprintf("%d,", seen); !strings.HasPrefix(text, want) {
			t.Fatalf("update %d says %.20q", seen, text)
		}
		if seen%1000 == 1 {
			time.Sleep(20 * time.Millisecond) // a reader that has other things to do
		}
	}
	check.Equal(t, "updates", seen, n)
	check.Equal(t, "counted", closed(t, run).Counts.Updates, n)

	run = s.start(t.Context())
	for range run.Updates() {
		break
	}
	res := closed(t, waited(t, run))
	ended(t, res, stopreason.Completed, "")
	check.Equal(t, "counted", res.Counts.Updates, n)
}

// A reader that never comes back does not keep a cancelled run from ending.
func TestCancelWithAReaderThatHangs(t *testing.T) {
	t.Parallel()
	s := play(t, `on session/prompt
		repeat forever
			text "x" size=64KB
		end`, nil)
	run := s.start(t.Context())
	hanging := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for range run.Updates() {
			<-hanging
		}
	})
	traces.Until(t, "the first update", func() bool { return s.Exists(s.Wire) && strings.Contains(s.methods(), "session/prompt") })
	run.Cancel()
	res := closed(t, run)
	ended(t, res, stopreason.Aborted, "")
	check.Equal(t, "stop reason", *res.StopReason, "cancelled")
	close(hanging)
	reader.Wait()
}

// failingWriter takes nothing.
type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// A Stderr that fails costs the run nothing, and is told of.
func TestStderrThatFails(t *testing.T) {
	const key = "hunter2-hunter2-hunter2"
	s := play(t, `on session/prompt; stderr "to the end\n"; text "fine"`,
		&subagent.ACPOptions{Stderr: failingWriter{errors.New("no room for " + key)}}, "AGENT_KEY="+key)
	res := s.run("go")
	ended(t, res, stopreason.Completed, "")
	check.Equal(t, "stderr", res.StderrTail, "to the end\n")
	warnings := strings.Join(res.Warnings, "\n")
	check.Has(t, warnings, "not all of stderr was passed on", "no room for")
	if strings.Contains(warnings, key) {
		t.Errorf("a secret is in %q", warnings)
	}
}
