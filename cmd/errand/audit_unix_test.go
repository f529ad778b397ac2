//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// What is no file is refused before anything is started, and waited for by nobody.
func TestAuditIsAFile(t *testing.T) {
	p := newProgram(t)
	if err := syscall.Mkfifo(filepath.Join(p.Dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := func(audit string) []string {
		return append([]string{"run", "--json", "--audit", audit, "hi"}, scripted(t, "write started\n")...)
	}
	for _, file := range []string{"fifo", ".", "/dev/stdout"} { // which is a pipe here
		got := p.run(args(file)...)
		if got.status != statusUsage || exists(p.Dir, "started") {
			t.Errorf("%s: status %d", file, got.status)
		}
		has(t, "stderr", got.stderr, "--audit: "+file+" is no regular file")
	}

	// stdout is not, be it a file.
	for _, file := range []string{"/dev/stdout", "answer"} {
		out, err := os.OpenFile(filepath.Join(p.Dir, "answer"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		var stderr bytes.Buffer
		cmd := p.command(args(file)...)
		cmd.Stdout, cmd.Stderr = out, &stderr
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != statusUsage {
			t.Errorf("%s: %v", file, err)
		}
		has(t, "stderr", stderr.String(), "--audit: "+file+" is stdout")
	}

	// Where a link leads is, there yet or not, and so is a device that keeps nothing.
	writeFile(t, "", p.Dir, "old")
	for _, name := range []string{"old", "new"} {
		if err := os.Symlink(name, filepath.Join(p.Dir, "to-"+name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"to-old", "to-new", os.DevNull} {
		got := p.run(append([]string{"run", "--audit", file, "hi"}, scripted(t, asking(""))...)...)
		if got.status != statusOK || strings.Contains(got.stderr, auditIncomplete) {
			t.Errorf("%s: status %d\n%s", file, got.status, got.stderr)
		}
		if file != os.DevNull && len(auditOf(t, filepath.Join(p.Dir, file))) != 3 {
			t.Errorf("%s: %s", file, readFile(t, filepath.Join(p.Dir, file)))
		}
	}
}

// An audit that is not where it was written is a warning and status 1.
func TestAuditReplaced(t *testing.T) {
	const want = auditIncomplete + ": audit.jsonl is not the file any more that was opened"
	for _, flag := range []string{"--json", "--quiet", "--events"} {
		p := newProgram(t)
		got := p.run(append([]string{"run", flag, "--audit", "audit.jsonl", "hi"},
			scripted(t, "on session/prompt\n  write audit.jsonl \"forged\\n\"\n  text done\n  stop end_turn\n")...)...)
		if got.status != statusFailed || strings.Count(got.stderr, want) != 1 {
			t.Errorf("%s: status %d\n%s", flag, got.status, got.stderr)
		}
		if text := readFile(t, filepath.Join(p.Dir, "audit.jsonl")); text != "forged\n" {
			t.Errorf("the script did something else: %q", text)
		}
		if flag == "--json" {
			if res := got.result(t); res.Error != nil || len(res.Warnings) != 1 || res.Warnings[0] != want {
				t.Errorf("error %v, warnings %q", res.Error, res.Warnings)
			}
		}
	}
}

// The end of an audit says whether all of it is there.
func TestAuditEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(file string) error
		want   string
	}{
		"left alone": {func(string) error { return nil }, ""},
		"longer": {func(file string) error { // by another run
			other, err := openAudit(file, os.Stdout)
			if err == nil {
				_, err = other.Write([]byte("other\n"))
				other.end()
			}
			return err
		}, ""},
		"shorter": {func(file string) error { return os.Truncate(file, 7) }, " is shorter than what was written to it"},
		"gone":    {os.Remove, " is not the file any more that was opened"},
		"moved":   {func(file string) error { return os.Rename(file, file+".1") }, " is not the file any more that was opened"},
	} {
		t.Run(name, func(t *testing.T) {
			file := writeFile(t, "before\n", t.TempDir(), "audit")
			a, err := openAudit(file, os.Stdout)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := a.Write([]byte("line\n")); err != nil {
				t.Fatal(err)
			}
			if err := tt.change(file); err != nil {
				t.Fatal(err)
			}
			want := tt.want
			if want != "" {
				want = auditIncomplete + ": " + file + want
			}
			if got := a.end(); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// The agent does not reach the files that rule and tell of its run through us, under no name
// of theirs, whatever else it may do, and whoever says so.
func TestOwnFilesAreDenied(t *testing.T) {
	const agent = `
on session/prompt
  request fs/read_text_file {"sessionId": "$session", "path": "$cwd/audit.jsonl"}
  text "$error.code,"
  request fs/read_text_file {"sessionId": "$session", "path": "$cwd/policy.json"}
  text "$error.code,"
  request fs/read_text_file {"sessionId": "$session", "path": "$cwd/decide"}
  text "$error.code,"
  request fs/read_text_file {"sessionId": "$session", "path": "$cwd/hard"}
  text "$error.code,"
  request fs/write_text_file {"sessionId": "$session", "path": "$cwd/policy.json", "content": "{}"}
  text "$error.code,"
  request fs/write_text_file {"sessionId": "$session", "path": "$cwd/decide", "content": "{}"}
  text "$error.code,"
  request fs/write_text_file {"sessionId": "$session", "path": "$cwd/link", "content": "x"}
  text "$error.code,"
  request terminal/create {"sessionId": "$session", "command": "cp", "args": ["a.txt", "audit.jsonl"]}
  text "$error.code,"
  request terminal/create {"sessionId": "$session", "command": "truncate -s 0 hard"}
  text "$error.code,"
  request terminal/create {"sessionId": "$session", "command": "cat \"audit\".jsonl >&2"}
  text "$error.code,"
  request terminal/create {"sessionId": "$session", "command": "rm", "args": ["-f", "./policy.json", "decide"]}
  text "$error.code;"
  request fs/read_text_file {"sessionId": "$session", "path": "$cwd/a.txt"}
  text "$error.code,"
  request fs/write_text_file {"sessionId": "$session", "path": "$cwd/other", "content": "x"}
  text "$error.code,"
  request terminal/create {"sessionId": "$session", "command": "true"}
  text "$error.code"
  stop end_turn
`
	const (
		no     = "-32600,"
		policy = `{"default": "allow", "rules": []}`
		rule   = "deny: a file of errand's own"
	)
	for name, tt := range map[string]struct {
		flags  []string
		denied string // of each request for one of the files
	}{
		"policy":        {[]string{"--policy", "policy.json"}, no + no + "," + no + no + "," + no + no + no + no + no},
		"through links": {[]string{"--policy", "to-policy"}, no + no + "," + no + no + "," + no + no + no + no + no},
		"allow":         {[]string{"--permission", "allow"}, no + ",," + no + ",," + no + no + no + no + ","},
		"a command":     {[]string{"--permission-command", "./decide"}, no + "," + no + no + "," + no + no + no + no + no + no},
		"its argument":  {[]string{"--permission-command", "sh ./decide"}, no + "," + no + no + "," + no + no + no + no + no + no},
		"a pattern":     {[]string{"--permission-command", "grep -q -e decide -e ."}, no + ",," + no + ",," + no + no + no + no + ","},
		"both":          {[]string{"--permission-command", "./decide", "--policy", "policy.json"}, strings.Repeat(no, 11)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t)
			writeFile(t, "text", p.Dir, "a.txt")
			writeFile(t, policy, p.Dir, "policy.json")
			writeFile(t, "#!/bin/sh\n", p.Dir, "decide")
			if err := os.Chmod(filepath.Join(p.Dir, "decide"), 0o755); err != nil {
				t.Fatal(err)
			}
			writeFile(t, "", p.Dir, "audit.jsonl")
			if err := os.Link(filepath.Join(p.Dir, "audit.jsonl"), filepath.Join(p.Dir, "hard")); err != nil {
				t.Fatal(err)
			}
			for link, to := range map[string]string{"link": "audit.jsonl", "to-policy": "policy.json"} {
				if err := os.Symlink(to, filepath.Join(p.Dir, link)); err != nil {
					t.Fatal(err)
				}
			}
			got := p.run(append(append([]string{"run", "--json", "--fs", "write", "--terminal", "--audit", "audit.jsonl", "hi"}, tt.flags...), scripted(t, agent)...)...)
			res := got.result(t)
			want := strings.TrimSuffix(tt.denied, ",") + ";,,"
			if got.status != statusOK || res.Output != want || !exists(p.Dir, "other") {
				t.Errorf("status %d, output\n%q, want\n%q\n%s", got.status, res.Output, want, got.stderr)
			}
			for _, rec := range res.Permissions {
				if rec.Decision == permission.Denied && rec.Rule != rule {
					t.Errorf("denied by %q: %+v", rec.Rule, rec.Facts)
				}
			}
			if last := auditOf(t, filepath.Join(p.Dir, "audit.jsonl")); len(last) == 0 || last[len(last)-1].Type != subagent.AuditTypeEnd {
				t.Errorf("the audit is %+v", last)
			}
		})
	}
}
