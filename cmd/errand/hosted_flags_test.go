package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
)

// asking is an agent that asks about an edit of a.go, says what it was answered, and goes
// on with more.
func asking(more string) string {
	return `
on session/prompt
  permission c1 "Edit a.go" kind=edit path="$cwd/a.go" input={"path": "$cwd/a.go"}
    option always allow_always "Always"
    option yes allow_once "Yes"
    option no reject_once "No"
    when allowed
      text "allowed"
    when rejected
      text "rejected"
    when cancelled
      text "cancelled"
  end
` + more + "\n  stop end_turn\n"
}

func writeFile(t *testing.T, text string, elem ...string) string {
	t.Helper()
	file := filepath.Join(elem...)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// Rules in a file decide; the record and the screen say which.
func TestPolicyFile(t *testing.T) {
	for name, tt := range map[string]struct {
		policy, output, rule string
		decision             permission.Outcome
	}{
		"allow":   {`{"rules": [{"name": "go files", "effect": "allow", "paths": ["./*.go"]}]}`, "allowed", "allow: go files", permission.Allowed},
		"deny":    {`{"default": "allow", "rules": [{"effect": "deny", "paths": ["./a.go"]}]}`, "rejected", "deny: rule 1", permission.Denied},
		"default": {`{"rules": []}`, "rejected", "deny: default", permission.Denied},
		"ask":     {`{"default": "ask", "rules": []}`, "rejected", "ask: default: nobody to ask", permission.Denied},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProgram(t)
			writeFile(t, tt.policy, p.Dir, "policy.json")
			got := p.run(append([]string{"run", "--json", "--policy", "policy.json", "hi"}, scripted(t, asking(""))...)...)
			res := got.result(t)
			if got.status != statusOK || res.Output != tt.output || len(res.Permissions) != 1 {
				t.Fatalf("status %d, output %q, permissions %+v\n%s", got.status, res.Output, res.Permissions, got.stderr)
			}
			if rec := res.Permissions[0]; rec.Decision != tt.decision || rec.Rule != tt.rule || rec.Facts == nil {
				t.Errorf("%s by %q, facts %v; want %s by %q", rec.Decision, rec.Rule, rec.Facts, tt.decision, tt.rule)
			}
			has(t, "stderr", got.stderr, fmt.Sprintf("permission: Edit a.go: %s (rule: %s)", tt.decision, tt.rule))
			if asks := strings.Contains(got.stderr, "--permission ask or --permission-command would"); asks != (name == "ask") {
				t.Errorf("that there is nobody to ask is told: %v\n%s", asks, got.stderr)
			}
			if strings.Contains(got.stderr, "--permission allow approves") {
				t.Errorf("a policy's word is explained away:\n%s", got.stderr)
			}
		})
	}
}

// C17: the user is warned of a rule that lets through more than it seems to, and so is
// whoever reads the result.
func parityPolicyWarns(t *testing.T) {
	p := newProgram(t)
	writeFile(t, `{"rules": [{"name": "py", "effect": "allow", "commands": [["python3", "**"]]}]}`, p.Dir, "policy.json")
	const want = "policy policy.json: rule 1 (py): allows everything through python3"
	for _, flag := range []string{"--json", "--quiet", "--events"} {
		got := p.run(append([]string{"run", flag, "--policy", "policy.json", "hi"}, scripted(t, asking(""))...)...)
		if flag == "--events" {
			warned := false
			for _, e := range got.events(t) {
				warned = warned || e.Warning == want
			}
			if !warned {
				t.Errorf("no event has the warning:\n%s", got.stdout)
			}
			continue
		}
		has(t, "stderr of "+flag, got.stderr, want)
		if flag == "--json" && !cmp.Equal([]string{want}, got.result(t).Warnings) {
			t.Errorf("warnings %q", got.result(t).Warnings)
		}
	}
}

// What is wrong with these flags is said before anything is started.
func TestBadFlags(t *testing.T) {
	p := newProgram(t)
	for name, text := range map[string]string{
		"field.json":  `{"rules": [{"name": "x", "effect": "allow", "pathes": ["./**"]}]}`,
		"effect.json": `{"rules": [{"effect": "allow", "paths": ["./**"]}, {"name": "x", "effect": "maybe", "paths": ["./**"]}]}`,
		"text.json":   `not JSON`,
		"empty.json":  ``,
		"large.json":  strings.Repeat(" ", maxPolicyFile+1),
		"good.json":   `{"rules": []}`,
	} {
		writeFile(t, text, p.Dir, name)
	}
	if err := os.Mkdir(filepath.Join(p.Dir, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(writeFile(t, "exit 0\n", p.Dir, "script"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"missing policy", []string{"--policy", "no.json"}, "--policy: stat no.json"},
		{"empty policy", []string{"--policy", ""}, "--policy is empty"},
		{"a directory", []string{"--policy", "dir"}, "--policy: dir is no regular file"},
		{"a device", []string{"--policy", os.DevNull}, os.DevNull + " is no regular file"},
		{"no JSON", []string{"--policy", "text.json"}, "--policy text.json: policy: "},
		{"an empty file", []string{"--policy", "empty.json"}, "--policy empty.json: policy: "},
		{"a large file", []string{"--policy", "large.json"}, "large.json is larger than 1 MiB"},
		{"an unknown field", []string{"--policy", "field.json"}, "--policy field.json: policy: rule 1 (x): pathes: there is no such field"},
		{"an unknown effect", []string{"--policy", "effect.json"}, `--policy effect.json: policy: rule 2 (x): effect: "maybe"`},
		{"policy and allow", []string{"--policy", "good.json", "--permission", "allow"}, "--policy and --permission allow exclude each other"},
		{"policy and reject", []string{"--policy", "good.json", "--permission", "reject"}, "--policy and --permission reject exclude each other"},
		{"command and allow", []string{"--permission-command", "true", "--permission", "allow"}, "--permission and --permission-command exclude each other"},
		{"command and ask", []string{"--permission-command", "true", "--permission", "ask"}, "--permission and --permission-command exclude each other"},
		{"empty command", []string{"--permission-command", " "}, "--permission-command: there is no program in it"},
		{"open quote", []string{"--permission-command", "sh -c 'exit"}, "--permission-command: a quote is not closed"},
		{"missing command", []string{"--permission-command", "no-such-program-here x"}, `--permission-command: command "no-such-program-here"`},
		{"a command that no system runs", []string{"--permission-command", "./script"}, "script is a text that does not begin with #!"},
		{"unknown access", []string{"--fs", "all"}, `--fs "all": there is none, read and write`},
		{"empty access", []string{"--fs", ""}, `--fs "": there is none, read and write`},
		{"label without a value", []string{"--label", "a=1", "--label", "tenant"}, `--label, number 2: there is no "=" in it; want KEY=VALUE`},
		{"label without a key", []string{"--label", "=x"}, `--label, number 1: there is nothing before the "="`},
		{"label that is no text", []string{"--label", "a=\xff"}, "--label, number 1: it is not UTF-8"},
		{"map without theirs", []string{"--map", "/a"}, `--map, number 1: there is no "=" in it; want OURS=THEIRS`},
		{"map to nothing", []string{"--map", "/a="}, `--map, number 1: "" is not absolute where the agent lives`},
		{"map to a relative path", []string{"--map", "/a=/b", "--map", "/c=d"}, `--map, number 2: "d" is not absolute where the agent lives`},
		{"a directory that has no place", []string{"--map", "/nowhere=/workspace"}, "where the agent lives"},
		{"empty wrap", []string{"--wrap", ""}, "--wrap: there is no program in it"},
		{"wrap with an open quote", []string{"--wrap", `env "A`}, "--wrap: a quote is not closed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := p.run(append(append([]string{"run", "--json", "hi"}, tt.args...), scripted(t, "write started\n")...)...)
			if got.status != statusUsage || exists(p.Dir, "started") {
				t.Errorf("status %d, started: %v", got.status, exists(p.Dir, "started"))
			}
			res := got.result(t)
			if res.Error == nil || res.Labels == nil {
				t.Fatalf("error %v, labels %v", res.Error, res.Labels)
			}
			has(t, "the error", res.Error.Message, tt.want)
			has(t, "stderr", got.stderr, tt.want)
		})
	}
}

// A denied permission is an error for the exit status where that is asked for, and only
// one that was decided.
func TestFailOnDenied(t *testing.T) {
	for _, tt := range []struct {
		name   string
		flags  []string
		script string
		status int
		warn   string
	}{
		{"denied", nil, asking(""), statusFailed, "a permission request was denied, which --fail-on-denied makes an error"},
		{"allowed", []string{"--permission", "allow"}, asking(""), statusOK, ""},
		{"nothing asked", nil, "on session/prompt\n  text x\n  stop end_turn\n", statusOK, ""},
		{"twice", nil, asking("  permission c2 x\n    option no reject_once No\n  end"), statusFailed, "2 permission requests were denied"},
		{"cancelled by the policy", []string{"--permission", "allow"}, "on session/prompt\n  permission c1 x\n    option no reject_once No\n  end\n  stop end_turn\n", statusFailed, "a permission request was denied"},
		{"a write through us", []string{"--fs", "write"}, `on session/prompt
  request fs/write_text_file {"sessionId": "$session", "path": "$cwd/x", "content": "x"}
  stop end_turn
`, statusFailed, "a permission request was denied"},
		{"another end stays", nil, strings.Replace(asking(""), "stop end_turn", "stop refusal", 1), statusRefusal, "a permission request was denied"},
		{"the turn was cancelled", []string{"--timeout", "5s", "--permission-command", "sleep 600"}, asking(""), statusTimeout, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, quiet := range []string{"--json", "--quiet"} {
				got := newProgram(t).run(append(append([]string{"run", "--fail-on-denied", quiet, "hi"}, tt.flags...), scripted(t, tt.script)...)...)
				if got.status != tt.status {
					t.Errorf("%s: status %d, want %d\n%s", quiet, got.status, tt.status, got.stderr)
				}
				if tt.warn != "" {
					has(t, "stderr of "+quiet, got.stderr, "errand: "+tt.warn)
				}
				if strings.Count(got.stderr, "--fail-on-denied") != min(1, len(tt.warn)) {
					t.Errorf("it is not told once, or told for nothing:\n%s", got.stderr)
				}
				if quiet == "--json" && strings.Contains(strings.Join(got.result(t).Warnings, "\n"), "--fail-on-denied") != (tt.warn != "") {
					t.Errorf("warnings %q", got.result(t).Warnings)
				}
			}
		})
	}
	// Without the flag a denial is no error.
	if got := newProgram(t).run(append([]string{"run", "hi"}, scripted(t, asking(""))...)...); got.status != statusOK {
		t.Errorf("status %d\n%s", got.status, got.stderr)
	}
}

// Files and terminals are there as far as they are granted, and listed in the result.
func TestHostingFlags(t *testing.T) {
	const agent = `
on session/prompt
  request fs/read_text_file {"sessionId": "$session", "path": "$cwd/in"}
  text "$error.code,"
  request fs/write_text_file {"sessionId": "$session", "path": "$cwd/out", "content": "text"}
  text "$error.code,"
  request terminal/create {"sessionId": "$session", "command": "true"}
  text "$error.code"
  stop end_turn
`
	for name, tt := range map[string]struct {
		flags           []string
		output          string
		files, commands int // -1: null
	}{
		"by default": {nil, "-32601,-32601,-32601", -1, -1},
		"none":       {[]string{"--fs", "none"}, "-32601,-32601,-32601", -1, -1},
		"read":       {[]string{"--fs", "read"}, ",-32601,-32601", 1, -1},
		"write":      {[]string{"--fs", "write", "--permission", "allow"}, ",,-32601", 2, -1},
		"terminal":   {[]string{"--terminal", "--permission", "allow"}, "-32601,-32601,", -1, 1},
		"all":        {[]string{"--fs", "write", "--terminal", "--permission", "allow"}, ",,", 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProgram(t)
			writeFile(t, "text", p.Dir, "in")
			got := p.run(append(append([]string{"run", "--json", "hi"}, tt.flags...), scripted(t, agent)...)...)
			res := got.result(t)
			count := func(n int, null bool) int {
				if null {
					return -1
				}
				return n
			}
			files, commands := count(len(res.Files), res.Files == nil), count(len(res.Commands), res.Commands == nil)
			if res.Output != tt.output || files != tt.files || commands != tt.commands {
				t.Errorf("output %q, files %d, commands %d; want %q, %d, %d\n%s", res.Output, files, commands, tt.output, tt.files, tt.commands, got.stderr)
			}
			if exists(p.Dir, "out") != (tt.files == 2) {
				t.Errorf("written: %v", exists(p.Dir, "out"))
			}
		})
	}
}

// C13: the caller's own words are in the result and the start event, whatever comes of
// the run.
func parityLabels(t *testing.T) {
	p := newProgram(t)
	want := map[string]string{"tenant": "a=b", "trace": "2", "empty": ""}
	flags := []string{"--label", "tenant=a=b", "--label", "trace=1", "--label", "trace=2", "--label", "empty=", "hi"}
	for name, args := range map[string][]string{
		"completes":     scripted(t, "on session/prompt\n  text x\n  stop end_turn\n"),
		"fails":         scripted(t, "exit 1\n"),
		"cannot start":  {"--", filepath.Join(p.Dir, "no-such-agent")},
		"configuration": {"--agent", "nobody"},
	} {
		got := p.run(append(append([]string{"run", "--json"}, flags...), args...)...)
		if diff := cmp.Diff(want, got.result(t).Labels); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	events := p.run(append(append([]string{"run", "--events"}, flags...), scripted(t, "on session/prompt\n  text x\n  stop end_turn\n")...)...).events(t)
	if diff := cmp.Diff(want, events[0].Start.Labels); diff != "" {
		t.Errorf("the start event (-want +got):\n%s", diff)
	}
}

// D8: an agent in another world of paths is told its own, and what it names is ours again
// for the rules.
func parityPathMap(t *testing.T) {
	p := newProgram(t)
	if err := os.Mkdir(filepath.Join(p.Dir, "src"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, `{"rules": [{"name": "src", "effect": "allow", "paths": ["./src/**"]}]}`, p.Dir, "policy.json")
	// Ours is relative to where errand was started.
	got := p.run(append([]string{"run", "--json", "--map", ".=/workspace", "--policy", "policy.json", "hi"}, scripted(t, `
on session/prompt
  text "$cwd "
  permission c1 "Edit" kind=edit path=/workspace/src/a.go
    option yes allow_once Yes
    option no reject_once No
    when allowed
      text "allowed"
  end
  permission c2 "Edit" kind=edit path="$pwd/src/a.go"
    option yes allow_once Yes
    option no reject_once No
    when rejected
      text " rejected"
  end
  stop end_turn
`)...)...)
	if res := got.result(t); res.Output != "/workspace allowed rejected" {
		t.Errorf("output %q, permissions %+v\n%s", res.Output, res.Permissions, got.stderr)
	}
}

// B14: any program decides. Late, failing and garbled are rejects, see
// TestPermissionCommand; the stricter of it and the policy wins.
func parityPermissionCommand(t *testing.T) {
	for name, tt := range map[string]struct {
		command, policy, output, rule string
	}{
		"exit status 0": {`sh -c 'exit 0'`, "", "allowed", "permission-command"},
		"exit status 1": {`sh -c 'exit 1'`, "", "rejected", "permission-command: exit status 1"},
		"JSON":          {`sh -c 'printf "{\"decision\": \"%s\", \"reason\": \"why\"}" reject'`, "", "rejected", "permission-command: rejected: why"},
		"garbled":       {`echo yes`, "", "rejected", "permission-command: its answer is not understood"},
		"policy denies": {`true`, `{"rules": []}`, "rejected", "deny: default"},
		"policy asks":   {`true`, `{"default": "ask", "rules": []}`, "allowed", "ask: default: permission-command"},
		"both allow":    {`true`, `{"default": "allow", "rules": []}`, "allowed", "allow: default + permission-command"},
		"a standing option": {
			`sh -c 'echo "{\"optionId\": \"always\"}"'`, `{"rules": [{"name": "a", "effect": "ask", "paths": ["./a.go"], "always": true}]}`,
			"allowed", "ask: a: permission-command",
		},
		"none without the policy's word": {`sh -c 'echo "{\"optionId\": \"always\"}"'`, "", "rejected", "permission-command: no standing grant"},
		"the command is no":              {`false`, `{"default": "allow", "rules": []}`, "rejected", "permission-command: exit status 1"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProgram(t)
			args := []string{"run", "--json", "--permission-command", tt.command, "hi"}
			if tt.policy != "" {
				args = append(args, "--policy", writeFile(t, tt.policy, p.Dir, "policy.json"))
			}
			got := p.run(append(args, scripted(t, asking(""))...)...)
			res := got.result(t)
			if res.Output != tt.output || len(res.Permissions) != 1 || !strings.HasPrefix(res.Permissions[0].Rule, tt.rule) {
				t.Errorf("output %q, permissions %+v; want %q by %q\n%s", res.Output, res.Permissions, tt.output, tt.rule, got.stderr)
			}
		})
	}
}

// The program is relative to where errand was started, runs there, and tells people what
// it likes.
func TestPermissionCommandOfARun(t *testing.T) {
	p := newProgram(t)
	p.Env = []string{"MY_TOKEN=qxjvkzwypmhgtrbd"}
	if err := os.Mkdir(filepath.Join(p.Dir, "project"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := writeFile(t, "#!/bin/sh\necho \"I am in $(basename \"$PWD\") [$MY_TOKEN] with $1\" >&2; cat > question\n", p.Dir, "decide")
	if err := os.Chmod(file, 0o755); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"run", "--dir", "project", "--permission-command", "./decide 'an argument'", "--env", "MY_TOKEN", "hi"}, scripted(t, asking(""))...)
	got := p.run(args...)
	if got.stdout != "allowed\n" {
		t.Errorf("%+v", got)
	}
	has(t, "stderr", got.stderr, "permission-command: I am in "+filepath.Base(p.Dir)+" [] with an argument\n")
	has(t, "the question", readFile(t, p.Dir, "question"), filepath.Join("project", "a.go"), `"optionId":"yes"`)
	if got := p.run(append([]string{"run", "--quiet"}, args[1:]...)...); got.stderr != "" {
		t.Errorf("with --quiet stderr has %q", got.stderr)
	}
}

// --wrap puts a program in front of the agent's, which finds its way behind it.
func TestWrap(t *testing.T) {
	const agent = "on session/prompt\n  text \"$env.MARK|$pwd|$cwd\"\n  stop end_turn\n"
	p := newProgram(t)
	dir, err := filepath.EvalSymlinks(p.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ wrap, want string }{
		"env":         {"env MARK=1", "1|" + dir + "|" + dir},
		"two of them": {"env MARK=1 env MARK=2", "2|" + dir + "|" + dir},
		"a directory": {`sh -c 'MARK="in $1"; export MARK; shift; exec "$@"' sh {dir}`, "in " + dir + "|" + dir + "|" + dir},
		"elsewhere":   {`sh -c 'cd / && exec "$@"' sh`, "|/|" + dir},
	} {
		got := p.run(append([]string{"run", "--json", "--wrap", tt.wrap, "hi"}, scripted(t, agent)...)...)
		if res := got.result(t); res.Output != tt.want || got.status != statusOK {
			t.Errorf("%s: status %d, output %q, want %q\n%s", name, got.status, res.Output, tt.want, got.stderr)
		}
	}

	// It is the wrap that has to be installed; of the agent nothing is known here.
	bin := filepath.Join(p.Dir, "behind the wrap")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	self, args := script.Command(t, agent)
	writeFile(t, fmt.Sprintf("#!/bin/sh\nexec '%s' %s \n", self, shellWords(args)), bin, "gemini")
	if err := os.Chmod(filepath.Join(bin, "gemini"), 0o755); err != nil {
		t.Fatal(err)
	}
	got := p.run("run", "--json", "--agent", "gemini", "--wrap", fmt.Sprintf(`sh -c 'PATH="%s:$PATH"; exec "$@"' sh`, bin), "hi")
	if res := got.result(t); got.status != statusOK || res.Provider != "gemini" || !cmp.Equal("--acp", res.Agent.Command[len(res.Agent.Command)-1]) {
		t.Errorf("status %d, %s %q\n%s", got.status, res.Provider, res.Agent.Command, got.stderr)
	}
	got = p.run("run", "--agent", "gemini", "--wrap", "no-such-wrap", "hi")
	if has(t, "stderr", got.stderr, `command "no-such-wrap"`); strings.Contains(got.stderr, "npm install") || strings.Contains(got.stderr, "knows an agent like that") {
		t.Errorf("it gives advice on the agent:\n%s", got.stderr)
	}
}

func shellWords(args []string) string {
	var b strings.Builder
	for _, a := range args {
		fmt.Fprintf(&b, "'%s' ", strings.ReplaceAll(a, "'", `'\''`))
	}
	return b.String()
}

// The sandbox that docs/security.md recommends, where this machine has it.
func TestWrapInBubblewrap(t *testing.T) {
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Skip("NOT TESTED: this machine has no bwrap")
	}
	const bwrap = "bwrap --ro-bind / / --bind {dir} {dir} --dev /dev --proc /proc --die-with-parent"
	if err := exec.Command("bwrap", "--ro-bind", "/", "/", "true").Run(); err != nil {
		t.Skipf("NOT TESTED: bwrap does not work here: %v", err)
	}
	p := newProgram(t)
	outside := filepath.Join(t.TempDir(), "outside")
	got := p.run(append([]string{"run", "--json", "--wrap", bwrap, "hi"}, scripted(t, `
on session/prompt
  write "$cwd/inside"
  text "inside"
  write "`+outside+`"
  text " and outside"
  stop end_turn
`)...)...)
	if res := got.result(t); res.Output == "inside and outside" || !exists(p.Dir, "inside") || exists(outside) || res.Stop == stopreason.Completed {
		t.Errorf("output %q, stop %s, inside: %v, outside: %v\n%s", res.Output, res.Stop, exists(p.Dir, "inside"), exists(outside), got.stderr)
	}
}

func TestBadBool(t *testing.T) {
	got := newProgram(t).run("run", "--terminal=maybe", "hi", "--agent", "demo")
	if has(t, "stderr", got.stderr, "errand: --terminal=maybe: there is true and false\n"); got.status != statusUsage {
		t.Errorf("status %d", got.status)
	}
}
