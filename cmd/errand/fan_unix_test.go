//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/errand-acp/errand/subagent"
)

// startFan starts errand fan with --prompts for the scripted agent.
func (p *program) startFan(prompts []string, script string, flags ...string) *session {
	p.t.Helper()
	args := append([]string{"fan", "--prompts", p.promptFile(prompts...)}, flags...)
	return p.start(append(args, scripted(p.t, script)...)...)
}

// rest reads what is left of stdout and returns it with the status.
func (s *session) rest() outcome {
	s.t.Helper()
	var stdout bytes.Buffer
	if _, err := stdout.ReadFrom(s.stdout); err != nil {
		s.t.Fatal(err)
	}
	return outcome{stdout: stdout.String(), status: s.status(), stderr: s.stderr.String()}
}

// awaitLines waits until a file has so many lines.
func (p *program) awaitLines(name string, n int) {
	p.t.Helper()
	for deadline := time.Now().Add(tooLong); ; time.Sleep(time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(p.Dir, name))
		if strings.Count(string(text), "\n") >= n {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s has not got %d lines:\n%s", name, n, text)
		}
	}
}

// A signal cancels all, and what has finished is printed; what has not begun does not.
func TestFanSignals(t *testing.T) {
	t.Parallel()
	for sig, status := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			p := newProgram(t)
			s := p.startFan([]string{"quick", "hangs 1", "hangs 2", "hangs 3"}, fanScript, "--jobs", "2", "--json", "--journal", "j")
			p.awaitLines("began", 2)
			p.awaitEnds("j", 1)
			s.signal(sig)
			got := s.rest()
			r := got.report(t)
			if got.status != status || r.stops() != "completed aborted aborted aborted" || r.Reached {
				t.Errorf("status %d, want %d: %s\n%s", got.status, status, r.stops(), got.stderr)
			}
			if r.Results[0].Output != "said quick" || r.Results[1].Output != "so far" || r.Results[3].SessionID != nil {
				t.Errorf("%q, %q, %v", r.Results[0].Output, r.Results[1].Output, r.Results[3].SessionID)
			}
			if r.Totals.NotStarted != 1 || r.Totals.Cancelled != 3 {
				t.Errorf("totals %+v", r.Totals)
			}
			has(t, "stderr", got.stderr, "errand: 1 of 4 completed, 3 cancelled: "+sig.String()+"\n")
		})
	}
}

// The second one kills what does not heed the first; the finished is printed all the same.
func TestFanSecondSignalKills(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	s := p.startFan([]string{"quick", "deaf 1", "deaf 2"}, `
set deaf no
ignore TERM
ignore INT
on session/prompt "quick"
  text "said quick"
  stop end_turn
on session/prompt
  set deaf yes
  append deaf x
  wait cancel
  wait forever
on session/cancel
  append cancelled x
  wait forever
on eof
  if $deaf is yes
    wait forever
  end
  exit 0
`, "--cancel-grace", "1h", "--eof-grace", "1h", "--jobs", "3", "--journal", "j")
	p.awaitLines("deaf", 2)
	p.awaitEnds("j", 1)
	s.signal(syscall.SIGINT)
	p.awaitLines("cancelled", 2)
	s.signal(syscall.SIGINT)
	got := s.rest()
	if got.status != 130 {
		t.Errorf("status %d\n%s", got.status, got.stderr)
	}
	has(t, "stdout", got.stdout, "== 1 errand.test: done ==\nsaid quick\n")
}

// A reader that goes away cancels all.
func TestFanWithoutReader(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	s := p.startFan([]string{"hangs", "hangs"}, fanScript, "--events")
	p.awaitLines("began", 2)
	s.pipe.Close()
	if status := s.status(); status != statusSIGPIPE {
		t.Errorf("status %d\n%s", status, &s.stderr)
	}
}

// ends reads the journal as another program would: the stop of each run's last line, if
// that is an end.
func (p *program) ends(dir string) map[string]string {
	p.t.Helper()
	files, err := filepath.Glob(filepath.Join(p.Dir, dir, "*.ndjson"))
	if err != nil {
		p.t.Fatal(err)
	}
	ends := map[string]string{}
	for _, file := range files {
		lines := strings.Split(readFile(p.t, file), "\n")
		for i, line := range lines {
			var e fanEvent
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				if i < len(lines)-1 {
					p.t.Errorf("%s:%d: %v: %s", file, i+1, err, line)
				}
				continue
			}
			if e.Type == subagent.EventEnd && e.Result.Exit != nil { // it is final
				ends[filepath.Base(file)] += string(e.Result.Stop) + " " + e.Result.Output + ";"
			}
		}
	}
	return ends
}

// awaitEnds waits until so many runs have ended in the journal.
func (p *program) awaitEnds(dir string, n int) {
	p.t.Helper()
	for deadline := time.Now().Add(tooLong); len(p.ends(dir)) < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("only %v has ended", p.ends(dir))
		}
	}
}

// Of a parent that was killed the finished runs are there to read, and --resume
// runs only the others.
func TestFanJournalOfAKilledParent(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	prompts := []string{"quick 1", "crashes", "waits 1", "quick 2", "waits 2"}
	args := []string{"--journal", "j", "--env", "ERRAND_TEST_FAKE_TOKEN=sesame-sesame"}
	script := fanScript + "on start\n  append starts x\n  stderr \"my token is $env.ERRAND_TEST_FAKE_TOKEN\"\n"
	s := p.startFan(prompts, script, append(args, "--events", "--jobs", "5")...)
	p.awaitLines("began", 2)
	p.awaitEnds("j", 3)

	// Nobody else gets at it meanwhile.
	resume := append([]string{"fan", "--json", "--prompts", "prompts", "--resume"}, args...)
	got := p.run(append(resume, scripted(t, script)...)...)
	if got.status != statusUsage {
		t.Errorf("status %d of a second one", got.status)
	}
	has(t, "stderr", got.stderr, "errand: --journal: the journal is in use\n")

	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.cmd.Wait()
	want := map[string]string{"0000.ndjson": "completed said quick 1;", "0001.ndjson": "error half;", "0003.ndjson": "completed said quick 2;"}
	ends := p.ends("j")
	for file, end := range want {
		if ends[file] != end {
			t.Errorf("%s ends with %q, want %q", file, ends[file], end)
		}
	}
	has(t, "the events of an unfinished run", readFile(t, p.Dir, "j", "0002.ndjson"), `"type":"start"`, "working on waits 1")
	tornEnd(t, filepath.Join(p.Dir, "j", "0004.ndjson"))

	// Its agents went with it.
	if alive := survivors(p.mark, p.Dir); len(alive) > 0 {
		t.Errorf("alive after their parent: %v", alive)
	}

	// Other tasks are not those of the journal.
	if err := os.Mkdir(filepath.Join(p.Dir, ".git"), 0o700); err != nil { // nobody looks into it
		t.Fatal(err)
	}
	for name, other := range map[string][]string{
		"another prompt": {"--prompts", "other"}, "a permission": {"--permission", "allow"}, "another directory": {"--dir", "/"},
		"files": {"--fs", "read"}, "commands": {"--terminal"}, "a program that decides": {"--permission-command", "true"},
		"rules": {"--policy", "policy.json"}, "work trees": {"--worktree"}, "what is not committed": {"--worktree", "--uncommitted"},
		"a depth": {"--max-depth", "1"}, "a variable": {"--env", "LANG=C"},
	} {
		if err := os.WriteFile(filepath.Join(p.Dir, "policy.json"), []byte(`{"rules": [{"effect": "allow", "kinds": ["edit"], "paths": ["./**"]}]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p.Dir, "other"), []byte("quick 1\ncrashes\nwaits 1\nquick 2\nwaits 3"), 0o600); err != nil {
			t.Fatal(err)
		}
		got := p.run(append(append(resume, other...), scripted(t, script)...)...)
		if got.status != statusUsage || !strings.Contains(got.stderr, "the tasks are not the journal's: number ") {
			t.Errorf("%s: status %d, %s", name, got.status, got.stderr)
		}
	}

	if err := os.WriteFile(filepath.Join(p.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// What is no result of ours is none.
	foreign, err := os.OpenFile(filepath.Join(p.Dir, "j", "0001.ndjson"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := foreign.WriteString(`{"type":"end","result":{"stop":"completed"}}` + "\n"); err != nil {
		t.Fatal(err)
	}
	foreign.Close()
	before := strings.Count(readFile(t, p.Dir, "starts"), "x")
	got = p.run(append(resume, scripted(t, script)...)...)
	r := got.report(t)
	if r.stops() != "completed/resumed error/exit completed completed/resumed completed" || got.status != statusFailed {
		t.Errorf("status %d, %s\n%s", got.status, r.stops(), got.stderr)
	}
	if r.Results[0].Output != "said quick 1" || r.Results[4].Output != "working on waits 2; done" || r.Totals.Runs != 5 {
		t.Errorf("outputs %q, %q; totals %+v", r.Results[0].Output, r.Results[4].Output, r.Totals)
	}
	if n := strings.Count(readFile(t, p.Dir, "starts"), "x") - before; n != 3 {
		t.Errorf("%d agents were started, want 3", n)
	}
	if end := p.ends("j")["0004.ndjson"]; end != "completed working on waits 2; done;" {
		t.Errorf("the journal has %q", end)
	}

	// Once more: only the one that fails.
	got = p.run(append(resume, scripted(t, script)...)...)
	if stops := got.report(t).stops(); stops != "completed/resumed error/exit completed/resumed completed/resumed completed/resumed" {
		t.Errorf("the second time: %s", stops)
	}
	files, err := filepath.Glob(filepath.Join(p.Dir, "j", "*"))
	if err != nil || len(files) != 6 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		if strings.Contains(readFile(t, file), "sesame") {
			t.Errorf("%s has a secret", file)
		}
	}
}

// An answer is kept while its agent is still being ended.
func TestFanJournalHasTheOutcome(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	const script = `
on session/prompt
  append starts x
  text "said it"
  stop end_turn
on eof
  wait forever
`
	s := p.startFan([]string{"hi"}, script, "--journal", "j", "--eof-grace", "1h")
	for deadline := time.Now().Add(tooLong); ; time.Sleep(time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(p.Dir, "j", "0000.ndjson"))
		if bytes.Contains(text, []byte(`"type":"end"`)) && bytes.HasSuffix(text, []byte("\n")) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("there is no outcome:\n%s", text)
		}
	}
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.cmd.Wait()
	got := p.run(append([]string{"fan", "--prompts", "prompts", "--journal", "j", "--resume", "--json"}, scripted(t, script)...)...)
	if r := got.report(t); r.stops() != "completed/resumed" || r.Results[0].Output != "said it" || readFile(t, p.Dir, "starts") != "x\n" {
		t.Errorf("%s, %q\n%s", r.stops(), r.Results[0].Output, got.stderr)
	}
}

// tornEnd leaves half of a last line, as a program that is killed in the middle does.
func tornEnd(t *testing.T, file string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(`{"index":4,"name":"errand.test","type":"end","result":{"stop":"compl`); err != nil {
		t.Fatal(err)
	}
}

// What is enough may be there already.
func TestFanResumesARace(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	if got := p.fan([]string{"quick", "refuses", "crashes"}, "--journal", "j"); got.status != statusFailed {
		t.Fatalf("status %d", got.status)
	}
	got := p.fan([]string{"quick", "refuses", "crashes"}, "--journal", "j", "--resume", "--first", "--json")
	r := got.report(t)
	if got.status != statusOK || r.stops() != "completed/resumed refusal/resumed error/exit/resumed" {
		t.Errorf("status %d, %s\n%s", got.status, r.stops(), got.stderr)
	}
}

// A journal that cannot be written is said, in the result too, and costs no result.
func TestFanJournalIsLost(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	s := p.startFan([]string{"waits", "quick"}, fanScript, "--jobs", "1", "--journal", "j", "--json")
	p.awaitLines("began", 1)
	if err := os.Symlink("elsewhere", filepath.Join(p.Dir, "j", "0001.ndjson")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := s.rest()
	r := got.report(t)
	if r.stops() != "completed completed" || !r.Reached || got.status != statusFailed {
		t.Errorf("status %d, reached %v, %s", got.status, r.Reached, r.stops())
	}
	for what, text := range map[string]string{"stderr": got.stderr, "the warnings": strings.Join(r.Warnings, "\n")} {
		has(t, what, text, "the journal is not complete: ", "0001.ndjson in j is no regular file")
	}
	if exists(p.Dir, "j", "elsewhere") {
		t.Error("the link was followed")
	}
}

// The agent does not get at the journal through errand.
func TestFanJournalIsSpared(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	got := p.run(append([]string{"fan", "--quiet", "--journal", "j", "--fs", "write", "--permission", "allow", "hi"}, scripted(t, `
on session/prompt
  request fs/write_text_file {"sessionId": "$session", "path": "$cwd/j/0000.ndjson", "content": "x"}
  text "$error.code,"
  request fs/write_text_file {"sessionId": "$session", "path": "$cwd/j/new", "content": "x"}
  text "$error.code,"
  request fs/write_text_file {"sessionId": "$session", "path": "$cwd/other", "content": "x"}
  text "$error.code"
  stop end_turn
`)...)...)
	if got.status != statusOK || !exists(p.Dir, "other") || exists(p.Dir, "j", "new") || strings.HasPrefix(readFile(t, p.Dir, "j", "0000.ndjson"), "x") {
		t.Errorf("status %d, %s%s", got.status, got.stdout, got.stderr)
	}
	has(t, "the answer", got.stdout, "-32600,-32600,")
}

// Each run has a work tree of its own, and what it changed is in its result.
func TestFanWorktree(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	p := newProgram(t)
	repo := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+p.Dir, "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q")
	if err := os.WriteFile(filepath.Join(repo, "a.txt"), []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git("add", "a.txt")
	git("commit", "-q", "-m", "one")

	const writes = `
on session/prompt
  write new-${prompt}.txt "from $prompt\n"
  text "in $cwd"
  stop end_turn
`
	run := func(flags ...string) outcome {
		args := append([]string{"fan", "--worktree", "--dir", repo, "--prompts", p.promptFile("one", "two")}, flags...)
		return p.run(append(args, scripted(t, writes)...)...)
	}
	got := run("--json")
	r := got.report(t)
	if got.status != statusOK || r.stops() != "completed completed" {
		t.Fatalf("status %d, %s\n%s", got.status, r.stops(), got.stderr)
	}
	for i, name := range []string{"new-one.txt", "new-two.txt"} {
		res := r.Results[i]
		if len(res.Changes) != 1 || res.Changes[0].Path != name || res.Patch == nil || !strings.Contains(*res.Patch, "+from ") {
			t.Errorf("%s: changes %+v, patch %v", name, res.Changes, res.Patch)
		}
		if exists(repo, name) || exists(res.Dir) {
			t.Errorf("%s: in the repository: %v; its tree is left: %v", name, exists(repo, name), exists(res.Dir))
		}
	}
	if status := git("status", "--porcelain"); status != "" {
		t.Errorf("git status: %s", status)
	}
	has(t, "stdout", run().stdout, "\nchanged: new-one.txt: added, +1 -0\n", "\nchanged: new-two.txt: added, +1 -0\n")

	// What is not committed is there where that is said.
	if err := os.WriteFile(filepath.Join(repo, "b.txt"), []byte("b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{nil, {"--uncommitted"}} {
		args := append([]string{"fan", "--json", "--worktree", "--dir", repo, "hi"}, flags...)
		res := p.run(append(args, scripted(t, "on session/prompt\n  read b.txt\n  text \"$answer\"\n  stop end_turn\n")...)...).report(t).Results[0]
		if there := res.Output == "b\n"; there != (flags != nil) {
			t.Errorf("%q: it read %q", flags, res.Output)
		}
	}

	got = p.run("fan", "--worktree", "--wrap", "env -C {dir}", "--agent", "demo", "hi")
	if got.status != statusUsage {
		t.Errorf("status %d with {dir}", got.status)
	}
	has(t, "stderr", got.stderr, "--worktree and a --wrap with {dir} exclude each other")
}
