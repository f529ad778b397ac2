package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/subagent"
)

// fanScript does what its prompt says.
const fanScript = `
on session/prompt "quick"
  text "said $prompt"
  stop end_turn
on session/prompt "waits"
  append began $prompt
  text "working on $prompt"
  wait file go
  text "; done"
  stop end_turn
on session/prompt "refuses"
  text "no"
  stop refusal
on session/prompt "crashes"
  text "half"
  stderr "out of memory\nreally\n"
  exit 3
on session/prompt "denied"
  permission call-1 "Write it" kind=edit path=a.txt
    option no reject_once "No"
  end
  append go x
  stop end_turn
on session/prompt "hangs"
  append began $prompt
  text "so far"
  wait cancel
  stop cancelled
on session/prompt
  text "said $prompt"
  stop end_turn
`

// fan runs errand fan with a line of --prompts for each prompt, to the scripted agent.
func (p *program) fan(prompts []string, flags ...string) outcome {
	p.t.Helper()
	args := append([]string{"fan", "--prompts", p.promptFile(prompts...)}, flags...)
	return p.run(append(args, scripted(p.t, fanScript)...)...)
}

func (p *program) promptFile(prompts ...string) string {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.Dir, "prompts"), []byte(strings.Join(prompts, "\n")), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return "prompts"
}

// report reads the one object that --json prints, which is as its schema says.
func (o outcome) report(t *testing.T) *fanReport {
	t.Helper()
	_, resolved := schema(t, "fan")
	validate(t, resolved, o.stdout)
	var r fanReport
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil || strings.Count(o.stdout, "\n") != 1 {
		t.Fatalf("stdout is not one object: %v\n%s\nstderr: %s", err, o.stdout, o.stderr)
	}
	for i, res := range r.Results {
		if res.Index != i {
			t.Errorf("result %d says that it is %d", i, res.Index)
		}
	}
	return &r
}

// stops gives the results in short.
func (r *fanReport) stops() string {
	var parts []string
	for _, res := range r.Results {
		text := string(res.Stop)
		if res.Error != nil {
			text += "/" + string(res.Error.Kind)
		}
		if res.Resumed {
			text += "/resumed"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func TestFanOfSeveralAgents(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	got := p.run(append([]string{"fan", "--json", "--agent", "demo", "--agent", "demo", "quick"}, scripted(t, fanScript)...)...)
	r := got.report(t)
	var names []string
	for _, res := range r.Results {
		names = append(names, res.Name)
	}
	if diff := cmp.Diff([]string{"demo", "demo", "errand.test"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if got.status != statusOK || !r.Reached || r.Wanted != 3 || r.stops() != "completed completed completed" || r.Results[2].Output != "said quick" {
		t.Errorf("status %d, reached %v of %d: %s: %q", got.status, r.Reached, r.Wanted, r.stops(), r.Results[2].Output)
	}
}

// Each line of --prompts is a task, with what it says beside the prompt.
func TestFanOfSeveralPrompts(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	other := t.TempDir()
	prompts := []string{
		"quick one", "", `{"prompt": "quick two", "name": "second", "labels": {"a": "own", "b": "c"}, "dir": ` + fmt.Sprintf("%q", other) + `}`,
		`{"prompt": [{"type": "text", "text": "quick"}, {"type": "text", "text": " three"}], "agent": "demo"}`, `{"prompt": "hangs", "timeout": "300ms"}`,
	}
	got := p.fan(prompts, "--json", "--label", "a=all", "--cancel-grace", "300ms")
	r := got.report(t)
	if r.stops() != "completed completed completed aborted/timeout" || got.status != statusFailed || r.Reached {
		t.Fatalf("status %d, %s\n%s", got.status, r.stops(), got.stderr)
	}
	real, err := filepath.EvalSymlinks(other)
	if err != nil {
		t.Fatal(err)
	}
	one, two, three := r.Results[0], r.Results[1], r.Results[2]
	if one.Name != "errand.test" || one.Output != "said quick one" || one.Labels["a"] != "all" {
		t.Errorf("the first: %q, %q, %v", one.Name, one.Output, one.Labels)
	}
	if two.Name != "second" || two.Dir != real || two.Labels["a"] != "own" || two.Labels["b"] != "c" {
		t.Errorf("the second: %q in %s, %v", two.Name, two.Dir, two.Labels)
	}
	if three.Provider != "demo" {
		t.Errorf("the third: %q", three.Provider)
	}
	has(t, "the timeout", r.Results[3].Error.Message, "300ms")
}

// One that fails costs nobody else a result; the answers are there under their headings.
func TestFanShowsAll(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	got := p.fan([]string{"quick \x1b[31m\u202e", "crashes", "refuses"}, "--jobs", "1")
	if got.status != statusFailed {
		t.Errorf("status %d", got.status)
	}
	stdout := regexp.MustCompile(`session/prompt: [^=]*`).ReplaceAllString(got.stdout, "session/prompt: … ")
	want := "== 1 errand.test: done ==\nsaid quick \\u{1b}[31m\\u{202e}\n\n" +
		"== 2 errand.test: failed: session/prompt: … ==\nhalf\n\n" +
		"== 3 errand.test: failed: the agent refused ==\nno\n"
	if diff := cmp.Diff(want, stdout); diff != "" {
		t.Errorf("stdout (-want +got):\n%s", diff)
	}
	has(t, "stderr", got.stderr, "1 errand.test: started\n", "1 errand.test: done in ", "2 errand.test: failed: session/prompt: ",
		"errand: 2 errand.test: session/prompt: ", "  | out of memory\n  | really\n", "errand: 3 errand.test: refused\n", "errand: 1 of 3 completed, 2 failed; wanted 3\n")
	if strings.ContainsAny(got.stdout+got.stderr, "\x1b\u202e\r") {
		t.Errorf("there are control characters:\n%q\n%q", got.stdout, got.stderr)
	}
}

// What went wrong is said at length once, and short elsewhere, of the run by its name.
func TestFanExplainsOnce(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	prompts := []string{`{"prompt": "refuses", "name": "login"}`, `{"prompt": "hi", "name": "logout", "agent": "gemini"}`, `{"prompt": "crashes", "name": "` + strings.Repeat("long ", 5) + `"}`}
	p.Env = []string{"PATH=" + t.TempDir()}
	got := p.fan(prompts)
	has(t, "stdout", got.stdout, "== 1 login: failed: the agent refused ==\n", "== 2 logout: failed: not installed ==\n")
	has(t, "stderr", got.stderr, "2 logout: failed: not installed in ", "errand: 1 login: refused\n", "errand: 2 logout: spawn: command \"gemini\": ")
	if n := strings.Count(got.stdout+got.stderr, "executable file not found"); n != 1 {
		t.Errorf("it is said %d times:\n%s%s", n, got.stdout, got.stderr)
	}
	for line := range strings.Lines(got.stdout) {
		if len(line) > 160 {
			t.Errorf("a heading of %d bytes: %s", len(line), line)
		}
	}
	p.Env = []string{"ERRAND_DEPTH=1", "ERRAND_MAX_DEPTH=1"}
	got = p.fan([]string{`{"prompt": "refuses", "name": "deep"}`})
	has(t, "stderr", got.stderr, "1 deep: failed: delegations are 1 deep here", "errand: 1 deep: delegations are 1 deep here")
}

// Piped there is a line for each thing that happens.
func TestFanTellsLineByLine(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	got := p.run(append([]string{"fan", "--agent", "demo", "hi"}, scripted(t, `
on session/prompt
  tool call-1 "Read\u001b it"
  tool-update call-1 status=completed
  permission call-2 "Write it" kind=edit path=a.txt
    option no reject_once "No"
  end
  stop end_turn
`)...)...)
	var lines []string
	for line := range strings.Lines(got.stderr) {
		if strings.HasPrefix(line, "2 ") {
			lines = append(lines, regexp.MustCompile(` in \S+\n`).ReplaceAllString(line, " in …\n"))
		}
	}
	want := []string{
		"2 errand.test: started\n", `2 errand.test: tool: Read\u{1b} it` + "\n", `2 errand.test: tool: Read\u{1b} it: completed` + "\n",
		"2 errand.test: permission: Write it: denied (rule: reject)\n", "2 errand.test: done in …\n",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	has(t, "stderr", got.stderr, "errand: 2 permission requests were denied, which is the default")

	quiet := p.run("fan", "--quiet", "--agent", "demo", "--agent", "demo", "hi")
	if quiet.stderr != "" || strings.Count(quiet.stdout, "== ") != 2 || quiet.status != statusOK {
		t.Errorf("--quiet: status %d, stdout %q, stderr %q", quiet.status, quiet.stdout, quiet.stderr)
	}
	if quiet := p.run("fan", "--quiet", "--agent", "demo", "hi"); strings.Contains(quiet.stdout, "== ") {
		t.Errorf("--quiet, of a single run: %q", quiet.stdout)
	}
}

// What is done for an agent, and why a policy does not allow, is told with its run.
func TestFanTellsWhatIsDone(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	for name, text := range map[string]string{
		"a.txt": "hello", ".env": "", "policy.json": `{"rules": [{"effect": "allow", "kinds": ["read"], "paths": ["./**"]}]}`,
	} {
		if err := os.WriteFile(filepath.Join(p.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := append([]string{"fan", "--agent", "demo", "--policy", "policy.json", "--fs", "read", "hi"}, scripted(t, `
on session/prompt
  request fs/read_text_file {"sessionId": "$session", "path": "$cwd/a.txt"}
  text $answer.content
  request fs/read_text_file {"sessionId": "$session", "path": "$cwd/.env"}
  stop end_turn
`)...)
	got := p.run(args...)
	if got.status != statusOK {
		t.Errorf("status %d", got.status)
	}
	has(t, "stderr", got.stderr, "2 errand.test: file: read a.txt: 5 bytes\n", "2 errand.test: policy: sensitive file: ")
	got = p.run(append([]string{args[0], "--audit", "audit", "--json"}, args[1:]...)...)
	for _, res := range got.report(t).Results {
		has(t, "the audit", readFile(t, p.Dir, "audit"), res.RunID)
		if len(res.Warnings) > 0 {
			t.Errorf("warnings %q", res.Warnings)
		}
	}
}

// Once there are enough the others are cancelled, and are gone.
func TestFanOfWhichSomeAreEnough(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		flags   []string
		prompts []string
		stops   string
		status  int
	}{
		{[]string{"--first"}, []string{"hangs", "quick", "hangs"}, "aborted completed aborted", statusOK},
		{[]string{"--first", "--jobs", "1"}, []string{"crashes", "refuses", "quick", "hangs"}, "error/exit refusal completed aborted", statusOK},
		{[]string{"--quorum", "2"}, []string{"quick", "hangs", "quick"}, "completed aborted completed", statusOK},
		{[]string{"--quorum", "2"}, []string{"quick", "crashes", "refuses"}, "completed error/exit refusal", statusFailed},
		{[]string{"--first", "--fail-on-denied", "--jobs", "1"}, []string{"denied", "waits"}, "completed completed", statusOK},
		{[]string{"--first", "--timeout", "1s", "--cancel-grace", "300ms"}, []string{"hangs", "hangs"}, "aborted/timeout aborted/timeout", statusFailed},
	} {
		t.Run(strings.Join(append(tt.flags, tt.prompts...), " "), func(t *testing.T) {
			t.Parallel()
			got := newProgram(t).fan(tt.prompts, append([]string{"--json"}, tt.flags...)...)
			r := got.report(t)
			if r.stops() != tt.stops || got.status != tt.status || r.Reached != (tt.status == statusOK) {
				t.Errorf("status %d, reached %v, %s; want %d, %s\n%s", got.status, r.Reached, r.stops(), tt.status, tt.stops, got.stderr)
			}
		})
	}
}

// Of a race only the winner's answer is printed.
func TestFanFirstPrintsTheWinner(t *testing.T) {
	t.Parallel()
	got := newProgram(t).fan([]string{"hangs", "quick"}, "--first")
	if got.stdout != "== 2 errand.test: done ==\nsaid quick\n" || got.status != statusOK {
		t.Errorf("status %d, stdout %q", got.status, got.stdout)
	}
	has(t, "stderr", got.stderr, "1 errand.test: cancelled", "errand: 1 of 2 completed, 1 cancelled\n")
}

func TestFanEvents(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	got := p.fan([]string{"quick", `{"prompt": "crashes", "name": "zwei"}`, `{"prompt": "hi", "dir": "gone"}`}[:2], "--events")
	_, resolved := schema(t, "fan-event")
	_, ofEvents := schema(t, "event")
	lines := slices.Collect(strings.Lines(got.stdout))
	validate(t, resolved, lines[len(lines)-1])
	for _, bad := range []string{`{"type": "totals"}`, `{"type": "end"}`, strings.Replace(lines[0], `"index":`, `"inde":`, 1), strings.Replace(lines[0], `"type":"start"`, `"type":"stat"`, 1)} {
		var doc any
		if err := json.Unmarshal([]byte(bad), &doc); err != nil || resolved.Validate(doc) == nil {
			t.Errorf("it is taken for an event: %v, %s", err, bad)
		}
	}
	ends, types := map[int]*subagent.Result{}, map[int]string{}
	for _, line := range lines[:len(lines)-1] {
		validate(t, resolved, line)
		validate(t, ofEvents, line)
		var e fanEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if want := []string{"errand.test", "zwei"}[e.Index]; e.Name != want {
			t.Errorf("name %q, want %q", e.Name, want)
		}
		types[e.Index] += string(e.Type) + " "
		if e.Type == subagent.EventEnd {
			ends[e.Index] = e.Result
		}
	}
	if diff := cmp.Diff(map[int]string{0: "start update end ", 1: "start update end "}, types); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if ends[0].Exit == nil || ends[1].Error == nil || ends[1].Error.Kind != client.KindExit {
		t.Errorf("the ends are not final: %+v, %+v", ends[0].Exit, ends[1].Error)
	}
	var last fanTotals
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		t.Fatal(err)
	}
	if last.Type != "totals" || last.Reached || last.Wanted != 2 || last.Totals.Runs != 2 || got.status != statusFailed {
		t.Errorf("status %d, totals %+v", got.status, last)
	}
}

// --jobs 1 is one after the other, in order.
func TestFanJobs(t *testing.T) {
	t.Parallel()
	got := newProgram(t).fan([]string{"quick 1", "quick 2", "quick 3"}, "--events", "--jobs", "1", "--starts", "1")
	order := ""
	for line := range strings.Lines(got.stdout) {
		var e fanEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Type == subagent.EventStart || e.Type == subagent.EventEnd {
			order += fmt.Sprintf("%s %d,", e.Type, e.Index)
		}
	}
	if order != "start 0,end 0,start 1,end 1,start 2,end 2," {
		t.Errorf("order %s", order)
	}
}

// The clock of a run does not run while it waits for --starts.
func TestFanTimeoutBeginsWithTheStart(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	got := p.run(append([]string{"fan", "--json", "--starts", "1", "--timeout", "200ms", "--eof-grace", "200ms", "--prompts", p.promptFile("1", "2", "3")},
		scripted(t, "on initialize\n  wait forever\n")...)...)
	r := got.report(t)
	if r.stops() != "aborted/timeout aborted/timeout aborted/timeout" {
		t.Fatalf("%s\n%s", r.stops(), got.stderr)
	}
	for _, res := range r.Results {
		has(t, "the error", res.Error.Message, "within the --timeout of 200ms")
	}
}

// Of one command so many agents are starting at once.
func TestFanStarts(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	got := p.run(append([]string{"fan", "--quiet", "--starts", "1", "--prompts", p.promptFile("1", "2", "3", "4")},
		scripted(t, "append log begin\non session/new\n  append log end\non session/prompt\n  stop end_turn\n")...)...)
	if log := readFile(t, p.Dir, "log"); got.status != statusOK || log != strings.Repeat("begin\nend\n", 4) {
		t.Errorf("status %d, log %q", got.status, log)
	}
}

// What had completed before counts for a quorum, and only the rest is waited for.
func TestFanQuorumResumed(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	const script = `
on session/prompt "quick"
  stop end_turn
on session/prompt
  append tries-$prompt x
  read tries-$prompt
  if $answer is "x\n"
    exit 1
  end
  if $prompt is hangs
    wait cancel
    stop cancelled
  end
  stop end_turn
`
	args := append([]string{"--json", "--journal", "j", "--quorum", "2", "--prompts", p.promptFile("quick", "once", "hangs")}, scripted(t, script)...)
	for _, want := range []struct{ flag, stops string }{
		{"fan", "completed error/exit error/exit"}, {"--resume", "completed/resumed completed aborted"},
	} {
		got := p.run(append(slices.Compact([]string{"fan", want.flag}), args...)...)
		if r := got.report(t); r.stops() != want.stops || r.Reached != (got.status == statusOK) || r.Reached != (want.flag == "--resume") {
			t.Fatalf("status %d, %s, want %s\n%s", got.status, r.stops(), want.stops, got.stderr)
		}
	}
}

// What has not begun on the prompt is tried again, and what was tried is told.
func TestFanRetries(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	const failsOnce = `
lock tried-$pid
on session/new
  append starts x
  read starts
  if $answer is "x\n"
    exit 1
  end
on session/prompt
  text "at last"
  stop end_turn
`
	got := p.run(append([]string{"fan", "--json", "--retries", "2", "hi"}, scripted(t, failsOnce)...)...)
	r := got.report(t)
	if got.status != statusOK || r.Results[0].Output != "at last" || len(r.Results[0].Attempts) != 2 {
		t.Errorf("status %d, output %q, attempts %+v\n%s", got.status, r.Results[0].Output, r.Results[0].Attempts, got.stderr)
	}
	os.Remove(filepath.Join(p.Dir, "starts"))
	if got := p.run(append([]string{"fan", "--json", "hi"}, scripted(t, failsOnce)...)...); got.status != statusFailed {
		t.Errorf("without --retries: status %d", got.status)
	}
}

func TestMaxDepth(t *testing.T) {
	t.Parallel()
	const tells = `on session/prompt; text "$env.ERRAND_DEPTH of $env.ERRAND_MAX_DEPTH"; stop end_turn`
	for _, command := range []string{"run", "fan"} {
		p := newProgram(t)
		got := p.run(append([]string{command, "--quiet", "--max-depth", "2", "hi"}, scripted(t, tells)...)...)
		has(t, command, got.stdout, "1 of 3\n")
		p.Env = []string{"ERRAND_DEPTH=3", "ERRAND_MAX_DEPTH=3"}
		got = p.run(append([]string{command, "--json", "hi"}, scripted(t, tells)...)...)
		has(t, command+" at the limit", got.stdout, `"kind":"limit"`)
		for _, bad := range []string{"-1", "x", "1.5", ""} {
			got = p.run(command, "--max-depth="+bad, "--agent", "demo", "hi")
			if wrong := bad == ""; !wrong && (got.status != statusUsage || !strings.Contains(got.stderr, "--max-depth")) {
				t.Errorf("%s --max-depth %q: status %d, %s", command, bad, got.status, got.stderr)
			}
		}
	}
}
