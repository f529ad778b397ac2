package conform

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// inapplicable are the rules that an agent cannot keep together with the others, and why.
var inapplicable = map[string]string{}

// TestHonest: there is an agent that keeps every rule, and is seen to.
func TestHonest(t *testing.T) {
	t.Parallel()
	report := tryScript(t, readScript(t, "testdata/honest.script"), nil)
	for _, f := range report.Findings {
		if f.Verdict != Pass && (f.Verdict != NotApplicable || inapplicable[f.Rule.ID] == "") {
			t.Error(explain(f))
		}
	}
}

// TestBreak: for each rule there is an agent that breaks it and no other.
func TestBreak(t *testing.T) {
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
			report := tryScript(t, readScript(t, name), nil)
			want := Fail
			if rule.Level != Must {
				want = Warn
			}
			for _, f := range report.Findings {
				switch broken := f.Verdict == Fail || f.Verdict == Warn; {
				case f.Rule.ID == rule.ID && f.Verdict != want:
					t.Errorf("it was not caught: %s", explain(f))
				case f.Rule.ID != rule.ID && broken:
					t.Errorf("it should break %s only: %s", rule.ID, explain(f))
				case f.Rule.ID == rule.ID && (len(f.Entries) == 0 || f.Why == ""):
					t.Errorf("nothing shows it: %s", explain(f))
				case f.Verdict == NotApplicable && f.Why == "":
					t.Errorf("%s is not applicable, and nothing says why", f.Rule.ID)
				}
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(scripts)) {
		t.Errorf("there is no rule %s to break", name)
	}
}

func readScript(t *testing.T, name string) string {
	t.Helper()
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}
