//go:build unix

package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
)

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// create is the statement that makes a terminal; its id is $t.
func create(command string, args ...string) string {
	list, _ := json.Marshal(args)
	if args == nil {
		list = []byte("[]")
	}
	return fmt.Sprintf(`
  request terminal/create {"sessionId":"$session","command":%s,"args":%s}
  set t "$answer.terminalId"
  text "$error.message"`, strings.ReplaceAll(quote(command), "$", "$$"), strings.ReplaceAll(string(list), "$", "$$"))
}

func sh(line string) string { return create("/bin/sh", "-c", line) }

const (
	waits = `
  request terminal/wait_for_exit {"sessionId":"$session","terminalId":"$t"}
  text "[$answer.exitCode|$answer.signal|$error.message]"`
	shows = `
  request terminal/output {"sessionId":"$session","terminalId":"$t"}
  text "[$answer.output|$answer.truncated|$error.message]"`
	kills = `
  request terminal/kill {"sessionId":"$session","terminalId":"$t"}
  text "[$error.message]"`
	releases = `
  request terminal/release {"sessionId":"$session","terminalId":"$t"}
  text "[$error.message]"`
)

// ran asserts the commands, as "command: exit bytes error", each as it was told last.
func (h *hosted) ran(want ...string) {
	h.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	got := []string{}
	at := map[string]int{}
	for _, c := range h.commands {
		text := strings.Join(c.Command, " ") + ":"
		switch {
		case c.Error != nil:
			text += " " + *c.Error
		case c.Exit == nil:
			text += " runs"
		case c.Exit.Signal != nil:
			text += fmt.Sprintf(" %s %d", *c.Exit.Signal, c.OutputBytes)
		default:
			text += fmt.Sprintf(" %d %d", *c.Exit.Code, c.OutputBytes)
		}
		if c.TerminalID != nil {
			if i, ok := at[*c.TerminalID]; ok {
				got[i] = text
				continue
			}
			at[*c.TerminalID] = len(got)
		}
		got = append(got, text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		h.Errorf("commands (-want +got):\n%s", diff)
	}
}

func TestTerminals(t *testing.T) {
	tests := []struct {
		name, script, want string
		ran                []string
	}{
		{"runs a command", create("echo", "one", "two words") + waits + shows + releases, "[0||][one two words\n|false|][]",
			[]string{"echo one two words: 0 14"}},
		{"with its exit status", sh("exit 7") + waits, "[7||]", []string{"/bin/sh -c exit 7: 7 0"}},
		{"with its signal", sh("kill -TERM $$") + waits, "[|SIGTERM|]", []string{"/bin/sh -c kill -TERM $$: SIGTERM 0"}},
		{"stdout and stderr in order", sh("echo a; echo b >&2; echo c") + waits + shows, "[0||][a\nb\nc\n|false|]", []string{"/bin/sh -c echo a; echo b >&2; echo c: 0 6"}},
		{"stdin is at its end", create("cat") + waits, "[0||]", []string{"cat: 0 0"}},
		{"a shell line", create("echo one | tr a-z A-Z; exit 3") + waits + shows, "[3||][ONE\n|false|]",
			[]string{"/bin/sh -c echo one | tr a-z A-Z; exit 3: 3 4"}},
		{"in the session's directory", create("/bin/sh", "-c", "basename \"$(pwd)\" | cut -c1-1; test \"$(pwd)\" = \"$PWD\"") + waits, "[0||]",
			[]string{"/bin/sh -c basename \"$(pwd)\" | cut -c1-1; test \"$(pwd)\" = \"$PWD\": 0 2"}},
		{"without a terminal", sh("(: < /dev/tty) 2>/dev/null || echo none") + waits + shows, "[0||][none\n|false|]",
			[]string{"/bin/sh -c (: < /dev/tty) 2>/dev/null || echo none: 0 5"}},
		{"killed", sh("sleep 1000") + kills + waits + shows + releases, "[][|SIGTERM|][|false|][]", []string{"/bin/sh -c sleep 1000: SIGTERM 0"}},
		{"killed, though deaf to SIGTERM", sh("trap '' TERM; : > deaf; while :; do sleep 1000; done") + "\n  wait file \"$cwd/deaf\"" + kills + waits, "[][|SIGKILL|]",
			[]string{"/bin/sh -c trap '' TERM; : > deaf; while :; do sleep 1000; done: SIGKILL 0"}},
		{"killed when it has ended", sh("exit 1") + waits + kills + waits, "[1||][][1||]", []string{"/bin/sh -c exit 1: 1 0"}},
		{"gone once released", sh("exit 1") + releases + waits + shows + kills + releases,
			"[][||no such terminal][||no such terminal][no such terminal][no such terminal]", nil},
		{"made by nobody", "\n  set t none" + waits + shows + kills + releases,
			"[||no such terminal][||no such terminal][no such terminal][no such terminal]", []string{}},
		{"no such program", create("no-such-program"), `command "no-such-program": executable file not found in $PATH`, nil},
		{"no command", create(""), "Invalid params", []string{}},
		{"a variable twice, and one before the program", `
  request terminal/create {"sessionId":"$session","command":"B=3 env","env":[{"name":"A","value":"1"},{"name":"A","value":"2"}]}
  set t "$answer.terminalId"` + waits + `
  request terminal/output {"sessionId":"$session","terminalId":"$t"}
  if "$answer.output" contains "B=3"
    text yes
  end
  if "$answer.output" contains "A=2"
    text yes
  end`, "[0||]yesyes", nil},
		{"bytes that are no text", sh(`printf 'a\377b'`) + waits + shows, "[0||][a\ufffdb|false|]", []string{`/bin/sh -c printf 'a\377b': 0 3`}},
		{"a helper that keeps the pipe", sh("sleep 1000 & echo done") + waits + shows, "[0||][done\n|false|]",
			[]string{"/bin/sh -c sleep 1000 & echo done: 0 5"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := host(t, client.Options{Terminals: true, Permission: permission.Allow(), Graces: deafToTerm}, "on session/prompt"+tt.script)
			h.completes(h.session(), "go", "end_turn")
			h.agent.Close()
			if got := h.text(); got != tt.want && !(tt.ran == nil && strings.HasPrefix(got, tt.want)) {
				t.Errorf("the agent says %q, want %q", got, tt.want)
			}
			if tt.ran != nil {
				h.ran(tt.ran...)
			}
		})
	}
}

// What is kept of the output is its end, from a character on.
func TestTerminalOutputLimit(t *testing.T) {
	for _, tt := range []struct {
		limit string
		want  string
	}{
		{`,"outputByteLimit":100`, "[äöü\n|false]"},
		{`,"outputByteLimit":7`, "[äöü\n|false]"},
		{`,"outputByteLimit":6`, "[öü\n|true]"},
		{`,"outputByteLimit":5`, "[öü\n|true]"},
		{`,"outputByteLimit":1`, "[\n|true]"},
		{`,"outputByteLimit":0`, "[|true]"},
		{`,"outputByteLimit":-5`, "[|true]"},
		{``, "[äöü\n|false]"},
	} {
		h := host(t, client.Options{Terminals: true, Permission: permission.Allow()}, `on session/prompt
  request terminal/create {"sessionId":"$session","command":"echo","args":["äöü"]`+tt.limit+`}
  set t "$answer.terminalId"
  request terminal/wait_for_exit {"sessionId":"$session","terminalId":"$t"}
  request terminal/output {"sessionId":"$session","terminalId":"$t"}
  text "[$answer.output|$answer.truncated]"`)
		h.answers(tt.want)
	}
	h := host(t, client.Options{Terminals: true, Permission: permission.Allow(), MaxTerminalBytes: 1000}, "on session/prompt"+
		sh("i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done; echo end")+waits+shows)
	h.completes(h.session(), "go", "end_turn")
	h.agent.Close()
	if got := h.text(); len(got) > 1100 || !strings.HasSuffix(got, "0123456789\nend\n|true|]") {
		t.Errorf("of a long output there is %q", got)
	}
}

// The policy decides before anything starts.
func TestTerminalPolicy(t *testing.T) {
	rules := &permission.Rules{Rules: []permission.Rule{{Name: "echo", Effect: permission.EffectAllow, Commands: [][]string{{"echo", "**"}}}}}
	for _, tt := range []struct {
		name   string
		policy permission.Policy
		make   string
		want   string
	}{
		{"reject", nil, create("touch", "made"), "not permitted (reject)"},
		{"a rule allows it", rules, create("echo", "hello"), ""},
		{"a rule does not", rules, create("touch", "made"), "not permitted (deny: default)"},
		{"a shell line is not the program it begins with", rules, create("echo hello; touch made"), "not permitted (deny: default)"},
		{"nor is a shell that is named", rules, create("/bin/sh", "-c", "echo hello; touch made"), "not permitted (deny: default)"},
		{"plain words are what they say, without a shell", rules, create("echo hello"), ""},
		{"nor a variable", rules, `
  request terminal/create {"sessionId":"$session","command":"echo","args":["x"],"env":[{"name":"LD_PRELOAD","value":"/tmp/x.so"}]}
  text "$error.message"`, "not permitted (deny: default)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := host(t, client.Options{Terminals: true, Permission: tt.policy}, "on session/prompt"+tt.make)
			h.answers(tt.want)
			if h.Exists("made") {
				t.Error("it ran")
			}
			if n := len(h.permissions()); n != 1 {
				t.Errorf("%d decisions are told", n)
			}
		})
	}
}

// A command gets what envscrub leaves, without the agent's own keys.
func TestTerminalEnv(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "canary-ambient-1")
	h := host(t, client.Options{Terminals: true, Permission: permission.Allow()}, `on session/prompt
  request terminal/create {"sessionId":"$session","command":"env","env":[{"name":"EXTRA","value":"given"}]}
  set t "$answer.terminalId"`+waits+shows)
	h.command.Env = append(h.command.Env, "MODEL_API_KEY=canary-explicit-2", "PLAIN=seen")
	h.completes(h.session(), "go", "end_turn")
	h.agent.Close()
	got := h.text()
	for text, want := range map[string]bool{"canary": false, "EXTRA=given": true, "PLAIN=seen": true, "PATH=": true} {
		if strings.Contains(got, text) != want {
			t.Errorf("that the environment has %q is not %v: %s", text, want, got)
		}
	}
}

// An agent cannot make a command forget how deep it is.
func TestTerminalDepth(t *testing.T) {
	for how, request := range map[string]string{
		"beside the command": `"command":"env","env":[{"name":"ERRAND_DEPTH","value":"0"},{"name":"ERRAND_MAX_DEPTH","value":"100"}]`,
		"before it":          `"command":"ERRAND_DEPTH=0 ERRAND_MAX_DEPTH=100 env"`,
	} {
		h := host(t, client.Options{Terminals: true, Permission: permission.Allow()}, `on session/prompt
  request terminal/create {"sessionId":"$session",`+request+`}
  set t "$answer.terminalId"`+waits+shows)
		h.command.Env = append(h.command.Env, "ERRAND_DEPTH=3", "ERRAND_MAX_DEPTH=4")
		h.completes(h.session(), "go", "end_turn")
		h.agent.Close()
		if got := h.text(); !strings.Contains(got, "ERRAND_DEPTH=3") || !strings.Contains(got, "ERRAND_MAX_DEPTH=4") || strings.Contains(got, "=100") {
			t.Errorf("%s: %s", how, got)
		}
	}
}

// Everything ends with the run.
func TestTerminalsEndWithTheAgent(t *testing.T) {
	for name, end := range map[string]func(a *client.Agent){
		"close": func(a *client.Agent) { a.Close() },
		"kill":  func(a *client.Agent) { a.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			h := host(t, client.Options{Terminals: true, Permission: permission.Allow(), Graces: deafToTerm}, "on session/prompt"+
				sh("echo $$ > pid; trap '' TERM HUP; sleep 1000 & echo $! > helper; wait; sleep 1000")+`
  wait file "$cwd/helper"
  text "ready"
  request terminal/wait_for_exit {"sessionId":"$session","terminalId":"$t"}`)
			turn := h.ask(t.Context(), h.session(), "go")
			h.says("ready")
			end(h.agent)
			h.await(turn)
			h.Reaped("pid")
			h.Gone("helper")
		})
	}
	t.Run("and the agent's own processes do not end with a terminal", func(t *testing.T) {
		h := host(t, client.Options{Terminals: true, Permission: permission.Allow()}, "on session/prompt"+sh("sleep 1000")+`
  spawn group
    write "$cwd/own" "$pid"
    wait forever
  end
  wait file "$cwd/own"`+kills+releases+`
  text "released"
  wait cancel`)
		ctx, cancel := context.WithCancel(t.Context())
		turn := h.ask(ctx, h.session(), "go")
		h.says("released")
		if err := syscall.Kill(h.PID("own"), 0); err != nil {
			t.Errorf("what the agent had started is gone: %v", err)
		}
		cancel()
		h.await(turn)
		h.agent.Close()
		h.Gone("own")
	})
	t.Run("whatever the agent says of runs", func(t *testing.T) {
		h := host(t, client.Options{Terminals: true, Permission: permission.Allow()}, `on session/prompt
  request terminal/create {"sessionId":"$session","command":"/bin/sh","args":["-c","echo $$ERRAND_RUN"],"env":[{"name":"ERRAND_RUN","value":"mine"}]}
  set t "$answer.terminalId"`+waits+shows+`
  request terminal/create {"sessionId":"$session","command":"ERRAND_RUN=mine env"}
  set t "$answer.terminalId"`+waits+shows)
		h.opts.RunID = "this-run"
		h.completes(h.session(), "go", "end_turn")
		h.agent.Close()
		if got := h.text(); strings.Count(got, "this-run:") != 2 || strings.Contains(got, "mine") {
			t.Errorf("the command is in the runs %q", got)
		}
	})
	t.Run("too many", func(t *testing.T) {
		h := host(t, client.Options{Terminals: true, Permission: permission.Allow()}, "on session/prompt\n  repeat 40"+create("cat")+"\n  end")
		h.completes(h.session(), "go", "end_turn")
		h.agent.Close()
		if got := h.text(); strings.Count(got, "there are 32 terminals already") != 8 {
			t.Errorf("the agent says %q", got)
		}
	})
}

// What the policy is told would run is what runs.
func TestTerminalProgram(t *testing.T) {
	told := make(chan string, 1)
	policy := permission.PolicyFunc(func(ctx context.Context, req permission.Request) permission.Decision {
		told <- req.Facts().Commands[0].Program
		return permission.Allow().Decide(ctx, req)
	})
	h := host(t, client.Options{Terminals: true, Permission: policy}, `on session/prompt
  request terminal/create {"sessionId":"$session","command":"./tool","args":["x"],"cwd":"$cwd/sub"}
  set t "$answer.terminalId"`+waits+shows)
	require(t, os.Mkdir(h.Dir+"/sub", 0o777))
	require(t, os.WriteFile(h.Dir+"/tool", []byte("#!/bin/sh\necho above"), 0o777))
	require(t, os.WriteFile(h.Dir+"/sub/tool", []byte("#!/bin/sh\necho below"), 0o777))
	h.answers("[0||][below\n|false|]")
	if got := <-told; got != h.Dir+"/sub/tool" {
		t.Errorf("the policy is told of %s", got)
	}
}
