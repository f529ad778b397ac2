package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// What errand does for the agent is shown as it is done, and what it refuses.
func TestDoingsAreShown(t *testing.T) {
	const agent = `
on session/prompt
  request fs/read_text_file {"sessionId": "$session", "path": "$cwd/in"}
  request fs/read_text_file {"sessionId": "$session", "path": "/etc/hostname"}
  request fs/read_text_file {"sessionId": "$session", "path": "$cwd/gone"}
  request fs/write_text_file {"sessionId": "$session", "path": "$cwd/sub/out", "content": "text"}
  request terminal/create {"sessionId": "$session", "command": "sh", "args": ["-c", "exit 3"]}
  set t "$answer.terminalId"
  request terminal/wait_for_exit {"sessionId": "$session", "terminalId": "$t"}
  request terminal/create {"sessionId": "$session", "command": "no-such-program-here"}
  text done
  stop end_turn
`
	want := []string{
		"file: read in: 4 bytes", "file: read /etc/hostname: refused: ", "file: read gone: it is not there", "file: write sub/out: 4 bytes",
		`command: sh -c "exit 3": started`, `command: sh -c "exit 3": exit status 3`, "command: no-such-program-here: refused: ",
	}
	for name, flags := range map[string][]string{"without an audit": nil, "with one": {"--audit", "a.jsonl"}} {
		p := newProgram(t)
		writeFile(t, "text", p.Dir, "in")
		got := p.run(append(append([]string{"run", "--permission", "allow", "--fs", "write", "--terminal", "hi"}, flags...), scripted(t, agent)...)...)
		if got.status != statusOK || got.stdout != "done\n" {
			t.Fatalf("%s: %+v", name, got)
		}
		has(t, name, got.stderr, want...)
		for _, line := range want {
			if strings.Count(got.stderr, line) != 1 {
				t.Errorf("%s: %q is told %d times", name, line, strings.Count(got.stderr, line))
			}
		}
		if flags != nil && len(auditOf(t, filepath.Join(p.Dir, "a.jsonl"))) < 10 {
			t.Errorf("the audit is\n%s", readFile(t, p.Dir, "a.jsonl"))
		}

		for _, silent := range []string{"--quiet", "--events"} {
			got := p.run(append(append([]string{"run", silent, "--permission", "allow", "--fs", "write", "--terminal", "hi"}, flags...), scripted(t, agent)...)...)
			if got.stderr != "" {
				t.Errorf("%s, %s: %s", name, silent, got.stderr)
			}
		}
	}

	// What a policy denies is told once.
	got := newProgram(t).run(append([]string{"run", "--fs", "write", "--terminal", "hi"}, scripted(t, agent)...)...)
	if strings.Contains(got.stderr, "file: write") || strings.Contains(got.stderr, "command: ") {
		t.Errorf("%s", got.stderr)
	}
}

// The text of an agent's files is in an audit where that is asked for.
func TestAuditContent(t *testing.T) {
	for _, content := range []bool{false, true} {
		p := newProgram(t)
		args := []string{"run", "--permission", "allow", "--audit", "a.jsonl", "hi"}
		if content {
			args = append(args, "--audit-content")
		}
		p.run(append(args, scripted(t, `
on session/prompt
  permission c1 "Edit" kind=edit path="$cwd/a.go" input={"path": "$cwd/a.go", "content": "text of $session"}
    option yes allow_once "Yes"
  end
  stop end_turn
`)...)...)
		if is := strings.Contains(readFile(t, p.Dir, "a.jsonl"), "text of session-"); is != content {
			t.Errorf("with --audit-content=%v the text is there: %v", content, is)
		}
	}
	got := newProgram(t).run(append([]string{"run", "--audit-content", "hi"}, scripted(t, "write started\n")...)...)
	if got.status != statusUsage {
		t.Errorf("status %d", got.status)
	}
	has(t, "stderr", got.stderr, "--audit-content needs --audit")
}

// Why a policy did not allow is shown before what became of it.
func TestMissesAreShown(t *testing.T) {
	const agent = `
on session/prompt
  permission c1 "Test" kind=execute input={"command": "cd sub && go test ./..."}
    option yes allow_once "Yes"
    option no reject_once "No"
  end
  permission c2 "Env" kind=edit input={"path": ".env"}
    option yes allow_once "Yes"
    option no reject_once "No"
  end
  stop end_turn
`
	p := newProgram(t)
	writeFile(t, `{"rules": [{"name": "tests", "effect": "allow", "commands": [["go", "test", "**"]]}]}`, p.Dir, "policy.json")
	args := append([]string{"run", "--policy", "policy.json", "hi"}, scripted(t, agent)...)
	has(t, "stderr", p.run(args...).stderr,
		"policy: rule 1 (tests): cd sub && go test ./... is a line for a shell, which only shell means\npermission: Test: denied (rule: deny: default)\n",
		"policy: sensitive file: .env\npermission: Env: denied (rule: ask: sensitive file: nobody to ask)\n")
	if got := p.run(append([]string{"run", "--quiet"}, args[1:]...)...); got.stderr != "" {
		t.Errorf("with --quiet: %s", got.stderr)
	}
}
