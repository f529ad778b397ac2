package permission_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/errand-acp/errand/permission"
)

func TestWarnings(t *testing.T) {
	tests := []struct{ name, rule, want string }{
		{"none", `{"effect":"allow","commands":[["go","test","**"]]}`, ""},
		{"an interpreter", `{"effect":"allow","commands":[["ls"],["python3","**"]]}`, "rule 1: allows everything through python3"},
		{"an interpreter with one argument", `{"effect":"allow","commands":[["node","*"]]}`, "rule 1: allows everything through node"},
		{"an interpreter by its path", `{"effect":"allow","commands":[["/bin/sh","-c","*"]]}`, "rule 1: allows everything through /bin/sh"},
		{"a launcher behind a variable", `{"effect":"allow","commands":[["A=*","xargs","**"]]}`, "rule 1: allows everything through xargs"},
		{"an interpreter with what it runs", `{"effect":"allow","commands":[["python3","tools/gen.py"]]}`, ""},
		{"an interpreter that is denied", `{"effect":"deny","commands":[["python3","**"]]}`, ""},
		{"any program", `{"name":"x","effect":"allow","commands":[["*","--version"]]}`, "rule 1 (x): allows every program that is no interpreter and no launcher"},
		{"a shell", `{"effect":"allow","shell":true}`, "rule 1: shell allows every command, whatever else it names"},
		{"any file", `{"effect":"allow","kinds":["read"]}`, "rule 1: names no paths, and allows every file of this machine that is not sensitive"},
		{"any host", `{"effect":"allow","kinds":["fetch"]}`, "rule 1: names no hosts, and allows every one"},
		{"no command", `{"effect":"allow","kinds":["execute"]}`, "rule 1: names no commands, and matches no call that runs one"},
		{"a set of characters in what is denied", `{"effect":"deny","paths":["[ab]/**","./x"]}`, "rule 1: in [ab]/**, [ and { stand for themselves; only * and ? are wildcards"},
		{"alternatives in what is asked about", `{"effect":"ask","paths":["./{a,b}"]}`, "rule 1: in ./{a,b}, [ and { stand for themselves; only * and ? are wildcards"},
		{"a set of characters in what is allowed", `{"effect":"allow","paths":["./[ab]*"]}`, "rule 1: in ./[ab]*, [ and { stand for themselves; only * and ? are wildcards"},
		{"a range in what is allowed", `{"effect":"allow","paths":["./[a-c].go"]}`, "rule 1: in ./[a-c].go, [ and { stand for themselves; only * and ? are wildcards"},
		{"alternatives in what is allowed", `{"effect":"allow","paths":["./{a,b}/**"]}`, "rule 1: in ./{a,b}/**, [ and { stand for themselves; only * and ? are wildcards"},
		{"a page of a web framework", `{"effect":"allow","paths":["./app/[id].tsx","./app/[[...slug]]/page.tsx","./app/[post-id]/**"]}`, ""},
		{"a directory that is allowed with a slash", `{"effect":"allow","paths":["./src/"]}`, "rule 1: ./src/ is the directory alone, and nothing in it; ./src/** is all of it"},
		{"a directory that is denied with a slash", `{"effect":"deny","paths":["./src/"]}`, ""},
		{"an end without a directory in what is denied", `{"effect":"deny","paths":["*.pem"]}`, "rule 1: *.pem is in the session's directory alone; **/*.pem is below it too"},
		{"an end of this directory in what is denied", `{"effect":"deny","paths":["./*.pem"]}`, ""},
		{"an end without a directory in what is allowed", `{"effect":"allow","paths":["*.go"]}`, ""},
		{"brackets in what is allowed", `{"effect":"allow","paths":["./app/[id]/**"]}`, ""},
		{"a title", `{"effect":"allow","titles":["Read *"]}`, "rule 1: goes by the agent's own words alone"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Join(rules(t, `{"rules":[`+tt.rule+`]}`).Warnings(), "\n")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := rules(t, denySecret).Warnings(); len(got) != 2 {
		t.Errorf("of a denied path: %q", got)
	}
	got := rules(t, `{"default":"allow","sensitive":"allow","rules":[{"effect":"deny","commands":[["rm","**"]]}]}`).Warnings()
	if len(got) != 3 {
		t.Errorf("got %q", got)
	}
}

// What a warning says of a launcher is so.
func TestNamedInterpreter(t *testing.T) {
	r := rules(t, `{"rules":[{"effect":"allow","commands":[["python3","tools/gen.py"],["bash","-lc","go test ./..."],["env","**"]]}]}`)
	for text, want := range map[string]permission.Effect{
		run("python3 tools/gen.py"):   permission.EffectAllow,
		run("python3 tools/gen.py x"): permission.EffectDeny,
		run("python3 -c x"):           permission.EffectDeny,
		`{"kind":"execute","rawInput":{"cmd":["bash","-lc","go test ./..."]}}`:   permission.EffectAllow,
		`{"kind":"execute","rawInput":{"cmd":["bash","-lc","go test ./...;x"]}}`: permission.EffectDeny,
		`{"kind":"execute","rawInput":{"cmd":["env","A=b","evil"]}}`:             permission.EffectAllow,
	} {
		if v := r.Explain(call(t, text)); v.Effect != want {
			t.Errorf("%s: %+v, want %s", text, v, want)
		}
	}
}

func TestPolicyDigest(t *testing.T) {
	a, b := rules(t, workspace), rules(t, strings.ReplaceAll(workspace, "\n", " "))
	if a.Digest() != b.Digest() || len(a.Digest()) != 64 {
		t.Errorf("digests %s and %s of the same policy", a.Digest(), b.Digest())
	}
	if c := rules(t, strings.Replace(workspace, "pkg.go.dev", "go.dev", 1)); c.Digest() == a.Digest() {
		t.Error("the same digest of another policy")
	}
}

func jsonOf(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// The schema and ParseRules take the same files.
func TestPolicySchema(t *testing.T) {
	var s jsonschema.Schema
	if err := json.Unmarshal(permission.PolicySchema(), &s); err != nil {
		t.Fatal(err)
	}
	schema, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	check := func(text string, want bool) {
		t.Helper()
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); (err == nil) != want {
			t.Errorf("%s: the schema says %v", text, err)
		}
		if _, err := permission.ParseRules([]byte(text)); (err == nil) != want {
			t.Errorf("%s: ParseRules says %v", text, err)
		}
	}
	for text, want := range map[string]bool{
		workspace: true,
		`{"$schema":"x","version":1,"rules":[{"effect":"ask","shell":true,"always":true,"name":"n"}],"choose":["a"],"first":true,"sensitive":"deny"}`: true,
		`{"rules":[{"effect":"allow"}]}`:                                false,
		`{"rules":[{"effect":"allow","path":["a"]}]}`:                   false,
		`{"rules":[{"effect":"permit","shell":true}]}`:                  false,
		`{"rules":[],"defalt":"deny"}`:                                  false,
		`{"rules":[{"effect":"allow","commands":["go test"]}]}`:         false,
		`{"rules":[{"effect":"allow","kinds":["write"],"shell":true}]}`: false,
		`{"version":2,"rules":[]}`:                                      false,
		`{}`:                                                            false,
		`{"default":"allow"}`:                                           false,
		`{"rules":[]}`:                                                  true,
		`{"rules":[null]}`:                                              false,
		`null`:                                                          false,
		`[]`:                                                            false,
		`{"default":"","rules":[]}`:                                     false,
		`{"sensitive":"","rules":[]}`:                                   false,
		`{"rules":[{"effect":"","shell":true}]}`:                        false,
		`{"rules":[{"effect":"allow","shell":false}]}`:                  false,
		`{"rules":[{"effect":"allow","paths":[""]}]}`:                   false,
		`{"rules":[{"effect":"deny","hosts":["*evil.com"]}]}`:           false,
		`{"rules":[{"effect":"deny","hosts":["evil2.com."]}]}`:          false,
		`{"rules":[{"effect":"deny","hosts":["::1","fe80::1","2001:db8::192.0.2.1"]}]}`:                       true,
		`{"rules":[{"effect":"deny","hosts":["[::1]"]}]}`:                                                     false,
		`{"rules":[{"effect":"deny","hosts":["a.org:80"]}]}`:                                                  false,
		`{"rules":[{"effect":"deny","hosts":["*."]}]}`:                                                        false,
		`{"rules":[{"effect":"deny","hosts":["*","*.a-b.example","bücher.example","localhost","10.0.0.1"]}]}`: true,
	} {
		check(text, want)
	}
	// Null is no way to leave a field out.
	for name := range s.Properties {
		policy := map[string]any{"rules": []any{}}
		policy[name] = nil
		check(jsonOf(policy), false)
	}
	for name := range s.Defs["rule"].Properties {
		rule := map[string]any{"effect": "allow", "tools": []string{"x"}}
		rule[name] = nil
		check(jsonOf(map[string]any{"rules": []any{rule}}), false)
	}

	fields := func(t reflect.Type, more ...string) []string {
		for i := range t.NumField() {
			if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "-" && name != "" {
				more = append(more, name)
			}
		}
		slices.Sort(more)
		return more
	}
	names := func(s *jsonschema.Schema) []string {
		var out []string
		for name := range s.Properties {
			out = append(out, name)
		}
		slices.Sort(out)
		return out
	}
	if diff := cmp.Diff(fields(reflect.TypeFor[permission.Rules](), "$schema", "version"), names(&s)); diff != "" {
		t.Errorf("fields of a policy (-type +schema):\n%s", diff)
	}
	if diff := cmp.Diff(fields(reflect.TypeFor[permission.Rule]()), names(s.Defs["rule"])); diff != "" {
		t.Errorf("fields of a rule (-type +schema):\n%s", diff)
	}
}

// Rules that are made in Go and hold nonsense deny.
func TestRulesInGo(t *testing.T) {
	r := &permission.Rules{Default: "permit", Rules: []permission.Rule{{Effect: "permit", Shell: true}}}
	if err := r.Validate(); err == nil {
		t.Error("it is valid")
	}
	if v := r.Explain(call(t, edit("a"))); v.Effect != permission.EffectDeny {
		t.Errorf("got %+v", v)
	}
	if d, _ := permission.Decide(t.Context(), &permission.Rules{}, call(t, edit("a"))); d.OptionID != "no" || d.Rule != "deny: default" {
		t.Errorf("the zero value: %+v", d)
	}
}

// What is wrong is told in the words of the file, and where.
func TestPolicyErrorTexts(t *testing.T) {
	for text, want := range map[string]string{
		"{\n \"rules\": [\n  {\"effect\" \"deny\"}]}":   `policy: rule 1: effect: line 3, column 13: invalid character '"' after object name (expecting ':')`,
		`{"rules":[{"effect":"allow","kinds":"read"}]}`: "policy: rule 1: kinds: it is a string, and has to be a list",
		`[]`:           "policy: it is a list, and has to be an object",
		`{"rules":{}}`: "policy: rules: it is an object, and has to be a list",
		`{"rules":[{"name":"x","effect":"allow","shell":"yes"}]}`: "policy: rule 1 (x): shell: it is a string, and has to be true or false",
		`{"rules":[{"effect":1,"shell":true}]}`:                   "policy: rule 1: effect: it is a number, and has to be a string",
		`{"version":1.5,"rules":[]}`:                              "policy: version: it has to be a whole number",
		`{"version":"1","rules":[]}`:                              "policy: version: it is a string, and has to be a whole number",
		`{"rules":[1]}`:                                           "policy: rule 1: it is a number, and has to be an object",
		``:                                                        "policy: line 1, column 1: it ends too early",
		"{\"rules\": [\n":                                         "policy: rules: line 2, column 1: it ends too early",
		"{\"rules\":[]}\n{}":                                      "policy: line 2, column 1: invalid character '{' after top-level value",
		`{"default":"deny","default":"allow","rules":[]}`:           "policy: default: line 1, column 19: it is there twice",
		`{"rules":[{"shell":true}]}`:                                "policy: rule 1: effect: it is missing; there is deny, ask and allow",
		`{"rules":[{"effect":"","shell":true}]}`:                    "policy: rule 1: effect: it is empty; there is deny, ask and allow",
		`{"rules":[{"effect":"allow","commands":["go test"]}]}`:     `policy: rule 1: commands/0: it is a string, and has to be a list of words, as ["go", "test", "**"]`,
		"{\"rules\":[{\"effect\":\"allow\",\"paths\":[\"\xff\"]}]}": "policy: rule 1: paths/0: line 1, column 39: invalid UTF-8",
	} {
		_, err := permission.ParseRules([]byte(text))
		if err == nil {
			t.Fatalf("%s: no error", text)
		}
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	// A byte order mark is what some editors leave.
	if _, err := permission.ParseRules([]byte("\ufeff" + workspace)); err != nil {
		t.Error(err)
	}
}
