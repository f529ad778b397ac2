package permission_test

import (
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/permission"
)

const dir, home = "/home/u/project", "/home/u"

// call makes a request of a tool call written as JSON.
func call(t testing.TB, text string) permission.Request {
	t.Helper()
	req := permission.Request{
		RunID: "run1", SessionID: "s1", Dir: dir, Home: home,
		Options: options([2]string{"allow_always", "always"}, [2]string{"allow_once", "yes"}, [2]string{"reject_once", "no"}),
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if _, ok := raw["toolCallId"]; !ok {
		raw["toolCallId"] = json.RawMessage(`"c1"`)
	}
	full, _ := json.Marshal(raw)
	if err := json.Unmarshal(full, &req.ToolCall); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return req
}

func rules(t testing.TB, text string) *permission.Rules {
	t.Helper()
	r, err := permission.ParseRules([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return r
}

// workspace is the policy that most tests are about.
const workspace = `{"default": "ask", "rules": [
	{"name": "work", "effect": "allow", "kinds": ["read", "edit", "search"], "paths": ["./**"]},
	{"name": "tests", "effect": "allow", "commands": [["go", "test", "**"], ["git", "status"], ["git", "log", "**"], ["ls", "**"], ["find", "**"], ["tar", "**"], ["make", "check"]]},
	{"name": "docs", "effect": "allow", "kinds": ["fetch"], "hosts": ["pkg.go.dev", "*.example.org"]},
	{"name": "no push", "effect": "deny", "commands": [["git", "push", "**"], ["rm", "**"]]},
	{"name": "no secrets", "effect": "deny", "paths": ["./secrets/**"]}
]}`

func TestRules(t *testing.T) {
	tests := []struct{ name, call, want string }{
		{"a read in the workspace", `{"kind":"read","locations":[{"path":"a.txt"}]}`, "allow: work"},
		{"the directory itself", `{"kind":"read","rawInput":{"path":"/home/u/project"}}`, "allow: work"},
		{"a search in it that reaches what is denied", `{"kind":"search","rawInput":{"path":"/home/u/project","pattern":"/x"}}`, "deny: no secrets"},
		{"a search beside what is denied", `{"kind":"search","rawInput":{"path":"/home/u/project/src","pattern":"/x"}}`, "allow: work"},
		{"a read outside", `{"kind":"read","locations":[{"path":"/etc/passwd"}]}`, "ask: default"},
		{"an edit with a diff", `{"kind":"edit","content":[{"type":"diff","path":"/home/u/project/a.go","newText":"x"}],"rawInput":{"filePath":"a.go"}}`, "allow: work"},
		{"an edit of no known path", `{"kind":"edit"}`, "ask: default"},
		{"no kind, but a diff", `{"content":[{"type":"diff","path":"/home/u/project/a.go","newText":"x"}]}`, "allow: work"},
		{"a command as a line", `{"kind":"execute","rawInput":{"command":"go test ./..."}}`, "allow: tests"},
		{"a command as a list", `{"kind":"execute","rawInput":{"command":["go","test","-run","Test X"]}}`, "allow: tests"},
		{"a program with a list", `{"kind":"execute","rawInput":{"command":"go","args":["test"]}}`, "allow: tests"},
		{"a program with a string", `{"kind":"execute","rawInput":{"command":"go","args":"test ./..."}}`, "allow: tests"},
		{"another command", `{"kind":"execute","rawInput":{"command":"go vet"}}`, "ask: default"},
		{"no command told", `{"kind":"execute","title":"go test ./..."}`, "ask: default"},
		{"a denied command", `{"kind":"execute","rawInput":{"command":"git push origin main"}}`, "deny: no push"},
		{"a denied path", `{"kind":"read","rawInput":{"path":"secrets/a"}}`, "deny: no secrets"},
		{"a sensitive file", `{"kind":"read","rawInput":{"path":".env"}}`, "ask: sensitive file"},
		{"an allowed host", `{"kind":"fetch","rawInput":{"url":"https://pkg.go.dev/net/http"}}`, "allow: docs"},
		{"a subdomain", `{"kind":"fetch","rawInput":{"url":"https://a.b.example.org"}}`, "allow: docs"},
		{"another host", `{"kind":"fetch","rawInput":{"url":"https://example.org.evil.net"}}`, "ask: default"},
	}
	r := rules(t, workspace)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := call(t, tt.call)
			v := r.Explain(req)
			if got := string(v.Effect) + ": " + v.Rule; got != tt.want {
				t.Errorf("%s: got %q, want %q\n%+v", tt.call, got, tt.want, req.Facts())
			}
		})
	}
}

func TestParseRulesErrors(t *testing.T) {
	tests := []struct{ name, text, rule, field string }{
		{"an unknown field", `{"rules":[], "defalt":"ask"}`, "", "defalt"},
		{"an unknown field in a rule", `{"rules":[{"name":"x","effect":"ask","shell":true},{"effect":"ask","path":["a"]}]}`, "rule 2", "path"},
		{"a repeated field", `{"default":"deny","default":"allow","rules":[]}`, "", "default"},
		{"another case", `{"Default":"deny","rules":[]}`, "", "Default"},
		{"an unknown effect", `{"rules":[{"name":"x","effect":"permit","shell":true}]}`, "rule 1 (x)", "effect"},
		{"an unknown default", `{"default":"maybe","rules":[]}`, "", "default"},
		{"no effect", `{"rules":[{"shell":true}]}`, "rule 1", "effect"},
		{"no condition", `{"rules":[{"effect":"allow"}]}`, "rule 1", ""},
		{"an empty condition", `{"rules":[{"effect":"allow","paths":[],"shell":true}]}`, "rule 1", "paths"},
		{"a kind that is none", `{"rules":[{"effect":"allow","kinds":["read","write"]}]}`, "rule 1", "kinds/1"},
		{"a path that leaves", `{"rules":[{"effect":"allow","paths":["./../x"]}]}`, "rule 1", "paths/0"},
		{"a glued **", `{"rules":[{"effect":"allow","paths":["./a**"]}]}`, "rule 1", "paths/0"},
		{"another's home", `{"rules":[{"effect":"deny","paths":["~root/x"]}]}`, "rule 1", "paths/0"},
		{"a command as a string", `{"rules":[{"effect":"allow","commands":["go test"]}]}`, "rule 1", "commands/0"},
		{"a command without a program", `{"rules":[{"effect":"allow","commands":[["go"],[]]}]}`, "rule 1", "commands/1"},
		{"a host with a port", `{"rules":[{"effect":"allow","hosts":["a.org:80"]}]}`, "rule 1", "hosts/0"},
		{"a program with a blank", `{"rules":[{"effect":"deny","commands":[["rm"],["go test"]]}]}`, "rule 1", "commands/1"},
		{"a program with a blank behind a variable", `{"rules":[{"effect":"allow","commands":[["A=*","go test"]]}]}`, "rule 1", "commands/0"},
		{"a variable in a rule that denies", `{"rules":[{"effect":"deny","commands":[["A=*","rm"]]}]}`, "rule 1", "commands/0"},
		{"a host with a * in a word", `{"rules":[{"effect":"deny","hosts":["*evil.com"]}]}`, "rule 1", "hosts/0"},
		{"a host with a dot at the end", `{"rules":[{"effect":"deny","hosts":["evil.com","evil2.com."]}]}`, "rule 1", "hosts/1"},
		{"a host that is * and a dot", `{"rules":[{"effect":"ask","hosts":["*."]}]}`, "rule 1", "hosts/0"},
		{"a host with a ?", `{"rules":[{"effect":"deny","hosts":["evil?.com"]}]}`, "rule 1", "hosts/0"},
		{"a host with a user", `{"rules":[{"effect":"deny","hosts":["a@evil.com"]}]}`, "rule 1", "hosts/0"},
		{"a host with an empty label", `{"rules":[{"effect":"deny","hosts":["evil..com"]}]}`, "rule 1", "hosts/0"},
		{"a path as a URI", `{"rules":[{"effect":"deny","paths":["file:///etc/**"]}]}`, "rule 1", "paths/0"},
		{"a path with a variable", `{"rules":[{"effect":"deny","paths":["$HOME/.x"]}]}`, "rule 1", "paths/0"},
		{"a path that is negated", `{"rules":[{"effect":"deny","paths":["!./x"]}]}`, "rule 1", "paths/0"},
		{"a name twice", `{"rules":[{"name":"x","effect":"deny","shell":true},{"name":"x","effect":"deny","shell":true}]}`, "rule 2 (x)", "name"},
		{"a standing deny", `{"rules":[{"effect":"deny","shell":true,"always":true}]}`, "rule 1", "always"},
		{"a standing grant of high risk", `{"rules":[{"effect":"ask","shell":true,"always":true,"highRisk":true}]}`, "rule 1", "always"},
		{"another version", `{"version":2,"rules":[]}`, "", "version"},
		{"no JSON", `{`, "", ""},
		{"nothing", ``, "", ""},
		{"more after it", `{"rules":[]} {}`, "", ""},
		{"a list", `[]`, "", ""},
		{"null", `null`, "", ""},
		{"an empty object", `{}`, "", "rules"},
		{"no rules", `{"default":"allow"}`, "", "rules"},
		{"rules that are null", `{"default":"allow","rules":null}`, "", "rules"},
		{"a rule that is null", `{"rules":[null]}`, "rule 1", ""},
		{"a default without a letter", `{"default":"","rules":[]}`, "", "default"},
		{"a default that is null", `{"default":null,"rules":[]}`, "", "default"},
		{"a sensitive without a letter", `{"sensitive":"","rules":[]}`, "", "sensitive"},
		{"a sensitive that is null", `{"rules":[],"sensitive":null}`, "", "sensitive"},
		{"a condition that is null", `{"rules":[{"name":"x","effect":"allow","shell":true,"paths":null}]}`, "rule 1 (x)", "paths"},
		{"an element that is null", `{"rules":[{"effect":"allow","commands":[["go",null]]}]}`, "rule 1", "commands/0/1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := permission.ParseRules([]byte(tt.text))
			var bad *permission.PolicyError
			if !errors.As(err, &bad) {
				t.Fatalf("got %+v, %v", r, err)
			}
			if diff := cmp.Diff([]string{tt.rule, tt.field}, []string{bad.Rule, bad.Field}); diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// A path of Windows means nothing elsewhere.
func TestDriveInPolicy(t *testing.T) {
	_, err := permission.ParseRules([]byte(`{"rules":[{"effect":"deny","paths":["C:/x/**"]}]}`))
	if refused := err != nil; refused != (runtime.GOOS != "windows") {
		t.Errorf("on %s: %v", runtime.GOOS, err)
	}
}

// A command of a rule that denies or asks is what a call begins with; of one that allows,
// all of it.
func TestCommandsAreBeginnings(t *testing.T) {
	deny := `{"default":"allow","rules":[{"effect":"deny","commands":[["rm"],["git","push"],["Del.exe"],["*.bat"]]}]}`
	ask := strings.ReplaceAll(deny, "deny", "ask")
	allow := `{"default":"ask","rules":[{"effect":"allow","commands":[["ls"],["git","log"]]}]}`
	for _, tt := range []struct {
		policy, line string
		want         permission.Effect
	}{
		{deny, "rm", permission.EffectDeny},
		{deny, "rm -f victim", permission.EffectDeny},
		{deny, "/bin/rm -f victim", permission.EffectDeny},
		{deny, "A=1 rm -f victim", permission.EffectDeny},
		{deny, "sh -c 'rm -f victim'", permission.EffectDeny},
		{deny, "git push origin", permission.EffectDeny},
		{deny, "del x", permission.EffectDeny},
		{deny, "x.bat x", permission.EffectDeny},
		{deny, "git log push", permission.EffectAllow},
		{deny, "rmdir x", permission.EffectAllow},
		{deny, "ls rm", permission.EffectAllow},
		{ask, "rm -f victim", permission.EffectAsk},
		{ask, "ls -f victim", permission.EffectAllow},
		{allow, "ls", permission.EffectAllow},
		{allow, "ls x", permission.EffectAsk},
		{allow, "git log x", permission.EffectAsk},
	} {
		if v := rules(t, tt.policy).Explain(call(t, run(tt.line))); v.Effect != tt.want {
			t.Errorf("%s: %s: got %+v, want %s", tt.policy, tt.line, v, tt.want)
		}
	}
}

// A dot is no element, wherever a pattern begins.
func TestDotsInPatterns(t *testing.T) {
	for pattern, path := range map[string]string{"./a/./b": "a/b", "/etc/./x": "/etc/x", "~/./x": "/home/u/x"} {
		for _, effect := range []permission.Effect{permission.EffectDeny, permission.EffectAllow} {
			r := rules(t, `{"default":"ask","rules":[{"effect":"`+string(effect)+`","paths":["`+pattern+`"]}]}`)
			if v := r.Explain(call(t, `{"kind":"edit","rawInput":{"path":"`+path+`"}}`)); v.Effect != effect {
				t.Errorf("%s of %s: got %+v, want %s", pattern, path, v, effect)
			}
		}
	}
}

func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// Where a command is run is not what it is about.
func TestCommandBesideADeniedPath(t *testing.T) {
	r := rules(t, `{"default":"allow","rules":[{"effect":"deny","paths":["./secret/**"]}]}`)
	for text, want := range map[string]permission.Effect{
		`{"kind":"execute","locations":[{"path":"/home/u/project"}],"rawInput":{"command":"true","cwd":"/home/u/project"}}`:             permission.EffectAllow,
		`{"kind":"execute","locations":[{"path":"/home/u/project"}],"rawInput":{"command":"true"}}`:                                     permission.EffectAllow,
		`{"kind":"execute","locations":[{"path":"/home/u/project"}],"rawInput":{"command":"ls .","cwd":"/home/u/project"}}`:             permission.EffectDeny,
		`{"kind":"execute","locations":[{"path":"/home/u/project/secret"}],"rawInput":{"command":"ls","cwd":"/home/u/project/secret"}}`: permission.EffectDeny,
	} {
		if v := r.Explain(call(t, text)); v.Effect != want {
			t.Errorf("%s: %+v, want %s", text, v, want)
		}
	}
}
