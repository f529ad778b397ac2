package conform

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/errand-acp/errand/client/transcript"
)

// Who tries an agent that dies has its stderr, its exit status, and what was kept from its
// environment, wherever they look.
func TestDeaths(t *testing.T) {
	t.Setenv("ERRAND_TEST_API_KEY", "sesame-sesame-sesame")
	const last = `stderr "first\n\x1b[31mcannot find module\u202e key=hush-hush-hush-hush\n"`
	for name, tt := range map[string]struct {
		src, only, id string
		status        string // regular expression
		withheld      bool
	}{
		"at once":          {last + "\nexit 3", "cancel-idle", "cancel-idle", `exited with status 3`, true},
		"at once, a MUST":  {last + "\nexit 3", "initialize-version", "initialize-version", `exited with status 3`, true},
		"at a session":     {"on session/new\n" + last + "\nexit 4", "session-id", "session-id", `exited with status 4`, true},
		"at a prompt":      {"on session/prompt\n" + last + "\nexit 5", "prompt-text", "prompt-text", `exited with status 5`, false},
		"by a signal":      {"on session/prompt\n" + last + "\nraise KILL", "prompt-text", "prompt-text", `ended by SIGKILL`, false},
		"without a word":   {"exit 0", "initialize-version", "initialize-version", `exited with status 0`, true},
		"at a later scene": {"on session/prompt \"Count\"\n" + last + "\nexit 6", "exit-on-eof-in-turn", "exit-on-eof-in-turn", `exited with status 6`, false},
	} {
		t.Run(name, func(t *testing.T) {
			report := tryScript(t, tt.src, &Options{Only: []string{tt.only}, ExitTimeout: 2 * time.Second}, "GIVEN_TOKEN=hush-hush-hush-hush")
			f := finding(t, report, tt.id)
			if !regexp.MustCompile(tt.status).MatchString(f.Why) || strings.Contains(f.Why, "ERRAND_TEST_API_KEY") != tt.withheld {
				t.Errorf("why: %s", f.Why)
			}
			said := strings.Contains(tt.src, "stderr")
			for where, entries := range map[string][]transcript.Entry{"finding": f.Entries, "scene": sceneOf(t, report, f.Scene).Entries} {
				if n := len(entries); n == 0 || entries[n-1].End == nil {
					t.Errorf("the %s does not end with how it ended: %v", where, entries)
				}
				has := slices.ContainsFunc(entries, func(e transcript.Entry) bool {
					return e.From == transcript.FromStderr && strings.Contains(e.Text, "cannot find module")
				})
				if has != said {
					t.Errorf("the %s has the stderr: %v", where, has)
				}
			}
			b, err := json.Marshal(report)
			if err != nil {
				t.Fatal(err)
			}
			var x bytes.Buffer
			if err := report.WriteJUnit(&x, Must); err != nil {
				t.Fatal(err)
			}
			for where, text := range map[string]string{"JSON": string(b), "table": report.Table(), "JUnit": x.String()} {
				if said && !strings.Contains(text, "cannot find module") || strings.Contains(text, "ERRAND_TEST_API_KEY") != (tt.withheld || where == "JSON") || !regexp.MustCompile(tt.status).MatchString(text) {
					t.Errorf("the %s does not say how it ended:\n%s", where, text)
				}
				if strings.Contains(text, "hush-hush") || strings.Contains(text, "sesame") || strings.ContainsAny(text, "\x1b\u202e") && where != "JSON" {
					t.Errorf("the %s has what it must not show:\n%s", where, text)
				}
			}
		})
	}
}

// What is shown of a stderr is bounded.
func TestTail(t *testing.T) {
	r := &recording{}
	for range 100 {
		r.entries = append(r.entries, transcript.Entry{From: transcript.FromStderr, Text: strings.Repeat("é", shownLine)})
	}
	r.entries = append(r.entries, transcript.Entry{End: &transcript.End{Rung: "exit"}})
	l, ok := r.death()
	if !ok {
		t.Fatal("nobody died")
	}
	tail := r.tail(l)
	if len(tail) != tailLines+1 || len(tail[0].Text) > tailLine+4 || tail[0].Bytes != 2*shownLine {
		t.Errorf("%d entries, the first of %d bytes of %d", len(tail), len(tail[0].Text), tail[0].Bytes)
	}
	r.withheld = slices.Repeat([]string{"NAME"}, 100)
	if text := r.gone(0); strings.Count(text, "NAME") != 12+1 || !strings.Contains(text, "and 88 more") {
		t.Error(text)
	}
}

// An agent that was gone when its stdin would have ended has not exited because of that.
func TestGoneBefore(t *testing.T) {
	t.Parallel()
	report := tryScript(t, "on session/new; exit 1", &Options{Only: []string{"exit-on-*"}, ExitTimeout: 2 * time.Second})
	for _, f := range report.Findings {
		if f.Verdict != NotApplicable && f.Rule.ID != "exit-on-sigterm" {
			t.Error(explain(f))
		}
	}
	if finding(t, report, "exit-on-eof").Verdict == Pass {
		t.Error("it passed")
	}
}

// An agent that ends by itself, whatever it has answered before, is told of.
func TestEndsAreTold(t *testing.T) {
	t.Parallel()
	const loads = `on initialize; answer {"agentCapabilities": {"loadSession": true, "sessionCapabilities": {"close": {}, "resume": {}, "list": {}}}}` + "\n"
	const config = `on session/new
  answer {"configOptions": [{"id": "p", "name": "P", "type": "select", "currentValue": "a", "options": [{"value": "a", "name": "A"}, {"value": "b", "name": "B"}]}]}
  require cwd
on session/new "/second"; require cwd; reply {"sessionId": "second"}; wait 60ms; exit 4` + "\n"
	for name, tt := range map[string]struct {
		src   string
		tells string // the rule; empty: it depends on whether the next request was written yet
		only  string // these are tried, and no other is broken
	}{
		"after a login":           {"on authenticate; reply {}; exit 0", "", ""},
		"after a mode":            {`on session/new; answer {"modes": {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}]}}` + "\non session/set_mode; reply {}; exit 0", "", ""},
		"after a list":            {loads + `on session/list; reply {"sessions": []}; exit 0`, "", ""},
		"after a load":            {loads + "on session/prompt; text pong\non session/load; reply {}; exit 0", "load-available", ""},
		"after a resume":          {loads + "on session/prompt; text pong\non session/resume; reply {}; exit 0", "resume-available", ""},
		"after a close":           {loads + "on session/close; reply {}; exit 0", "", ""},
		"after a bad directory":   {`on session/new "nowhere"; fail -32602 No; exit 0`, "session-after-refusal", ""},
		"after a turn":            {"on session/prompt; text pong; stop end_turn; exit 0", "prompt-again", ""},
		"instead of a tool call":  {`on session/prompt "Write a file"; exit 0`, exitUnasked, ""},
		"instead of a second one": {"on session/new; if $n is 2; exit 0; end", exitUnasked, ""},
		"after a refusal of a second one": {"on session/new; require cwd\non session/new 2; fail -32603 No; exit 3", exitUnasked,
			"session-after-refusal,notification-unknown,cancel-idle," + exitUnasked},
		"later, and another is told of":           {config + "on session/set_config_option; exit 5", exitUnasked, ""},
		"later, and the agent's own words are it": {config + `on session/set_config_option; fail -32603 "upstream: the agent had exited"`, exitUnasked, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &Options{ExitTimeout: 2 * time.Second}
			if strings.Contains(tt.src, "authenticate") {
				o.AuthMethod = "key"
			}
			if tt.only != "" {
				o.Only = strings.Split(tt.only, ",")
			}
			report := tryScript(t, tt.src, o)
			told := false
			for _, f := range report.Findings {
				tells := f.broken() && strings.Contains(f.Why, "the agent had exited")
				told = told || tells && (tt.tells == "" || f.Rule.ID == tt.tells)
				if tt.only != "" && f.broken() && f.Rule.ID != tt.tells {
					t.Error(explain(f))
				}
			}
			if !told {
				t.Errorf("%s does not tell of it:\n%s", orText(tt.tells, "nothing"), report.Table())
			}
		})
	}
}

// Who wants a login may want a variable that was kept back.
func TestLoginKeptBack(t *testing.T) {
	t.Setenv("ERRAND_TEST_API_KEY", "sesame-sesame-sesame")
	report := tryScript(t, `on session/new; fail -32000 "Authentication required"`, &Options{Only: []string{"session-id"}})
	if !strings.Contains(report.Incomplete, "ERRAND_TEST_API_KEY") {
		t.Error(report.Incomplete)
	}
}

func sceneOf(t *testing.T, r *Report, name string) SceneReport {
	t.Helper()
	for _, s := range r.Scenes {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no scene %q", name)
	return SceneReport{}
}
