package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/stopreason"
)

// What cannot be is said before anything is started, with --json as an object.
func TestFanBadUsage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		args    []string
		prompts string
		want    string
	}{
		{"no agent", []string{"hi"}, "", "no agent: name one"},
		{"an unknown agent", []string{"--agent", "demo", "--agent", "gemeni", "hi"}, "", `--agent: there is no agent "gemeni"`},
		{"json and events", []string{"--agent", "demo", "--events", "hi"}, "", "--json and --events"},
		{"first and quorum", []string{"--agent", "demo", "--first", "--quorum", "1", "hi"}, "", "--first and --quorum"},
		{"no quorum", []string{"--agent", "demo", "--quorum", "0", "hi"}, "", "--quorum 0"},
		{"too large a quorum", []string{"--agent", "demo", "--quorum", "2", "hi"}, "", "--quorum 2: there are only 1 runs"},
		{"uncommitted without a work tree", []string{"--agent", "demo", "--uncommitted", "hi"}, "", "--uncommitted needs --worktree"},
		{"no repository", []string{"--agent", "demo", "--worktree", "--prompts", "p"}, "a\n", "--prompts p:1: --worktree: "},
		{"no jobs", []string{"--agent", "demo", "--jobs", "0", "hi"}, "", "--jobs 0"},
		{"negative starts", []string{"--agent", "demo", "--starts", "-1", "hi"}, "", "--starts -1"},
		{"negative retries", []string{"--agent", "demo", "--retries", "-1", "hi"}, "", "--retries -1"},
		{"two prompts", []string{"--agent", "demo", "hi", "there"}, "", "there are 2 prompts"},
		{"an empty prompt", []string{"--agent", "demo", ""}, "", "the PROMPT is empty"},
		{"a prompt and prompts", []string{"--agent", "demo", "--prompts", "p", "hi"}, "one", "a PROMPT and --prompts"},
		{"no such file", []string{"--agent", "demo", "--prompts", "none"}, "", "--prompts: open none"},
		{"no name of a file", []string{"--agent", "demo", "--prompts", ""}, "", "--prompts is empty"},
		{"no prompt in it", []string{"--agent", "demo", "--prompts", "p"}, "\n", "there is no prompt in it"},
		{"an unknown field", []string{"--agent", "demo", "--prompts", "p"}, "one\n" + `{"prompt": "a", "moddel": "x"}`, "--prompts p:2: "},
		{"which agent", []string{"--agent", "demo", "--agent", "gemini", "--prompts", "p"}, `{"prompt": "a", "agent": "demo"}` + "\nb", `--prompts p:2: it has to say which "agent"`},
		{"none for a line", []string{"--prompts", "p"}, `{"prompt": "a", "agent": "demo"}` + "\nb", "--prompts p:2: no agent: name one"},
		{"an unknown one in a line", []string{"--prompts", "p"}, `{"prompt": "a", "agent": "gemeni"}`, `--prompts p:1: agent: there is no agent "gemeni"`},
		{"no directory", []string{"--agent", "demo", "--prompts", "p"}, "a\n" + `{"prompt": "a", "dir": "nowhere"}`, "--prompts p:2: dir: "},
		{"an empty directory", []string{"--agent", "demo", "--prompts", "p"}, `{"prompt": "a", "dir": ""}`, "--prompts p:1: dir is empty"},
		{"no timeout", []string{"--agent", "demo", "--prompts", "p"}, `{"prompt": "a", "timeout": "5"}`, `--prompts p:1: timeout "5": want a duration`},
		{"a bad flag of run's", []string{"--agent", "demo", "--eof-grace", "0", "hi"}, "", "--eof-grace 0"},
		{"resume without a journal", []string{"--agent", "demo", "--resume", "hi"}, "", "--resume needs the --journal"},
		{"resume what is not there", []string{"--agent", "demo", "--resume", "--journal", "none", "hi"}, "", "--journal: there is no journal in none"},
		{"a journal without a name", []string{"--agent", "demo", "--journal", "", "hi"}, "", "--journal is empty"},
		{"a journal in another's place", []string{"--agent", "demo", "--journal", ".", "hi"}, "x", "--journal: . is not empty"},
		{"a journal that is a link, with a slash", []string{"--agent", "demo", "--journal", "link/", "hi"}, "x", "--journal: link is no directory"},
		{"a journal that is a link", []string{"--agent", "demo", "--journal", "link", "hi"}, "x", "--journal: link is no directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t)
			if tt.prompts != "" {
				if err := os.WriteFile(filepath.Join(p.Dir, "p"), []byte(tt.prompts), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(t.TempDir(), filepath.Join(p.Dir, "link")); err != nil {
				t.Skip(err)
			}
			got := p.run(append([]string{"fan", "--json", "--permission", "allow"}, tt.args...)...)
			if got.status != statusUsage || exists(p.Dir, "errand-demo.txt") {
				t.Errorf("status %d, started: %v", got.status, exists(p.Dir, "errand-demo.txt"))
			}
			has(t, "stderr", got.stderr, "errand: ", tt.want)
			r := got.report(t)
			if r.Reached || r.Error == nil || r.Error.Kind != client.KindConfig {
				t.Fatalf("%+v", r)
			}
			has(t, "the error", r.Error.Message, tt.want)
		})
	}
}

// What is found to be wrong only when the runs begin has the same status, as long as
// nothing was started.
func TestFanRefusedByEachRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		flags  []string
		env    string
		stops  string
		status int
	}{
		{"a repository without a commit", []string{"--worktree", "--dir", "empty"}, "", "error/config error/config", statusUsage},
		{"no number", nil, "ERRAND_MAX_DEPTH=abc", "error/config error/config", statusUsage},
		{"at the limit", nil, "ERRAND_DEPTH=1 ERRAND_MAX_DEPTH=1", "error/limit error/limit", statusUsage},
		{"at the limit, a race", []string{"--first"}, "ERRAND_DEPTH=1 ERRAND_MAX_DEPTH=1", "error/limit error/limit", statusUsage},
		{"of one only", []string{"--", "./nowhere/agent"}, "", "completed completed error/spawn", statusFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t)
			p.Env = strings.Fields(tt.env)
			if slices.Contains(tt.flags, "empty") {
				if out, err := exec.Command("git", "init", "-q", filepath.Join(p.Dir, "empty")).CombinedOutput(); err != nil {
					t.Skip(err, string(out))
				}
			}
			got := p.run(append([]string{"fan", "--json", "--agent", "demo", "--agent", "demo", "hi"}, tt.flags...)...)
			if r := got.report(t); got.status != tt.status || r.stops() != tt.stops || r.Reached {
				t.Errorf("status %d, %s; want %d, %s\n%s", got.status, r.stops(), tt.status, tt.stops, got.stderr)
			}
		})
	}
}

func TestFanNoNumber(t *testing.T) {
	t.Parallel()
	got := newProgram(t).run("fan", "--agent", "demo", "--jobs", "x", "hi")
	if has(t, "stderr", got.stderr, `--jobs "x": want a whole number`); got.status != statusUsage || strings.Contains(got.stderr, "strconv") {
		t.Errorf("status %d\n%s", got.status, got.stderr)
	}
}

// All mistakes in the prompts are told at once, as far as that is of use.
func TestFanTellsAllMistakes(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	got := p.fan([]string{`{"prompt": ""}`, "good", `{"promt": "a"}`})
	if got.status != statusUsage || strings.Count(got.stderr, "errand: --prompts prompts:") != 2 {
		t.Errorf("status %d\n%s", got.status, got.stderr)
	}
	prompts := []string{`{"prompt": "a", "agent": "gemeni"}`, "good", `{"prompt": "a", "dir": "gone"}`}
	got = p.fan(append(prompts, slices.Repeat([]string{`{"prompt": "a", "timeout": "5"}`}, 2*maxMistakes)...), "--json")
	has(t, "stderr", got.stderr, `errand: --prompts prompts:1: agent: there is no agent "gemeni"`, "errand: --prompts prompts:3: dir: ", "errand: and 22 more mistakes like these\n")
	if n := strings.Count(got.stderr, "\n"); n != maxMistakes+1 || got.report(t).Error == nil {
		t.Errorf("%d lines on stderr:\n%s", n, got.stderr)
	}
}

// A policy, an audit and the notes are what all have in common.
func TestFanSharesFlags(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	if err := os.WriteFile(filepath.Join(p.Dir, "policy.json"), []byte(`{"rules": [{"effect": "allow", "kinds": ["edit"], "paths": ["./**"]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	got := p.run("fan", "--json", "--agent", "demo", "--agent", "demo", "--policy", "policy.json", "--audit", "audit", "--fail-on-denied", "hi")
	r := got.report(t)
	if got.status != statusOK || !exists(p.Dir, "errand-demo.txt") {
		t.Errorf("status %d, %s\n%s", got.status, r.stops(), got.stderr)
	}
	audit := readFile(t, p.Dir, "audit")
	for _, res := range r.Results {
		has(t, "the audit", audit, res.RunID)
	}
	got = p.run("fan", "--json", "--agent", "demo", "--agent", "demo", "--fail-on-denied", "hi")
	r = got.report(t)
	if got.status != statusFailed || r.Reached {
		t.Errorf("denied: status %d, reached %v", got.status, r.Reached)
	}
	for _, res := range r.Results {
		has(t, "the warnings", strings.Join(res.Warnings, "\n"), "--fail-on-denied")
		if res.Stop != stopreason.Completed {
			t.Errorf("it ended as %s", res.Stop)
		}
	}
}
