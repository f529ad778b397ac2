package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// The demo agent works where no agent is installed.
func TestDemo(t *testing.T) {
	tests := []struct {
		name    string
		args    []string
		written bool
		answer  string
	}{
		{"reject is the default", nil, false, "You did not allow it"},
		{"reject", []string{"--permission", "reject"}, false, "You did not allow it"},
		{"allow", []string{"--permission", "allow"}, true, "You allowed it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newProgram(t)
			got := p.run(append([]string{"run", "--agent", "demo", "Hello there"}, tt.args...)...)
			if got.status != statusOK {
				t.Errorf("status %d", got.status)
			}
			if !strings.HasPrefix(got.stdout, tt.answer) || strings.Count(got.stdout, "\n") != 1 || !strings.HasSuffix(got.stdout, "\n") {
				t.Errorf("stdout %q, want the final answer, a line that begins with %q", got.stdout, tt.answer)
			}
			has(t, "stderr", got.stderr, "tool: Write errand-demo.txt\n", "permission: Write errand-demo.txt: ")
			if exists(p.Dir, "errand-demo.txt") != tt.written {
				t.Errorf("the file is there: %v, want %v", !tt.written, tt.written)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	p := newProgram(t)
	got := p.run(append([]string{"run", "--json", "hi"}, scripted(t, `
on initialize
  answer {"agentInfo": {"name": "test-agent", "version": "7"}}
on session/prompt
  text "first" message=a
  tool call-1 "Look"
  tool-update call-1 status=completed
  text "second\u009b" message=b
  stop end_turn
`)...)...)
	if strings.Count(got.stdout, "\n") != 1 {
		t.Errorf("stdout is not one line:\n%s", got.stdout)
	}
	if strings.ContainsRune(got.stdout, '\u009b') {
		t.Errorf("stdout has a control character:\n%q", got.stdout)
	}
	res := got.result(t)
	if got.status != statusOK || res.Stop != stopreason.Completed || res.Output != "second\u009b" || len(res.Messages) != 2 {
		t.Errorf("status %d, result %+v", got.status, res)
	}
	if *res.Agent.Name != "test-agent" || res.Exit == nil || res.Exit.Code == nil || *res.Exit.Code != 0 {
		t.Errorf("agent %+v, exit %v", res.Agent, res.Exit)
	}
	has(t, "stderr", got.stderr, "tool: Look\n", "tool: Look: completed\n")
}

func TestEvents(t *testing.T) {
	p := newProgram(t)
	got := p.run(append([]string{"run", "--events", "--permission", "allow", "hi"}, scripted(t, `
on session/prompt
  text "a"
  permission call-1 "Do it" kind=edit
    option yes allow_once "Yes"
    option sure allow_once "Yes, and more"
    option no reject_once "No"
  end
  update {"sessionUpdate": "brand_new", "content": {"type": "text", "text": "x"}}
  stop end_turn
`)...)...)
	events := got.events(t)
	var types []string
	for _, e := range events {
		types = append(types, string(e.Type))
		if e.RunID == "" || e.RunID != events[0].RunID || e.Time.IsZero() {
			t.Errorf("event %+v", e)
		}
	}
	counts := map[string]int{}
	for _, ty := range types {
		counts[ty]++
	}
	if want := map[string]int{"start": 1, "update": 2, "permission": 1, "warning": 1, "end": 1}; !cmp.Equal(want, counts) {
		t.Errorf("events %v, want %v", types, want)
	}
	if types[0] != "start" || types[len(types)-1] != "end" {
		t.Errorf("events %v: the first is not start or the last not end", types)
	}
	// An update is as it came, and the result is the final one.
	var update map[string]any
	if i := slices.IndexFunc(events, func(e subagent.Event) bool { return strings.Contains(string(e.Update), "brand_new") }); i < 0 {
		t.Error("the update of an unknown kind is not there")
	} else if err := json.Unmarshal(events[i].Update, &update); err != nil || update["sessionUpdate"] != "brand_new" {
		t.Errorf("update %s", events[i].Update)
	}
	res := events[len(events)-1].Result
	if res == nil || res.Exit == nil || res.Stop != stopreason.Completed {
		t.Fatalf("end with %+v", res)
	}
	if len(res.Permissions) != 1 || res.Permissions[0].Decision != permission.Denied {
		t.Errorf("permissions %+v, want the ambiguous one denied", res.Permissions)
	}
}

// Where the run does not start the result says so all the same.
func TestEventsOfARunThatDoesNotStart(t *testing.T) {
	got := newProgram(t).run("run", "--events", "hi", "--", "/nonexistent/agent")
	events := got.events(t)
	if len(events) != 1 || events[0].Type != subagent.EventEnd || events[0].Result.Error.Kind != client.KindSpawn {
		t.Errorf("events:\n%s", got.stdout)
	}
	if got.status != statusFailed {
		t.Errorf("status %d", got.status)
	}
}

func TestQuiet(t *testing.T) {
	got := newProgram(t).run("run", "--quiet", "--agent", "demo", "hi")
	if got.stderr != "" || !strings.HasPrefix(got.stdout, "You did not allow it") || got.status != statusOK {
		t.Errorf("status %d\nstdout %q\nstderr %q", got.status, got.stdout, got.stderr)
	}
	failed := newProgram(t).run(append([]string{"run", "--quiet", "hi"}, scripted(t, "on session/prompt\n  text \"so far\"\n  exit 3\n")...)...)
	if failed.stdout != "so far\n" || failed.status != statusFailed {
		t.Errorf("status %d, stdout %q", failed.status, failed.stdout)
	}
	has(t, "stderr", failed.stderr, "session/prompt", "exit status 3")
}

func TestPrompt(t *testing.T) {
	const echo = "on session/prompt\n  text \"<$prompt>\"\n  stop end_turn\n"
	tests := []struct {
		name, stdin string
		args        []string
		want        string
	}{
		{"argument", "not read", []string{"an argument"}, "<an argument>\n"},
		{"stdin", "from\nstdin\n", nil, "<from\nstdin\n>\n"},
		{"a dash", "from stdin", []string{"-"}, "<from stdin>\n"},
		{"a dash within", "not read", []string{"a - b"}, "<a - b>\n"},
		{"other scripts", "", []string{"日本 🙂"}, "<日本 🙂>\n"},
		{"large", strings.Repeat("x", 200<<10), nil, "<" + strings.Repeat("x", 200<<10) + ">\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newProgram(t)
			p.Stdin = strings.NewReader(tt.stdin)
			got := p.run(append(append([]string{"run"}, tt.args...), scripted(t, echo)...)...)
			if got.stdout != tt.want || got.status != statusOK {
				t.Errorf("status %d, stdout %.80q, want %.80q\nstderr %s", got.status, got.stdout, tt.want, got.stderr)
			}
		})
	}
}

// A9, A48: the agent works where it was told to, and that is never changed by where
// errand itself is.
func TestDir(t *testing.T) {
	const where = "on session/prompt\n  text \"$cwd $pwd $env.PWD\"\n  stop end_turn\n"
	p := newProgram(t)
	p.Dir = canonical(t, p.Dir)
	other := canonical(t, t.TempDir())
	if err := os.Mkdir(filepath.Join(p.Dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, filepath.Join(p.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	for arg, want := range map[string]string{
		".": p.Dir, "sub": filepath.Join(p.Dir, "sub"), other: other, "link": other, "sub/..": p.Dir,
	} {
		got := p.run(append([]string{"run", "--dir", arg, "hi"}, scripted(t, where)...)...)
		if got.stdout != want+" "+want+" "+want+"\n" {
			t.Errorf("--dir %s: %q, want %q three times\n%s", arg, got.stdout, want, got.stderr)
		}
	}
	if got := p.run(append([]string{"run", "hi"}, scripted(t, where)...)...); !strings.HasPrefix(got.stdout, p.Dir+" ") {
		t.Errorf("without --dir: %q, want %q", got.stdout, p.Dir)
	}
}

func canonical(t *testing.T, dir string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// E2: an agent that needs a variable works once it is let through, and until then
// the error says what was held back. No value is ever shown.
func TestE2HeldBackIsNamed(t *testing.T) {
	const needy = `
if $env.X_API_KEY is ""
  stderr "no key\n"
  exit 7
end
on session/prompt
  text "ok"
  stop end_turn
`
	p := newProgram(t)
	p.Env = []string{"X_API_KEY=sekret-value-4242"}
	agent := scripted(t, needy)
	got := p.run(append([]string{"run", "--json", "hi"}, agent...)...)
	res := got.result(t)
	if got.status != statusFailed || res.Error == nil || res.Error.Kind != client.KindExit || res.Exit == nil || *res.Exit.Code != 7 {
		t.Errorf("status %d, error %+v, exit %v", got.status, res.Error, res.Exit)
	}
	has(t, "stderr", got.stderr, "exit status 7", "X_API_KEY", "no key")
	if strings.Contains(got.stdout+got.stderr, "sekret-value") {
		t.Error("the value is shown")
	}
	if got := p.run(append([]string{"run", "--env", "X_API_KEY", "hi"}, agent...)...); got.stdout != "ok\n" || got.status != statusOK {
		t.Errorf("let through: status %d, stdout %q, stderr %q", got.status, got.stdout, got.stderr)
	}
}

// E6: a secret that the agent writes where we show it is replaced.
func TestE6SecretsAreReplaced(t *testing.T) {
	p := newProgram(t)
	got := p.run(append([]string{"run", "--json", "--env", "MY_TOKEN=canary-4242-canary", "hi"}, scripted(t, `
stderr "it is $env.MY_TOKEN\nand again $env.MY_TOKEN\n"
noise "$env.MY_TOKEN"
on session/prompt
  tool call-1 "Use $env.MY_TOKEN"
  permission call-1 "Use $env.MY_TOKEN"
    option no reject_once "No"
  end
  fail -32603 "bad $env.MY_TOKEN" {"key": "$env.MY_TOKEN"}
`)...)...)
	if got.status != statusFailed {
		t.Errorf("status %d", got.status)
	}
	if strings.Contains(got.stdout+got.stderr, "canary-4242") {
		t.Errorf("the secret is shown:\n%s\n%s", got.stdout, got.stderr)
	}
	res := got.result(t)
	if res.Noise.Lines != 1 || len(res.ToolCalls) != 1 || len(res.Permissions) != 1 || res.StderrTail == "" {
		t.Errorf("the agent's words are not there to be looked at: %s", got.stdout)
	}
}

// The clocks that must not run out before the agent has said something are long, and
// the runs go on beside each other.
func TestExitStatusOfRuns(t *testing.T) {
	tests := []struct {
		name, script string
		args         []string
		want         int
		kind         client.ErrorKind
		stderr       string
	}{
		{"completed", "on session/prompt\n  text x\n  stop end_turn\n", nil, statusOK, "", ""},
		{"S1 refusal", "on session/prompt\n  text x\n  stop refusal\n", nil, statusRefusal, "", "refused"},
		{"S1 max_tokens", "on session/prompt\n  text x\n  stop max_tokens\n", nil, statusMaxTokens, "", "token limit"},
		{"S1 max_turn_requests", "on session/prompt\n  text x\n  stop max_turn_requests\n", nil, statusFailed, client.KindRemoteLimit, "limit"},
		{"S1 cancelled unasked", "on session/prompt\n  text x\n  stop cancelled\n", nil, statusFailed, "", "cancelled"},
		{"S2 unknown stop reason", "on session/prompt\n  text x\n  stop done\n", nil, statusFailed, client.KindProtocol, `"done"`},
		{"S4 an error as answer", "on session/prompt\n  fail -32603 \"no model\" {\"details\": \"quota\"}\n", nil, statusFailed, client.KindAgent, "quota"},
		{"T6 crash", "on session/prompt\n  text x\n  exit 3\n", nil, statusFailed, client.KindExit, "exit status 3"},
		{"L13 killed", "on session/prompt\n  text x\n  raise KILL\n", nil, statusFailed, client.KindExit, "SIGKILL"},
		{"L9 usage text", "stderr \"usage: agent [--acp]\\n\"\nexit 2\n", nil, statusFailed, client.KindExit, "usage: agent [--acp]"},
		{"L10 echo", "echo\n", []string{"--eof-grace", "100ms", "--term-grace", "100ms"}, statusFailed, client.KindProtocol, ""},
		{"S8 version", "on initialize\n  answer {\"protocolVersion\": 2}\n", nil, statusFailed, client.KindVersion, "2"},
		{"S7 authentication", "on session/new\n  fail -32000 \"Authentication required\" {\"authMethods\": [{\"id\": \"login\", \"name\": \"Log in\"}]}\n", nil, statusFailed, client.KindAuthRequired, "login"},
		{"L8 silent start", "on initialize\n  never reply\n", []string{"--start-timeout", "300ms"}, statusTimeout, client.KindStartupTimeout, "initialize"},
		{"L11 idle", "on session/prompt\n  text x\n  never reply\n", []string{"--idle-timeout", "4s", "--cancel-grace", "100ms"}, statusTimeout, client.KindIdleTimeout, ""},
		{"L11 wall clock", "on session/prompt\n  text x\n  wait cancel\n  stop cancelled\n", []string{"--timeout", "5s"}, statusTimeout, client.KindTimeout, "the --timeout of 5s passed"},
		{"wall clock at the start", "on initialize\n  never reply\n", []string{"--timeout", "300ms"}, statusTimeout, client.KindTimeout, "within the --timeout of 300ms"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := newProgram(t).run(append(append([]string{"run", "--json", "hi"}, tt.args...), scripted(t, tt.script)...)...)
			if got.status != tt.want {
				t.Errorf("status %d, want %d", got.status, tt.want)
			}
			res := got.result(t)
			var kind client.ErrorKind
			if res.Error != nil {
				kind = res.Error.Kind
			}
			if kind != tt.kind {
				t.Errorf("error %+v, want kind %q", res.Error, tt.kind)
			}
			has(t, "stderr", got.stderr, tt.stderr)
			if strings.Contains(tt.script, "text x") && res.Output != "x" {
				t.Errorf("output %q, want the text so far", res.Output)
			}
		})
	}
}

// E4, E3: a command that cannot be started is an error at once that names it.
func TestE4CommandThatCannotStart(t *testing.T) {
	p := newProgram(t)
	plain := filepath.Join(p.Dir, "plain")
	broken := filepath.Join(p.Dir, "broken")
	for file, mode := range map[string]os.FileMode{plain: 0o644, broken: 0o755} {
		if err := os.WriteFile(file, []byte("#!/nonexistent/interpreter\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for command, want := range map[string]string{
		"no-such-agent": "no-such-agent", "./no-such-agent": "no-such-agent", p.Dir: p.Dir, plain: plain, broken: "/nonexistent/interpreter",
	} {
		got := p.run("run", "--json", "hi", "--", command)
		res := got.result(t)
		if got.status != statusFailed || res.Error == nil || res.Error.Kind != client.KindSpawn {
			t.Errorf("%s: status %d, error %+v", command, got.status, res.Error)
		}
		has(t, "stderr for "+command, got.stderr, want)
	}
	p.Env = []string{"PATH=" + p.Dir}
	got := p.run("run", "hi", "--agent", "opencode")
	has(t, "stderr", got.stderr, "opencode", "npm install -g opencode-ai")
}

// What says that the printed answer lacks something is told with --quiet too, whatever
// has cost it.
func TestQuietTellsOfALostAnswer(t *testing.T) {
	for _, tt := range []struct{ name, script, want string }{
		{"an update over the limit", `text "x" size=70MB`, "warning: 1 update of the agent was larger than the limit of 64 MiB and is missing; the output may not be complete\n"},
		{"more text than is kept", "repeat 18\ntext size=1MB\nend", "warning: the agent sent more text than is kept; the messages are not complete\n"},
		{"text after the end", "stop end_turn\non eof\ntext late", "warning: the agent sent text after it had ended the turn; it is not in the output\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := newProgram(t).run(append([]string{"run", "--quiet", "hi"}, scripted(t, "on session/prompt\n"+tt.script)...)...)
			if got.status != statusOK || got.stderr != tt.want {
				t.Errorf("status %d, stderr %q, want %q", got.status, got.stderr, tt.want)
			}
		})
	}
	// Other warnings are silenced.
	got := newProgram(t).run(append([]string{"run", "--quiet", "hi"}, scripted(t, "on session/prompt\ntext x\nstop cancelled")...)...)
	if strings.Contains(got.stderr, "warning:") {
		t.Errorf("stderr %q", got.stderr)
	}
}

// A turn that ends without a word says that it was none of ours that was lost.
func TestNoText(t *testing.T) {
	const silent = "on session/prompt\n  thought hm\n  text \" \"\n  stop end_turn\n"
	const told = "errand: errand.test completed without any text\n"
	for flag, want := range map[string]string{"": told, "--quiet": "", "--json": "", "--events": ""} {
		args := []string{"run", "hi"}
		if flag != "" {
			args = append(args, flag)
		}
		got := newProgram(t).run(append(args, scripted(t, silent)...)...)
		if got.status != statusOK || got.stderr != want {
			t.Errorf("%s: status %d, stderr %q, want %q", flag, got.status, got.stderr, want)
		}
	}
	for _, script := range []string{"on session/prompt\n  stop refusal\n", "on session/prompt\n  text x\n  stop end_turn\n"} {
		if got := newProgram(t).run(append([]string{"run", "hi"}, scripted(t, script)...)...); strings.Contains(got.stderr, "without any text") {
			t.Errorf("%s: stderr %q", script, got.stderr)
		}
	}
}

// What was given is in the result of a run that was not tried, as far as it is known.
func TestConfigErrorsHaveWhatWasGiven(t *testing.T) {
	p := newProgram(t)
	p.Dir = canonical(t, p.Dir)
	p.Env = []string{"MY_TOKEN=canary-4242-canary"}
	if err := os.WriteFile(filepath.Join(p.Dir, "e"), []byte("OTHER_TOKEN=other-4242-other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		args    []string
		dir     string
		command []string
	}{
		{"a bad duration", []string{"--timeout", "x", "hi", "--", "./agent", "--acp"}, p.Dir, []string{"./agent", "--acp"}},
		{"a secret that is held back", []string{"--timeout", "x", "hi", "--", "./agent", "--key=canary-4242-canary"}, p.Dir, []string{"./agent", "--key=[redacted]"}},
		{"a secret that is set", []string{"--timeout", "x", "--env", "A_TOKEN=third-4242-third", "hi", "--", "./agent", "third-4242-third"}, p.Dir, []string{"./agent", "[redacted]"}},
		{"a secret in a file", []string{"--timeout", "x", "--env-file", "e", "hi", "--", "./agent", "other-4242-other"}, p.Dir, []string{}},
		{"no prompt, and a secret in a file", []string{"--env-file", "e", " ", "--", "./agent", "other-4242-other"}, p.Dir, []string{"./agent", "[redacted]"}},
		{"a preset", []string{"--timeout", "x", "hi", "--agent", "gemini"}, p.Dir, []string{"gemini", "--acp"}},
		{"no agent", []string{"hi"}, p.Dir, []string{}},
		{"no directory", []string{"--dir", "missing", "hi", "--", "./agent"}, "", []string{"./agent"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := p.run(append([]string{"run", "--json"}, tt.args...)...)
			res := got.result(t)
			if got.status != statusUsage || res.Dir != tt.dir {
				t.Errorf("status %d, dir %q, want %q", got.status, res.Dir, tt.dir)
			}
			if diff := cmp.Diff(tt.command, res.Agent.Command); diff != "" {
				t.Errorf("the command (-want +got):\n%s", diff)
			}
			if strings.Contains(got.stdout+got.stderr, "4242") {
				t.Errorf("a secret is shown:\n%s\n%s", got.stdout, got.stderr)
			}
		})
	}
}
