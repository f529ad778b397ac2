package envscrub

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// TestRules makes the table of the rules for the documentation and holds the stored one
// to it.
func TestRules(t *testing.T) {
	var b strings.Builder
	escape := strings.NewReplacer("|", `\|`, "*", `\*`, "_", `\_`)
	b.WriteString("| rule | held back because |\n|---|---|\n")
	for _, r := range Rules() {
		b.WriteString("| `" + r.Name + "` | " + escape.Replace(r.Meaning) + " |\n")
	}
	const golden = "testdata/rules.md"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s is not what the rules say; run go test -update (-want +got):\n%s", golden, diff)
	}
}

// TestRulesListed reports a rule that the tables use and Rules does not list.
func TestRulesListed(t *testing.T) {
	listed := map[string]bool{}
	for _, r := range Rules() {
		if listed[r.Name] || r.Name == "" || r.Meaning == "" {
			t.Errorf("rule %q is listed twice or has no name or meaning", r.Name)
		}
		listed[r.Name] = true
	}
	used := map[string]bool{}
	for _, file := range []string{"testdata/secret.txt"} {
		for _, entry := range corpus(t, file) {
			name, value, _ := strings.Cut(entry, "=")
			rule, _ := Secret(name, value)
			used[rule] = true
		}
	}
	for rule := range used {
		if !listed[rule] {
			t.Errorf("rule %q is not listed", rule)
		}
	}
	for _, r := range Rules() {
		switch r.Name {
		case ruleHost, ruleLoader, ruleDrop, ruleStrict, ruleProxy:
		default:
			if !used[r.Name] {
				t.Errorf("no entry of the corpus is held back by rule %q", r.Name)
			}
		}
	}
}
