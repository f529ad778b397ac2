package permission_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/permission"
)

// FuzzFacts throws raw input and commands at what reads them: it ends, twice with the
// same facts, and a line that is taken apart holds nothing for a shell.
func FuzzFacts(f *testing.F) {
	for _, a := range attacks {
		f.Add(a.call)
		f.Add(a.twin)
	}
	f.Fuzz(func(t *testing.T, text string) {
		req, ok := fuzzed(text)
		if !ok {
			t.Skip("no tool call")
		}
		first, second := req.Facts(), req.Facts()
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("%s (-first +second):\n%s", text, diff)
		}
		if len(first.Kinds) == 0 || first.Digest == "" {
			t.Errorf("%s: %+v", text, first)
		}
		for _, c := range first.Commands {
			if c.Shell == (len(c.Argv) > 0) {
				t.Errorf("%s: a command that is neither or both: %+v", text, c)
			}
		}
	})
}

// FuzzRules holds rules to what they promise whatever the call: no allow under a rule
// for the workspace reaches out of it, and what one rule denies no other rule allows.
func FuzzRules(f *testing.F) {
	for _, a := range attacks {
		f.Add(a.policy, a.call)
		f.Add(a.policy, a.twin)
	}
	f.Add(workspace, edit("a"))
	f.Fuzz(func(t *testing.T, policy, text string) {
		req, ok := fuzzed(text)
		if !ok {
			t.Skip("no tool call")
		}
		work := rules(t, `{"rules":[{"effect":"allow","paths":["./**"]}]}`)
		if work.Explain(req).Effect == permission.EffectAllow {
			facts := req.Facts()
			if len(facts.Commands) > 0 || facts.Incomplete || len(facts.Risks) > 0 && facts.Risks[0] != "kind delete" && facts.Risks[0] != "kind switch_mode" {
				t.Errorf("%s is allowed with %+v", text, facts)
			}
		}
		r, err := permission.ParseRules([]byte(policy))
		if err != nil {
			return
		}
		r.Warnings()
		before := r.Explain(req)
		r.Rules = append(r.Rules, permission.Rule{Name: "all files of fuzzing", Effect: permission.EffectAllow, Paths: []string{"/**"}, Commands: [][]string{{"**"}}, Shell: true})
		if after := r.Explain(req); before.Effect == permission.EffectDeny && before.Rule != "default" && after.Effect != permission.EffectDeny && before.Rule != "sensitive file" {
			t.Errorf("%s, %s: %+v, and with one more allow %+v", policy, text, before, after)
		}
	})
}

func fuzzed(text string) (permission.Request, bool) {
	req := permission.Request{Dir: dir, Home: home, Resolve: linked(nil)}
	err := json.Unmarshal([]byte(text), &req.ToolCall)
	return req, err == nil
}
