package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTryPolicy(t *testing.T) {
	p := newProgram(t)
	writeFile(t, `{"default": "ask", "rules": [
		{"name": "work", "effect": "allow", "kinds": ["read", "edit"], "paths": ["./**"]},
		{"name": "tests", "effect": "allow", "commands": [["go", "test", "**"], ["git", "diff"]]},
		{"name": "lists", "effect": "allow", "commands": [["ls"], ["mine"], ["stat", "**"]]},
		{"name": "no", "effect": "deny", "commands": [["rm"]]}
	]}`, p.Dir, "policy.json")
	writeFile(t, `{"rules": [{"effect": "allow", "shell": true}]}`, p.Dir, "wide.json")
	writeFile(t, `{"rules": [{"effect": "allow"}]}`, p.Dir, "bad.json")
	if err := os.Symlink(os.TempDir(), filepath.Join(p.Dir, "out")); err != nil {
		t.Fatal(err)
	}
	// As a run would find them: a program by its links, and a link that leads nowhere yet.
	if err := os.Symlink("/bin/rm", filepath.Join(p.Dir, "mine")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/nowhere/x", filepath.Join(p.Dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", p.Dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	for _, tt := range []struct {
		args   []string
		status int
		stdout string
		stderr string
	}{
		{[]string{"policy.json"}, statusOK, "", ""},
		{[]string{"wide.json"}, statusOK, "", "errand: policy wide.json: rule 1: shell allows every command, whatever else it names\n"},
		{[]string{"bad.json"}, statusUsage, "", "errand: --policy bad.json: policy: rule 1: it has no condition; what no rule speaks of is the default's\n"},
		{[]string{"none.json"}, statusUsage, "", "errand: --policy: stat none.json: no such file or directory\n"},
		{[]string{"policy.json", "--", "go", "test", "./..."}, statusOK, "allow: tests\n", ""},
		{[]string{"policy.json", "--", "mine"}, statusOK, "deny: no\n", ""},
		{[]string{"policy.json", "--", "ls"}, statusOK, "allow: lists\n", ""},
		{[]string{"policy.json", "--", "stat dangling"}, statusOK, "ask: default\n  rule 3 (lists): no wildcard stands for dangling: it may run another program, or be a path elsewhere\n", ""},
		{[]string{"policy.json", "--", "rm -rf x"}, statusOK, "deny: no\n", ""},
		{[]string{"policy.json", "--", "git diff HEAD"}, statusOK, "ask: default\n  rule 2 (tests): [\"git\" \"diff\" \"HEAD\"] is not [\"git\" \"diff\"]; ** stands for any words\n", ""},
		{[]string{"policy.json", "--call", `{"kind": "edit", "locations": [{"path": "a/b"}]}`}, statusOK, "allow: work\n", ""},
		{[]string{"policy.json", "--call", `{"kind": "edit", "locations": [{"path": "out/b"}]}`}, statusOK, "ask: default\n  rule 1 (work): out/b is not in its paths\n", ""},
		{[]string{"policy.json", "--call", `{"kind": "edit", "locations": [{"path": ".env"}]}`}, statusOK, "ask: sensitive file\n  sensitive file: .env\n", ""},
		{[]string{"policy.json", "--call", `[]`}, statusUsage, "", ""},
		{[]string{"policy.json", "--call", `{}`, "--", "x"}, statusUsage, "", "errand: --call and a CMD exclude each other\n"},
		{[]string{"policy.json", "--dir", "none"}, statusUsage, "", ""},
		{[]string{"--", "x"}, statusUsage, "", ""},
		{[]string{"policy.json", "x"}, statusUsage, "", ""},
		{nil, statusUsage, "", ""},
	} {
		got := p.run(append([]string{"policy"}, tt.args...)...)
		if diff := cmp.Diff(tt.stdout, got.stdout); diff != "" || got.status != tt.status {
			t.Errorf("%q: status %d, stdout (-want +got):\n%s%s", tt.args, got.status, diff, got.stderr)
		}
		if tt.stderr != "" || tt.status == statusOK {
			if diff := cmp.Diff(tt.stderr, got.stderr); diff != "" {
				t.Errorf("%q: stderr (-want +got):\n%s", tt.args, diff)
			}
		} else if got.stderr == "" {
			t.Errorf("%q: nothing is said", tt.args)
		}
	}
}
