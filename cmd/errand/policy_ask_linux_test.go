package main

import (
	"testing"

	"github.com/errand-acp/errand/permission"
)

// What a policy asks is put to the terminal, and what it decides is not.
func TestPolicyAsksOnTheTerminal(t *testing.T) {
	p := newProgram(t)
	p.Env = []string{"TERM=dumb"}
	writeFile(t, `{"rules": [
		{"name": "go", "effect": "ask", "paths": ["./*.go"]},
		{"name": "docs", "effect": "allow", "paths": ["./*.md"]}
	]}`, p.Dir, "policy.json")
	tm := newTerminal(t)
	cmd := p.command(append([]string{"run", "--policy", "policy.json", "--permission", "ask", "hi"}, scripted(t, asking(`
  permission c2 "Edit b.md" kind=edit path="$cwd/b.md"
    option yes allow_once "Yes"
    option no reject_once "No"
  end`))...)...)
	tm.start(cmd)
	tm.await("Answer ")
	if _, err := tm.master.WriteString("y\n"); err != nil {
		t.Fatal(err)
	}
	shown := tm.rest()
	if status := exitStatusOf(t, cmd); status != statusOK {
		t.Errorf("status %d", status)
	}
	has(t, "the terminal", shown,
		"permission: Edit a.go: "+string(permission.Allowed)+" (rule: ask: go: ask)\n",
		"permission: Edit b.md: "+string(permission.Allowed)+" (rule: allow: docs)\n", "allowed\n")
}
