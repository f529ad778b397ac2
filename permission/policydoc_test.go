package permission_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Each row of the tables in docs/policy.md is so.
func TestPolicyManual(t *testing.T) {
	text, err := os.ReadFile("../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)`( \\*warned\\*)? \\| `([^`]+)` \\| (\\w+) \\|$").FindAllStringSubmatch(string(text), -1)
	if n := strings.Count(string(text), "\n| `"); n != len(rows) || n < 40 {
		t.Fatalf("%d rows, %d of them understood", n, len(rows))
	}
	for _, row := range rows {
		rule, warned, text, want := row[1], row[2] != "", strings.ReplaceAll(row[3], `\|`, "|"), row[4]
		policy := rules(t, `{"default":"ask","rules":[`+rule+`]}`)
		if (len(policy.Warnings()) > 0) != warned {
			t.Errorf("%s: warnings %q", rule, policy.Warnings())
		}
		if !strings.HasPrefix(text, "{") {
			text = run(text)
		}
		v := policy.Explain(call(t, text))
		got := string(v.Effect)
		switch v.Rule {
		case "default":
			got = "default"
		case "sensitive file":
			got = "sensitive"
		}
		if got != want {
			t.Errorf("%s: %s: %+v, want %s", rule, text, v, want)
		}
	}
}
