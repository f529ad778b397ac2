package conform

import (
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// inapplicable are the rules that an agent cannot keep together with all others, and why.
var inapplicable = map[string]string{}

// login has the rules whose agents want a login: the suite is given the method.
var login = map[string]string{"auth-required": "key", "auth-login": "key"}

// TestScripts: there is an agent that keeps every rule, and is seen to, and for each rule
// there is one that breaks it and no other.
func TestScripts(t *testing.T) {
	agent := buildAgent(t)
	t.Run("honest", func(t *testing.T) {
		t.Parallel()
		for _, f := range suite(t, agent, "key", absolute(t, "testdata/honest.script")).Findings {
			if f.Verdict != Pass && (f.Verdict != NotApplicable || inapplicable[f.Rule.ID] == "") {
				t.Error(explain(f))
			}
		}
	})
	scripts := map[string]string{}
	names, err := filepath.Glob("testdata/break/*.script")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		scripts[strings.TrimSuffix(filepath.Base(name), ".script")] = name
	}
	for _, rule := range Rules() {
		name, ok := scripts[rule.ID]
		if !ok {
			t.Errorf("no script breaks %s", rule.ID)
			continue
		}
		delete(scripts, rule.ID)
		t.Run(rule.ID, func(t *testing.T) {
			t.Parallel()
			want := Warn
			if rule.Level == Must {
				want = Fail
			}
			for _, f := range suite(t, agent, login[rule.ID], absolute(t, name)).Findings {
				isBroken := f.Verdict == Fail || f.Verdict == Warn
				switch {
				case f.Rule.ID == rule.ID && f.Verdict != want:
					t.Errorf("it was not caught: %s", explain(f))
				case isBroken && len(f.Entries) == 0:
					t.Errorf("nothing shows it: %s", explain(f))
				case f.Rule.ID != rule.ID && isBroken:
					t.Errorf("it should break %s only: %s", rule.ID, explain(f))
				case f.Why == "":
					t.Errorf("%s is %s, and nothing says why", f.Rule.ID, f.Verdict)
				}
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(scripts)) {
		t.Errorf("there is no rule %s to break", name)
	}
}

// buildAgent builds the scripted agent: two thousand are started, and this test binary,
// with the race detector in it, takes five times as long to start.
func buildAgent(t *testing.T) string {
	t.Helper()
	agent := filepath.Join(t.TempDir(), "scripted-agent.exe")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", agent, "../../testdata/scripted-agent").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return agent
}

// suite runs all of it against a scripted agent. An answer that comes has time to come on
// a busy machine, and one that does not is waited for beside those of other agents.
func suite(t *testing.T, agent, authMethod string, args ...string) *Report {
	t.Helper()
	report, err := Run(t.Context(), Command{Path: agent, Args: args}, &Options{
		Timeout: 15 * time.Second, ExitTimeout: 5 * time.Second, AuthMethod: authMethod,
	})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	name, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return name
}
