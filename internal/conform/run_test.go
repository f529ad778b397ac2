package conform

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/envscrub"
	"github.com/errand-acp/errand/internal/script"
)

// An agent that does nothing passes nothing, and is soon done with.
func TestMute(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"exits":      "exit 3",
		"is silent":  "stdin stop\nwait forever",
		"only talks": "noise hello\nstdin stop\nwait forever",
		"echoes":     "echo",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := tryScript(t, src, &Options{Timeout: time.Second, ExitTimeout: time.Second})
			failed := 0
			for _, f := range report.Findings {
				if f.Verdict == Pass {
					t.Error(explain(f))
				}
				if f.Why == "" {
					t.Errorf("%s: nothing says why", f.Rule.ID)
				}
				if f.Verdict == Fail {
					failed++
				}
			}
			if failed == 0 || !report.Failed(Must) {
				t.Error("nothing of it is a failure")
			}
		})
	}
}

// An agent that gives no session is asked for one once, and not in every scene; the table
// says what it said.
func TestNoSession(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		src, want string
		failed    bool
		timeout   time.Duration // only who does not answer costs it
	}{
		"a login":   {"on session/new; fail -32000 \"Log in first\"", "it needs a login", false, time.Minute},
		"no answer": {"on session/new; wait forever", "did not answer session/new", true, 8 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := tryScript(t, tt.src, &Options{Timeout: tt.timeout, ExitTimeout: time.Second, Skip: []string{"auth-*"}})
			stopped, waited := 0, 0
			for _, s := range report.Scenes {
				if strings.Contains(s.Stopped, tt.want) {
					stopped++
				}
				if s.Ms >= tt.timeout.Milliseconds() {
					waited++
				}
			}
			if stopped < 8 || strings.Count(report.Table(), "not played to the end") != 1 {
				t.Errorf("%d scenes stopped for it:\n%s", stopped, report.Table())
			}
			if f := finding(t, report, "session-id"); (f.Verdict == Fail) != tt.failed {
				t.Error(explain(f))
			}
			if waited > 2 { // the first, and the one that is about logins
				t.Errorf("it was waited for in %d scenes", waited)
			}
		})
	}
}

// What cannot be tried at all is an error.
func TestRunRefuses(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	done, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	path, args := script.Command(t, "")
	for name, tt := range map[string]struct {
		ctx  context.Context
		cmd  Command
		want string
	}{
		"no command":      {t.Context(), Command{}, "no command"},
		"no such program": {t.Context(), Command{Path: "errand-no-such-agent"}, "errand-no-such-agent"},
		"no program":      {t.Context(), Command{Path: plain}, plain},
		"no directory":    {t.Context(), Command{Path: path, Args: args, Dir: plain}, plain},
		"no environment":  {t.Context(), Command{Path: path, Args: args, Env: []string{"A\x00=b"}}, "environment"},
		"no mode":         {t.Context(), Command{Path: path, Args: args, Inherit: envscrub.Policy{Mode: envscrub.Mode(9)}}, "inherited"},
		"done":            {done, Command{Path: path, Args: args}, "enough"},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := Run(tt.ctx, tt.cmd, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) || report != nil {
				t.Errorf("want an error that has %q, got %v and %v", tt.want, err, report)
			}
			if _, usage := errors.AsType[*UsageError](err); usage != (name != "done") {
				t.Errorf("it is %T", err)
			}
		})
	}
}

// No scratch directory is nobody's mistake.
func TestNoScratch(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "nowhere"))
	path, args := script.Command(t, "")
	_, err := Run(t.Context(), Command{Path: path, Args: args}, nil)
	if _, ok := errors.AsType[*ScratchError](err); !ok || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %T: %v", err, err)
	}
}

// A run that is cancelled is over soon, whatever the agent does; TestMain sees to it that
// nothing of it is left.
func TestRunCancelled(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	path, args := script.Command(t, "on eof; wait forever\non session/new; wait forever\n ignore TERM\non start; ignore TERM")
	o := &Options{Progress: func(scene string) {
		if scene != "handshake" {
			cancel()
		}
	}, Timeout: 2 * time.Second, ExitTimeout: time.Second}
	begun := time.Now()
	report, err := Run(ctx, Command{Path: path, Args: args}, o)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	// What was tried by then is told, and that it is not all.
	verdicts := map[string]Verdict{}
	for _, f := range report.Findings {
		verdicts[f.Rule.ID] = f.Verdict
	}
	if verdicts["initialize-version"] != Pass || verdicts["exit-on-sigterm-in-turn"] != NotApplicable || !strings.Contains(report.Incomplete, "it was interrupted") {
		t.Errorf("incomplete: %q; %v", report.Incomplete, verdicts)
	}
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	if left, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*")); len(left) > 0 {
		t.Errorf("left in the temporary directory: %v", left)
	}
}

// Whatever an agent writes, the report can be written and read.
func TestHostileAgents(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"controls": `on initialize
  noise "\x1b[2J]]><failure/>\u202e"
  raw "\xff\xfe\x00\n"
  stderr "\x1b]0;x\a\xff"
  answer {"agentInfo": {"name": "\u001b[31m]]>\u202e", "version": "\u0000"}}`,
		"deep":      "on initialize; raw '{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":" + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}'; raw \"\\n\"",
		"deep caps": "on initialize; reply {\"protocolVersion\": 1, \"agentCapabilities\": {\"x\": " + strings.Repeat("[", 3000) + strings.Repeat("]", 3000) + "}}",
		"odd types": `on initialize; reply {"protocolVersion": "1", "agentCapabilities": [], "agentInfo": 7, "authMethods": {"a": null}}
on session/new; reply {"sessionId": 7, "modes": [], "configOptions": "x"}`,
		"an error of no form": `on initialize; send {"jsonrpc": "2.0", "id": $id, "error": "no"}`,
		"a flood of noise":    `on initialize; repeat 2000; noise size=1000; end`,
		"a long line":         `on initialize; noise size=2MiB`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := tryScript(t, src, &Options{Timeout: 2 * time.Second, ExitTimeout: time.Second, Only: []string{"initialize-*", "stdout-*", "jsonrpc-*", "auth-*", "modes-*", "session-id*"}})
			b, err := json.Marshal(report)
			if err != nil || !json.Valid(b) {
				t.Fatalf("the JSON: %v", err)
			}
			if len(b) > 1<<20 {
				t.Errorf("the JSON has %d bytes", len(b))
			}
			var x strings.Builder
			if err := report.WriteJUnit(&x, Must); err != nil {
				t.Fatal(err)
			}
			for d := xml.NewDecoder(strings.NewReader(x.String())); ; {
				if _, err := d.Token(); err == io.EOF {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if table := report.Table(); strings.ContainsAny(table, "\x00\x1b\u202e") {
				t.Errorf("the table has control characters: %q", table)
			}
		})
	}
}

// An agent gets no secret of ours, and what it says of one that it was given is not shown.
func TestSecrets(t *testing.T) {
	t.Setenv("ERRAND_TEST_API_KEY", "sesame-sesame-sesame")
	path, args := script.Command(t, `on initialize
  stderr "$env.GIVEN_TOKEN"
  noise "inherited=$env.ERRAND_TEST_API_KEY; given=$env.GIVEN_TOKEN"
  answer {"agentInfo": {"name": $env.GIVEN_TOKEN, "version": "1"}}`)
	report, err := Run(t.Context(), Command{Path: path, Args: args, Env: []string{"GIVEN_TOKEN=hush-hush-hush-hush"}},
		&Options{Only: []string{"initialize-*", "stdout-*"}, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(report)
	for _, secret := range []string{"sesame-sesame", "hush-hush"} {
		if strings.Contains(string(b), secret) || strings.Contains(report.Table(), secret) {
			t.Errorf("the report has %q", secret)
		}
	}
	if !strings.Contains(string(b), "[redacted]") || !strings.Contains(string(b), "ERRAND_TEST_API_KEY") {
		t.Errorf("nothing was redacted, or not withheld: %s", b)
	}
}

// Nor where it is written in JSON's other ways.
func TestSecretsEscaped(t *testing.T) {
	t.Parallel()
	secret := `se"same-se\same-sesame`
	escaped := ""
	for _, c := range secret {
		escaped += fmt.Sprintf(`\u%04x`, c)
	}
	report := tryScript(t, `on initialize; raw '{"jsonrpc":"2.0","method":"x","params":{"k":"`+escaped+`"}}'; raw "\n"
noise '`+escaped+`'`, &Options{Only: []string{"client-method-known", "stdout-messages"}}, "GIVEN_TOKEN="+secret)
	for _, f := range report.Findings {
		for _, e := range f.Entries {
			if strings.Contains(string(e.Frame)+e.Text, `\u0073\u0065`) {
				t.Errorf("an escaped secret stands there: %s", e.Frame)
			}
		}
	}
	if f := finding(t, report, "client-method-known"); f.Verdict == Pass || !strings.Contains(string(f.Entries[0].Frame), "[redacted]") || !json.Valid(f.Entries[0].Frame) {
		t.Error(explain(f))
	}
}

// Nothing is kept without an entry that shows it.
func TestEvidence(t *testing.T) {
	if o := kept("it was"); o.verdict != NotApplicable {
		t.Errorf("without an entry it is %s", o.verdict)
	}
	if o := kept("it was", transcript.Entry{Text: "x"}); o.verdict != Pass {
		t.Errorf("with an entry it is %s", o.verdict)
	}
}

// The agent is started where it is told to be, and its sessions are elsewhere.
func TestDirectories(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	path, args := script.Command(t, `on initialize; answer {"agentInfo": {"name": "$pwd", "version": "$env.HOME"}}`)
	for _, fresh := range []bool{false, true} {
		report, err := Run(t.Context(), Command{Path: path, Args: args, Dir: dir}, &Options{Only: []string{"initialize-agent-info"}, FreshHome: fresh})
		if err != nil {
			t.Fatal(err)
		}
		if report.Agent.Name != dir {
			t.Errorf("it was started in %s, want %s", report.Agent.Name, dir)
		}
		if inOurs := report.Agent.Version == home; inOurs == fresh {
			t.Errorf("fresh %v: its home was %s, ours is %s", fresh, report.Agent.Version, home)
		}
		if _, err := os.Stat(report.Agent.Version); fresh && err == nil {
			t.Errorf("%s is still there", report.Agent.Version)
		}
	}
}

// What leaves the agent's group is found, and ended.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("processes can be looked at on Linux only")
	}
	marker := filepath.Join(t.TempDir(), "pid")
	report := tryScript(t, `on session/new
  spawn session
    ignore TERM
    write `+marker+` $pid
    wait forever
  end
  wait file `+marker, &Options{Only: []string{"nothing-left", "exit-on-eof"}, Skip: []string{"*-in-turn"}, Timeout: time.Minute, ExitTimeout: 15 * time.Second})
	f := finding(t, report, "nothing-left")
	if f.Verdict != Warn || !strings.Contains(f.Why, "pid") {
		t.Error(explain(f))
	}
	if f := finding(t, report, "exit-on-eof"); f.Verdict != Pass {
		t.Error(explain(f))
	}
	pid, err := os.ReadFile(marker)
	if err != nil {
		t.Fatal(err)
	}
	if line, _ := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/cmdline"); len(line) > 0 { // a zombie has none
		t.Errorf("process %s is still there", pid)
	}
}

// A line that is longer than can be kept is cut, and says how long it was.
func TestReadLines(t *testing.T) {
	type line struct {
		Text  string
		Whole int
	}
	var got []line
	readLines(strings.NewReader("one\r\ntwo two two\n\nlast"), 5, func(text []byte, whole int) bool {
		got = append(got, line{string(text), whole})
		return true
	})
	want := []line{{"one", 4}, {"two t", 11}, {"", 0}, {"last", 4}}
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("line %d: got %v, want %v", i, got[i], want[i])
		}
	}
}

// The frames of a report are cut where they are long, and there are not many.
func TestShown(t *testing.T) {
	long := transcript.Entry{From: transcript.FromAgent, Frame: json.RawMessage(`{"x":"` + strings.Repeat("é", shownFrame) + `"}`)}
	many := make([]transcript.Entry, 100)
	many[99].Text = "the last"
	if got := shown([]transcript.Entry{long})[0]; got.Frame != nil || len(got.Text) > shownFrame+4 || got.Bytes != int64(len(long.Frame)) {
		t.Errorf("a long frame is shown as %d bytes of %d", len(got.Text), got.Bytes)
	}
	if got := shown(many); len(got) != shownEntries || got[len(got)-1].Text != "the last" {
		t.Errorf("%d of 100 entries are shown, %q the last of them", len(got), got[len(got)-1].Text)
	}
}
