package envscrub

import (
	"slices"
	"strings"
	"testing"

	"github.com/errand-acp/errand/internal/check"
)

// FuzzScrub holds Scrub to what it promises for any environment and policy: a name
// that is held back is not in the result, the order is kept, a second scrub changes
// nothing, explicit entries end the list, and the report knows no value.
func FuzzScrub(f *testing.F) {
	f.Add("PATH=/bin\nTOKEN=x\nA=1\nA=2\n=x", "A*", "B", "C=3\nC=4", byte(0), false)
	f.Add("HTTP_PROXY=http://u:p@h:1,http://v:q@i\nhttps_proxy=a:b@c:1", "", "", "", byte(1), true)
	f.Add("=C:=C:\\\nGIT_CONFIG_COUNT=1\nGIT_CONFIG_VALUE_0=Authorization: Basic dTpwYXNz", "[", "?", "=", byte(2), true)
	for _, file := range []string{"testdata/secret.txt", "testdata/harmless.txt"} {
		for i, entry := range corpus(f, file) {
			if i%40 == 0 {
				f.Add(entry, "", "", entry, byte(0), false)
			}
		}
	}
	f.Fuzz(func(t *testing.T, env, pass, drop, set string, mode byte, windows bool) {
		check.Cost(t, len(env)+len(pass)+len(drop)+len(set))
		environ := strings.Split(env, "\n")
		p := Policy{Mode: Mode(mode % 3), Pass: strings.Fields(pass), Drop: strings.Fields(drop), Set: strings.Split(set, "\n")}
		out, report := scrub(environ, p, windows)

		place := map[string]int{} // of each name in the result
		for i, entry := range out {
			v, ok := parse(entry, windows)
			if !ok {
				t.Fatalf("malformed entry %q in the result", entry)
			}
			key := nameKey(v.name, windows)
			if _, twice := place[key]; twice {
				t.Fatalf("%q is in the result twice", v.name)
			}
			place[key] = i
		}
		for _, held := range report.Held {
			if _, ok := place[nameKey(held.Name, windows)]; ok {
				t.Fatalf("%q is held back and in the result", held.Name)
			}
		}

		ambient, malformed := effective(environ, windows)
		explicit, _ := effective(p.Set, windows)
		if malformed != report.Malformed {
			t.Fatalf("%d malformed entries reported, want %d", report.Malformed, malformed)
		}
		listed := map[string]string{}
		for _, list := range [][]Finding{report.Held, report.Changed, report.Exposed} {
			for _, finding := range list {
				listed[finding.Name] = finding.Rule
			}
		}
		for name, rule := range listed {
			if !slices.ContainsFunc(ambient, func(v variable) bool { return v.name == name }) ||
				!slices.ContainsFunc(rules, func(r Rule) bool { return r.Name == rule }) {
				t.Fatalf("the report says %q: %q", name, rule)
			}
		}
		if len(out) < len(explicit) {
			t.Fatal("an explicit entry is missing")
		}
		for i, v := range explicit {
			if got := out[len(out)-len(explicit)+i]; got != v.entry {
				t.Fatalf("explicit entry %d is %q, want %q", i, got, v.entry)
			}
		}
		last := -1
		for _, v := range ambient {
			i, ok := place[nameKey(v.name, windows)]
			if !ok || i >= len(out)-len(explicit) {
				continue
			}
			if i < last {
				t.Fatalf("%q is out of order", v.name)
			}
			last = i
			if out[i] != v.entry && listed[v.name] != ruleProxy {
				t.Fatalf("%q became %q without a word", v.entry, out[i])
			}
			if rule, secret := Secret(v.name, out[i][len(v.name)+1:]); secret && listed[v.name] != rule {
				t.Fatalf("%q passed although it is a secret by rule %q", out[i], rule)
			}
		}

		again, second := scrub(out, p, windows)
		if !slices.Equal(out, again) || len(second.Changed) > 0 {
			t.Fatalf("scrubbed again:\n got %q\nwant %q", again, out)
		}
		secrets(environ, p, windows)
		if err := p.Validate(); err != nil && strings.Contains(err.Error(), "\x00") {
			t.Fatalf("error with a NUL: %q", err)
		}
	})
}
