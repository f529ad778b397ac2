package permission_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/permission"
)

// What is said of a call that a rule seems to allow.
func TestMisses(t *testing.T) {
	const policy = `{"rules": [
		{"name": "work", "effect": "allow", "kinds": ["read", "edit"], "paths": ["./src/**"]},
		{"name": "tests", "effect": "allow", "commands": [["go", "test", "**"], ["git", "diff"], ["git", "log", "**"], ["ls", "**"]]},
		{"name": "etc", "effect": "allow", "commands": [["stat", "**"]], "paths": ["/etc/**"]},
		{"name": "docs", "effect": "allow", "kinds": ["fetch"], "hosts": ["go.dev"]},
		{"name": "never", "effect": "deny", "commands": [["rm"]]}
	]}`
	for _, tt := range []struct{ call, want string }{
		{run("go test ./..."), ""},
		{run("rm x"), ""}, // a rule decides
		{run("cd sub && go test ./..."), "rule 2 (tests): cd sub && go test ./... is a line for a shell, which only shell means"},
		{run("go test 2>&1"), "rule 2 (tests): go test 2>&1 is a line for a shell, which only shell means"},
		{`{"kind":"execute","rawInput":{"command":["bash","-lc","go test"]}}`, "rule 2 (tests): bash runs others, and is allowed only where a rule spells it out"},
		{run("ls -la /etc"), "rule 2 (tests): no wildcard stands for /etc: it may run another program, or be a path elsewhere"},
		{run("go test -exec evil"), "rule 2 (tests): no wildcard stands for -exec: it may run another program, or be a path elsewhere"},
		{run("git diff HEAD"), `rule 2 (tests): ["git" "diff" "HEAD"] is not ["git" "diff"]; ** stands for any words`},
		{run("git log --output x"), "rule 2 (tests): no wildcard stands for --output: it may run another program, or be a path elsewhere"},
		{run("A=1 git diff"), "rule 2 (tests): A=1 sets a variable, which has to be in the rule"},
		{run("stat -c x"), "rule 3 (etc): no wildcard stands for x: it may run another program, or be a path elsewhere"},
		{run("stat"), "rule 3 (etc): the command names nothing in its paths, and is run elsewhere"},
		{run("make"), ""},
		{`{"kind":"execute"}`, "rule 2 (tests): the call does not tell its command, and only shell means that\nrule 3 (etc): the call does not tell its command, and only shell means that"},
		{edit("a"), "rule 1 (work): a is not in its paths"},
		{edit("src/a"), ""},
		{`{"kind":"edit"}`, "rule 1 (work): the call names no path"},
		{`{"kind":"read","rawInput":{"path":"src/a","command":"make"}}`, "rule 1 (work): the call is of kind execute too"},
		{`{"kind":"think"}`, ""},
		{`{"kind":"fetch","rawInput":{"url":"https://go.example/"}}`, "rule 4 (docs): https://go.example/ is none of its hosts"},
		{`{"kind":"fetch"}`, "rule 4 (docs): the call names no host"},
		{edit("src/.env"), "sensitive file: src/.env"},
		{edit("src/~x/../a\u200b"), "odd path: src/~x/../a\u200b"},
	} {
		got := strings.Join(rules(t, policy).Misses(call(t, tt.call)), "\n")
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.call, diff)
		}
	}
	shell := rules(t, `{"rules":[{"effect":"allow","shell":true},{"effect":"allow","titles":["x"],"commands":[["ls"]]},{"effect":"allow","commands":[["git","**"]],"kinds":["read"]}]}`)
	for _, text := range []string{run("a; b"), edit("a"), run("git log")} {
		if got := shell.Misses(call(t, text)); len(got) > 0 {
			t.Errorf("%s: %q", text, got)
		}
	}
	if got := (&permission.Rules{Default: permission.EffectAllow}).Misses(call(t, edit("a"))); got != nil {
		t.Errorf("what is allowed: %q", got)
	}
}
