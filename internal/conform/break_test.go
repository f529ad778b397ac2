package conform

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// login has the rules whose agents want a login: the suite is given the method.
var login = map[string]string{"auth-required": "key", "auth-login": "key"}

// TestScripts: there is an agent that keeps every rule, and is seen to, and for each rule
// there is one that breaks it and no other.
func TestScripts(t *testing.T) {
	t.Parallel()
	t.Run("honest", func(t *testing.T) {
		t.Parallel()
		for _, f := range tryScript(t, read(t, "testdata/honest.script"), &Options{AuthMethod: "key"}).Findings {
			if f.Verdict != Pass {
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
			for _, f := range tryScript(t, read(t, name), &Options{AuthMethod: login[rule.ID]}).Findings {
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

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
