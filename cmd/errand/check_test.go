package main

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// quickly are flags for agents that answer at once.
var quickly = []string{"--timeout", "20s", "--exit-timeout", "5s"}

// The exit status goes by the level of what is broken, and by --fail-on.
func TestCheckStatus(t *testing.T) {
	const (
		must    = "on initialize; answer {\"protocolVersion\": $params.protocolVersion}" // initialize-future-version
		should  = "on initialize; reply {\"protocolVersion\": 1}"                        // initialize-agent-info
		manners = "on eof; wait forever"                                                 // exit-on-eof
		honest  = ""                                                                     // with no rule among these that it breaks
	)
	for _, tt := range []struct {
		name, src, failOn string
		status            int
		exit              string // --exit-timeout; only who does not exit costs it
	}{
		{"a MUST", must, "must", statusFailed, "60s"},
		{"a MUST, never", must, "never", statusOK, "60s"},
		{"a SHOULD", should, "must", statusOK, "60s"},
		{"a SHOULD", should, "should", statusFailed, "60s"},
		{"manners", manners, "should", statusOK, "2s"},
		{"manners", manners, "manners", statusFailed, "2s"},
		{"nothing", honest, "manners", statusOK, "60s"},
	} {
		t.Run(tt.name+" "+tt.failOn, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"check", "--only", "initialize-*", "--only", "exit-on-eof", "--fail-on", tt.failOn, "--timeout", "60s", "--exit-timeout", tt.exit}, scripted(t, tt.src)...)
			got := newProgram(t).run(args...)
			if got.status != tt.status || got.stderr != "" {
				t.Errorf("status %d, want %d; stderr %q\n%s", got.status, tt.status, got.stderr, got.stdout)
			}
		})
	}
}

// A check that could not be held is no success, whatever --fail-on says, except never: a
// pipeline without a login, or without the agent's module, must not be green.
func TestCheckIncomplete(t *testing.T) {
	const dies, login = "stderr 'cannot find module'\nexit 3", `on session/new; fail -32000 "Authentication required"`
	for name, tt := range map[string]struct {
		src, only, want string
	}{
		"nothing is tried":     {dies, "cancel-*", "none of the rules that were chosen could be tried: the agent did not answer initialize"},
		"no session":           {login, "session-*", "tried: the agent answered session/new with an error: \"Authentication required\" (-32000); it needs a login"},
		"none asks permission": {"", "permission-*", "could be tried: the agent asked for no permission; --prompt tool=… says what makes it ask"},
	} {
		for failOn, status := range map[string]int{"must": statusFailed, "manners": statusFailed, "never": statusOK} {
			t.Run(name+" "+failOn, func(t *testing.T) {
				t.Parallel()
				got := newProgram(t).run(append([]string{"check", "--only", tt.only, "--fail-on", failOn, "--timeout", "20s", "--exit-timeout", "2s"}, scripted(t, tt.src)...)...)
				lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
				if last := lines[len(lines)-1]; got.status != status || !strings.HasPrefix(last, "incomplete: ") || !strings.Contains(last, tt.want) {
					t.Errorf("status %d, want %d; the last line: %s", got.status, status, last)
				}
			})
		}
	}
}

// Where there is no scratch directory that is no mistake in usage.
func TestCheckNoScratch(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the temporary directory has another variable")
	}
	p := newProgram(t)
	p.Env = []string{"TMPDIR=" + filepath.Join(t.TempDir(), "nowhere")}
	got := p.run(append([]string{"check"}, scripted(t, "")...)...)
	if got.status != statusFailed || !strings.Contains(got.stderr, "the scratch directory: ") || strings.Contains(got.stderr, "--help") {
		t.Errorf("status %d, want %d; %s", got.status, statusFailed, got.stderr)
	}
}

// What is wrong with the command line is said before anything is started.
func TestCheckUsage(t *testing.T) {
	dir := t.TempDir()
	sentinel := filepath.Join(dir, "started")
	agent := filepath.Join(dir, "agent")
	if err := os.WriteFile(agent, []byte(touch), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"no agent":            {[]string{}, "no agent: name one"},
		"no dashes":           {[]string{agent}, "the agent's command stands after --: errand check -- " + agent},
		"an unknown agent":    {[]string{"--agent", "gemeni"}, `there is no agent "gemeni" (is it gemini?)`},
		"both":                {[]string{"--agent", "gemini", "--", agent}, "--agent and a COMMAND"},
		"nothing after":       {[]string{"--"}, "no COMMAND after --"},
		"no such file":        {[]string{"--", filepath.Join(dir, "nothing")}, filepath.Join(dir, "nothing")},
		"an unknown rule":     {[]string{"--only", "no-such-rule", "--", agent}, `there is no rule "no-such-rule"`},
		"an unknown pattern":  {[]string{"--skip", "no-*", "--", agent}, `there is no rule "no-*"`},
		"no rule left":        {[]string{"--skip", "*", "--", agent}, "no rule is left to try"},
		"an unknown level":    {[]string{"--fail-on", "always", "--", agent}, `--fail-on "always": there is must, should, manners and never`},
		"a prompt of no kind": {[]string{"--prompt", "sing=la", "--", agent}, `there is no kind of prompt "sing"`},
		"a prompt of no form": {[]string{"--prompt", "sing", "--", agent}, "want KIND=TEXT"},
		"an empty prompt":     {[]string{"--prompt", "text=", "--", agent}, "the prompt text is empty"},
		"no time":             {[]string{"--timeout", "0", "--", agent}, "--timeout 0: must be more than 0"},
		"no unit":             {[]string{"--exit-timeout", "3", "--", agent}, `--exit-timeout "3": want a duration`},
		"none at once":        {[]string{"--parallel", "0", "--", agent}, "--parallel 0: must be at least 1"},
		"too many at once":    {[]string{"--parallel", "999", "--", agent}, "999"},
		"JUnit on stdout":     {[]string{"--junit", "-", "--", agent}, "--junit -: JUnit XML is written to a file"},
		"no place for JUnit":  {[]string{"--junit", filepath.Join(dir, "nowhere", "x.xml"), "--", agent}, "--junit: "},
		"JUnit to no file":    {[]string{"--junit", dir, "--", agent}, "--junit: " + dir + " is no regular file"},
		"no directory":        {[]string{"--dir", filepath.Join(dir, "nowhere"), "--", agent}, filepath.Join(dir, "nowhere")},
		"a variable not set":  {[]string{"--env", "NOT_SET_HERE", "--", agent}, "NOT_SET_HERE is not set here"},
		"a secret":            {[]string{"--env", "=sekret", "--", agent}, "the name is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProgram(t)
			p.Env = []string{"SENTINEL=" + sentinel}
			got := p.run(append([]string{"check"}, tt.args...)...)
			if got.status != statusUsage || got.stdout != "" {
				t.Errorf("status %d, want %d; stdout %q", got.status, statusUsage, got.stdout)
			}
			has(t, "stderr", got.stderr, "errand: ", tt.want)
			ofAThing := slices.Contains([]string{"no such file", "no place for JUnit", "no directory", "a variable not set"}, name)
			if strings.Contains(got.stderr, "Run 'errand check --help'") == ofAThing {
				t.Errorf("the help names what is not in it, or is not named: %s", got.stderr)
			}
			if strings.Contains(got.stderr, "sekret") {
				t.Errorf("a value is shown: %s", got.stderr)
			}
			if exists(sentinel) {
				os.Remove(sentinel)
				t.Error("the agent was started")
			}
		})
	}
}

// The JSON is one object, as its schema says, and JUnit XML is XML, whatever the agent
// says; the table is for the eye only.
func TestCheckOutput(t *testing.T) {
	t.Parallel()
	_, resolved := schema(t, "check")
	p := newProgram(t)
	junit := filepath.Join(p.Dir, "out.xml")
	agent := scripted(t, `on initialize
  noise "\x1b[2J ]]> <failure> \u202e \x00"
  answer {"agentInfo": {"name": "\u001b[31mred", "version": "]]>"}}`)
	args := append([]string{"check", "--only", "initialize-*", "--only", "stdout-*", "--junit", junit}, quickly...)
	got := p.run(append(append(args, "--json"), agent...)...)
	if got.status != statusFailed || got.stderr != "" || strings.Count(got.stdout, "\n") != 1 {
		t.Errorf("status %d, stderr %q, stdout %q", got.status, got.stderr, got.stdout)
	}
	doc := validate(t, resolved, got.stdout)
	counts := doc["counts"].(map[string]any)
	if findings := doc["findings"].([]any); counts["fail"] != 1.0 || len(findings) < 6 {
		t.Errorf("%v of %d findings", counts, len(findings))
	}

	text, err := os.ReadFile(junit)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(junit); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	var suites struct {
		Suites []struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Cases    []struct {
				Name    string  `xml:"name,attr"`
				Failure *string `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(text, &suites); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	s := suites.Suites[0]
	if s.Failures != 1 || s.Tests != len(s.Cases) || strconv.Itoa(s.Tests) == "0" {
		t.Errorf("%d tests, %d failures, %d cases", s.Tests, s.Failures, len(s.Cases))
	}
	for _, c := range s.Cases {
		if (c.Failure != nil) != (c.Name == "stdout-messages") {
			t.Errorf("%s: failure %v", c.Name, c.Failure)
		}
	}

	got = p.run(append(args, agent...)...)
	if got.status != statusFailed || strings.ContainsAny(got.stdout, "\x1b\x00\u202e") {
		t.Errorf("status %d, stdout %q", got.status, got.stdout)
	}
	has(t, "the table", got.stdout, `\u{1b}[31mred ]]>`, "FAIL  must    stdout-messages", "1 failed",
		"The agent MUST NOT write anything to its stdout that is not a valid ACP message.", "https://agentclientprotocol.com/protocol/transports#stdio")
}

// A preset is checked by its name, with an environment of its own.
func TestCheckPreset(t *testing.T) {
	t.Parallel()
	got := newProgram(t).run(append([]string{"check", "--agent", "demo", "--only", "session-id*", "--only", "initialize-*"}, quickly...)...)
	if got.status != statusOK || !strings.Contains(got.stdout, "errand-demo") || !strings.Contains(got.stdout, " 0 failed, 0 warnings, 0 not applicable") {
		t.Errorf("status %d\n%s%s", got.status, got.stdout, got.stderr)
	}
}
