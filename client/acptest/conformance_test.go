package acptest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/internal/conform"
)

// A finding is told by its verdict, and by what is known of the agent.
func TestConformanceTells(t *testing.T) {
	finding := func(level conform.Level, v conform.Verdict) conform.Finding {
		return conform.Finding{
			Rule:    conform.Rule{ID: "a-rule", Level: level, Quote: "the agent MUST", Source: "https://a.test/#rule"},
			Verdict: v, Why: "it did \x1b[31mnot",
			Entries: []transcript.Entry{{From: transcript.FromAgent, Frame: []byte(`{"jsonrpc":"2.0","method":"a/frame"}`)}},
		}
	}
	known := map[string]string{"a-rule": "issue 12"}
	for _, tt := range []struct {
		name string
		o    ConformanceOptions
		f    conform.Finding
		want told
		text []string // what it says
	}{
		{"kept", ConformanceOptions{}, finding(conform.Must, conform.Pass), toldNothing, nil},
		{"a MUST broken", ConformanceOptions{}, finding(conform.Must, conform.Fail), toldError, []string{"the agent MUST", "https://a.test/#rule", `it did \u{1b}[31mnot`, "a/frame"}},
		{"a SHOULD broken", ConformanceOptions{}, finding(conform.Should, conform.Warn), toldLog, []string{"a/frame"}},
		{"a SHOULD broken that must not be", ConformanceOptions{WarningsFail: true}, finding(conform.Should, conform.Warn), toldError, []string{"a/frame"}},
		{"not applicable", ConformanceOptions{WarningsFail: true}, finding(conform.Must, conform.NotApplicable), toldSkip, []string{"it did"}},
		{"a known fault", ConformanceOptions{Known: known, WarningsFail: true}, finding(conform.Must, conform.Fail), toldSkip, []string{"issue 12", "a/frame"}},
		{"a known fault that is gone", ConformanceOptions{Known: known}, finding(conform.Must, conform.Pass), toldError, []string{"issue 12", "take it out"}},
		{"a known fault that was not tried", ConformanceOptions{Known: known}, finding(conform.Must, conform.NotApplicable), toldSkip, []string{"not applicable"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, text := tt.o.tell(tt.f)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if strings.HasSuffix(text, "\n") || strings.Contains(text, "\n\n") {
				t.Errorf("it has an empty line: %q", text)
			}
			if strings.Contains(text, "n/a") {
				t.Errorf("it says twice that it is not applicable: %s", text)
			}
			for _, want := range tt.text {
				if !strings.Contains(text, want) {
					t.Errorf("it does not say %q: %s", want, text)
				}
			}
		})
	}
}

// What Conformance cannot do is said before anything is started.
func TestConformanceRefuses(t *testing.T) {
	good := client.Command{Path: "/nonexistent/agent"}
	for name, tt := range map[string]struct {
		cmd  client.Command
		o    ConformanceOptions
		want string
	}{
		"paths":          {client.Command{Path: "x", Paths: []client.PathPair{{}}}, ConformanceOptions{}, "Paths"},
		"known":          {good, ConformanceOptions{Known: map[string]string{"no-such-rule": ""}}, `no rule "no-such-rule"`},
		"only":           {good, ConformanceOptions{Only: []string{"no-such-rule"}}, `no rule "no-such-rule"`},
		"nothing left":   {good, ConformanceOptions{Skip: []string{"*"}}, "no rule is left"},
		"a prompt":       {good, ConformanceOptions{Prompts: map[string]string{"nothing": "x"}}, `no kind of prompt "nothing"`},
		"a wait":         {good, ConformanceOptions{Timeout: -time.Second}, "Timeout"},
		"no such file":   {good, ConformanceOptions{}, "/nonexistent/agent"},
		"a variable":     {client.Command{Path: "x", Env: []string{"=x"}}, ConformanceOptions{}, "environment"},
		"no command":     {client.Command{}, ConformanceOptions{}, "no command"},
		"a directory":    {client.Command{Path: "/bin/true", Dir: "/nonexistent"}, ConformanceOptions{}, "/nonexistent"},
		"too many":       {good, ConformanceOptions{Parallel: 1000}, "Parallel"},
		"a bad pattern":  {good, ConformanceOptions{Only: []string{"["}}, "pattern"},
		"an empty kind":  {good, ConformanceOptions{Prompts: map[string]string{"text": " "}}, "empty"},
		"a bad deadline": {good, ConformanceOptions{ExitTimeout: 48 * time.Hour}, "ExitTimeout"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tt.o.try(t.Context(), tt.cmd)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("want an error that has %q, got: %v", tt.want, err)
			}
		})
	}
}

// TestConformanceOfNothing tries agents that let nobody in, for TestConformanceIsIncomplete.
func TestConformanceOfNothing(t *testing.T) {
	src := os.Getenv("ACPTEST_NOTHING")
	if src == "" {
		t.Skip("it is run by TestConformanceIsIncomplete")
	}
	Conformance(t, Script(t, src), &ConformanceOptions{
		Only: []string{"exit-on-eof", "prompt-*"}, Timeout: 10 * time.Second, ExitTimeout: 3 * time.Second,
	})
}

// Where nothing could be tried the test does not pass, and says why.
func TestConformanceIsIncomplete(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		src  string
		want []string
	}{
		"it does not start": {`stderr "there is no key\n"; exit 3`, []string{"could be tried", "stderr |  there is no key", "exit status 3", "MY_API_KEY"}},
		"it wants a login":  {`on session/new; fail -32000 "Log in first"`, []string{"could not be tried", "Log in first"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := Apart(t, "TestConformanceOfNothing", "ACPTEST_NOTHING="+tt.src, "MY_API_KEY=secret-of-the-test")
			for _, want := range append(tt.want, "conformance_test.go:", "acptest: Conformance: ", "--- FAIL: TestConformanceOfNothing ") {
				if err == nil || !strings.Contains(out, want) {
					t.Errorf("%v; no %q in\n%s", err, want, out)
				}
			}
		})
	}
}

// TestConformanceInNoTime tries an agent until it has asked for that, for
// TestConformanceAtTheDeadline.
func TestConformanceInNoTime(t *testing.T) {
	file := os.Getenv("ACPTEST_NO_TIME")
	if file == "" {
		t.Skip("it is run by TestConformanceAtTheDeadline")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { // ends with ctx
		for ctx.Err() == nil {
			if _, err := os.Stat(file); err == nil {
				cancel(errDeadline)
			}
			time.Sleep(time.Millisecond)
		}
	})
	o := &ConformanceOptions{Only: []string{"initialize-*", "cwd-relative", "prompt-*"}, Parallel: 1, Timeout: time.Minute}
	o.conform(ctx, t, Script(t, "on session/prompt\n write \""+file+"\" \"\"\n wait forever"))
	cancel(nil)
	watching.Wait()
}

// At its deadline the test fails with what it has found by then.
func TestConformanceAtTheDeadline(t *testing.T) {
	t.Parallel()
	out, err := Apart(t, "TestConformanceInNoTime", "ACPTEST_NO_TIME="+filepath.Join(t.TempDir(), "asked"))
	for _, want := range []string{
		"acptest: Conformance: not all was tried: ", "go test -timeout 1h", "rules could not be tried: it was interrupted",
		"--- PASS: TestConformanceInNoTime/initialize-version ", "--- SKIP: TestConformanceInNoTime/prompt-",
		"--- FAIL: TestConformanceInNoTime/cwd-relative ", "--- FAIL: TestConformanceInNoTime ",
	} {
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%v; no %q in\n%s", err, want, out)
		}
	}
}

// An honest agent passes as a test of its own.
func TestConformance(t *testing.T) {
	cmd := Script(t, "")
	cmd.Env = append(cmd.Env, "GORACE=atexit_sleep_ms=0")
	Conformance(t, cmd, &ConformanceOptions{
		Only: []string{"initialize-*", "session-id*", "exit-on-eof", "cwd-relative"}, Skip: []string{"*-in-turn"},
		Known: map[string]string{"cwd-relative": "an empty script asks for nothing"},
	})
}
