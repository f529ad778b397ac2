package faults

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// silenceRows are about answers that do not come.
func silenceRows() []row {
	soon := startTimeout(700 * time.Millisecond) // by then it need not even run
	later := startTimeout(ample)                 // by then it has said something
	last := startTimeout(2 * ample)              // by then a helper of it runs too
	const silent = "not started: startup_timeout at initialize"
	return []row{
		{id: "L8", does: "never answers initialize, session/new or authenticate", forms: []form{
			{script: "l08-silent-initialize", given: soon, want: silent, check: says("no answer to initialize", "700ms")},
			{name: "session/new", script: "l08-silent-session", given: all(last, deafTo(toEOF)), want: "not started: startup_timeout at session/new", check: all(says("session/new", (2*ample).String()), gone("child.pid"))},
			{name: "authenticate, for which nobody has asked", script: "l08-silent-authenticate", want: "completed; no text; exit status 0"},
			{name: "after noise", given: later, script: "noise \"loading the model\"; stderr \"still loading\\n\"\non initialize; never reply", want: silent,
				check: says("loading the model", "still loading")},
			{name: "with noise on and on", given: later, script: "on initialize; background; repeat forever; noise .; wait 10ms; end; end; never reply", want: silent, check: says("no ACP frames")},
			{name: "with stderr on and on", given: soon, script: "on initialize; background; repeat forever; stderr .; wait 10ms; end; end; never reply", want: silent},
			{name: "with updates on and on", given: soon, script: `on initialize; background; repeat forever; update {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"."}} session=s; wait 10ms; end; end; never reply`, want: silent},
			{name: "session/new, with updates on and on", given: later, script: "on session/new; background; repeat forever; text . session=session-1; wait 50ms; end; end; never reply", want: "not started: startup_timeout at session/new"},
			{name: "asks instead", given: soon, script: `on initialize; request _login/open {"url": "http://localhost/"} ; never reply`, want: silent},
			{name: "answers too late", given: soon, script: "on initialize; wait 1h", want: silent},
			{name: "answers another id", given: soon, script: `on initialize; reply {"protocolVersion": 1} id=4711; reply {"protocolVersion": 1} id="no"; never reply`, want: silent},
			{name: "reads nothing", given: all(soon, deafTo(toEOF)), script: "stdin stop\non initialize; never reply", want: silent},
			{name: "deaf, with a deaf child", given: all(last, deafTo(toEOF, toTerm)), script: `
				ignore TERM
				on session/new; spawn; ignore TERM; append child.pid $pid; wait forever; end; never reply
				on eof; wait forever`,
				want: "not started: startup_timeout at session/new", check: gone("child.pid")},
			{name: "cancelled meanwhile", do: func(s *scene) {
				ctx, cancel := context.WithCancel(s.Context())
				defer cancel()
				go func() { s.until("asked", func() bool { return s.file("asked") != "" }); cancel() }() // ends with its file
				s.delegate(ctx)
			}, script: "on session/new; append asked x; never reply", want: "not started: cancelled at session/new"},
		}},
		{id: "L9", does: "exits before initialize with a usage text and status 2", forms: []form{
			{script: "l09-usage-text", want: exited, check: all(says("exit status 2", "unknown flag: --ACP"), func(s *scene) {
				check.Equal(s, "status", *s.err.Partial.Exit.Code, 2)
				check.Equal(s, "rung", s.err.Partial.Exit.Rung, client.RungExit)
				check.Equal(s, "stderr", s.err.Partial.StderrTail, "usage: agent [--acp]\nunknown flag: --ACP\n")
			})},
			{name: "without a word", script: "exit 0", want: exited, check: says("exit status 0")},
			{name: "after its version on stdout", script: "noise \"agent 1.2.3\"; exit 0", want: exited, check: says("exit status 0", "agent 1.2.3")},
			{name: "with the usage on stdout", script: "noise \"usage: agent [--acp]\"; noise \"  --acp  speak ACP\"; exit 64", want: exited, check: says("exit status 64", "usage: agent [--acp]", "frames: 2")},
			{name: "by a signal", script: "raise KILL", want: exited, check: says("signal SIGKILL")},
			{name: "by a signal, with a word before", script: "stderr \"out of memory\"; raise TERM", want: exited, check: says("signal SIGTERM", "out of memory")},
			{name: "after much on stderr", script: "stderr x size=200KB; stderr \"\\nfatal: no model\\n\\n\"; exit 1", want: exited, check: all(says("exit status 1", `"fatal: no model"`), func(s *scene) {
				check.Equal(s, "truncated", s.err.Partial.StderrTruncated, true)
			})},
			{name: "without having read anything", given: func(s *scene) { s.request.Prompt = subagent.Text(strings.Repeat("x", 1<<20)) }, script: "stdin stop; stderr \"no\\n\"; exit 1", want: exited, check: says("exit status 1", "no")},
			{name: "while a helper holds its pipes", script: "spawn stdout stderr; ignore TERM; append helper.pid $pid; wait forever; end\nwait file helper.pid; stderr \"usage\\n\"; exit 2", given: deafTo(toEOF, toTerm),
				want: exited, check: all(says("exit status 2", "usage"), gone("helper.pid"))},
			{name: "having read initialize", script: "on initialize; stderr \"boom\\n\"; exit 3", want: exited, check: says("exit status 3", "boom")},
			{name: "having answered it", script: "on initialize; reply {\"protocolVersion\":1}; stderr \"boom\\n\"; exit 3\non session/new; never reply", want: "not started: exit at session/new", check: says("exit status 3", "boom")},
			{name: "at session/new", script: "on session/new; stderr \"no such project\\n\"; exit 4", want: "not started: exit at session/new", check: says("exit status 4", "no such project")},
			{name: "closes its stdout instead, and lives on", given: deafTo(toEOF), script: "stdout close\non eof; wait forever", want: "not started: transport at initialize", check: says("closed its stdout", "lives on")},
		}},
		{id: "L10", does: "`cat`: sends back what it reads", forms: []form{
			{script: "l10-echo", want: echoes, check: says("echoes our own frames", "no ACP agent")},
			{name: "cat itself", given: program("cat"), want: echoes, check: says("echoes our own frames", "no ACP agent")},
			{name: "written anew", script: `on initialize; send {"params": $params, "method": "initialize", "id": $id, "jsonrpc": "2.0"}; never reply`, want: echoes, check: says("echoes our own frames")},
			{name: "over several lines", given: later, script: `on initialize; send {"jsonrpc": "2.0", "id": $id, "method": "initialize", "params": $params} pretty; never reply`, want: silent, check: says("no ACP frames")},
			{name: "with a prompt before it", given: all(later, program("/bin/sh", "-c", `while read -r line; do printf '> %s\n' "$line"; done`)), want: silent, check: says("no ACP frames", "> {")},
			{name: "a greeting, then cat", given: program("/bin/sh", "-c", "echo Welcome; exec cat"), want: echoes, check: says("echoes our own frames", "Welcome")},
			{name: "in capitals", given: all(later, program("/bin/sh", "-c", `while read -r line; do printf '%s\n' "$line" | tr a-z A-Z; done`)), want: silent, check: says("no ACP frames")},
			{name: "a shell", given: all(later, program("/bin/sh")), want: silent, check: says("stderr ends with", "jsonrpc")},
			{name: "a REPL", given: all(later, program("/bin/sh", "-c", `printf '>>> '; while read -r line; do printf 'syntax error\n>>> '; done`)), want: silent, check: says("syntax error")},
			{name: "true", given: program("true"), want: exited, check: says("exit status 0")},
			{name: "false", given: program("false"), want: exited, check: says("exit status 1")},
			{name: "sleep", given: all(soon, deafTo(toEOF), program("sleep", "1000")), want: silent},
			{name: "yes", given: all(later, deafTo(toEOF), program("yes", "I am no agent")), want: silent, check: all(says("I am no agent"), func(s *scene) {
				if n := len(s.err.Partial.Noise.First); n == 0 || n > 20 {
					s.Errorf("%d lines of noise are kept", n)
				}
			})},
			{name: "from the session on", script: `on session/new; send {"jsonrpc": "2.0", "id": $id, "method": "session/new", "params": $params}; never reply`, want: "not started: protocol at session/new", check: says("echoes our own frames (session/new")},
		}},
		{id: "L11", does: "streams the whole answer, and never answers the prompt", forms: []form{
			{script: "l11-no-response", given: all(idleTimeout(idle), deafTo(toCancel)),
				want: `aborted: idle_timeout at session/prompt; "the whole answer"; 2 updates; exit status 0`, check: says("nothing came", idle.String())},
			{name: "the caller's clock", script: "l11-no-response", given: deafTo(toCancel), do: passes(0, "answer"),
				want: `aborted: timeout at session/prompt; "the whole answer"; 2 updates; exit status 0`, check: says("deadline")},
			{name: "cancelled", script: "l11-no-response", given: deafTo(toCancel), cancelOn: "answer",
				want: `aborted; "the whole answer"; 2 updates; exit status 0`},
			{name: "heeds the cancel, with last words", given: idleTimeout(idle), script: "on session/prompt; text \"the whole \"; wait cancel; text answer; stop cancelled",
				want: `aborted: idle_timeout at session/prompt; "the whole answer"; 2 updates; exit status 0`},
			{name: "thinks on and on", do: passes(2*idle, "the answer"), given: all(idleTimeout(idle), deafTo(toCancel)), script: "on session/prompt; text \"the answer\"; repeat forever; thought .; wait 50ms; end",
				check: func(s *scene) {
					check.Equal(s, "outcome", s.result.Stop, "aborted")
					check.Equal(s, "kind", s.result.Error.Kind, client.KindTimeout)
					check.Equal(s, "output", s.result.Output, "the answer")
				}},
			{name: "answers another id", given: all(idleTimeout(idle), deafTo(toCancel)), script: `on session/prompt; text "the answer"; reply {"stopReason": "end_turn"} id=4711; never reply
				on session/cancel; wait forever`,
				want: `aborted: idle_timeout at session/prompt; "the answer"; 1 updates; exit status 0`},
			{name: "answers with half a frame", given: all(idleTimeout(idle), deafTo(toCancel)), script: `on session/prompt; text "the answer"; raw '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"'; never reply
				on session/cancel; wait forever`,
				want: `aborted: idle_timeout at session/prompt; "the answer"; 1 updates; 1 lines of noise; exit status 0`},
		}},
		// With a call that is open before the turn begins, nothing has to come within the
		// limit, but within ten times of it.
		{id: "L12", does: "a tool call that is open without a word for twice the idle limit", forms: []form{
			{script: "l12-long-tool-call", given: idleTimeout(2 * time.Second), want: `completed; "passed"; 3 updates; exit status 0`},
			{name: "pending", given: idleTimeout(time.Second), script: "on session/new; tool c1 Build status=pending\non session/prompt; wait 2s; text built", want: `completed; "built"; 2 updates; exit status 0`},
			{name: "one of two is done", given: idleTimeout(time.Second), script: "on session/new; tool c1 Build; tool c2 Test; tool-update c2 status=completed\non session/prompt; wait 2s; text built", want: `completed; "built"; 4 updates; exit status 0`},
			{name: "allowed", given: all(idleTimeout(idle), policy(permission.Allow())), script: fmt.Sprintf("on session/prompt; permission c1 Build; option a allow_once Yes; end; wait %v; text built", 2*idle), want: `completed; "built"; 1 updates; allowed; exit status 0`},
			{name: "for more than ten times", given: all(idleTimeout(400*time.Millisecond), deafTo(toCancel)), script: "on session/new; tool c1 Build\non session/prompt; wait forever", want: "aborted: idle_timeout at session/prompt; no text; 1 updates; exit status 0",
				check: func(s *scene) { check.Equal(s, "status of the call", s.result.ToolCalls[0].Status, "cancelled") }},
			{name: "it has failed before", given: idleTimeout(time.Second), script: "on session/new; tool c1 Build; tool-update c1 status=failed\non session/prompt; wait forever", want: "aborted: idle_timeout at session/prompt; no text; 2 updates; exit status 0"},
			{name: "it was rejected", given: idleTimeout(time.Second), script: "on session/new; permission c1 Build; option r reject_once No; end\non session/prompt; wait forever", want: "aborted: idle_timeout at session/prompt; no text; denied; exit status 0"},
			{name: "it is us who think", given: all(idleTimeout(idle), policy(permission.PolicyFunc(func(context.Context, permission.Request) permission.Decision {
				time.Sleep(2 * idle) // the fault
				return permission.Decision{OptionID: "a"}
			}))), script: "on session/prompt; tool c1 Build; tool-update c1 status=completed; permission c2 Run; option a allow_once Yes; end; text run", want: `completed; "run"; 3 updates; allowed; exit status 0`},
		}},
	}
}

const (
	exited = "not started: exit at initialize"
	echoes = "not started: protocol at initialize"
)

// endRows are about other ends, and what is left after many.
func endRows() []row {
	return []row{
		{id: "L13", does: "kills itself with SIGKILL in mid answer", forms: []form{
			{script: "l13-kills-itself", want: `error: exit at session/prompt; "half an answ"; 1 updates; signal SIGKILL`, check: all(says("signal SIGKILL"), func(s *scene) {
				check.Equal(s, "output", s.result.Output, "half an answ")
				check.Equal(s, "retryable", s.result.Error.Retryable, false)
			})},
			{name: "TERM", script: "on session/prompt; text half; raise TERM", want: `error: exit at session/prompt; "half"; 1 updates; signal SIGTERM`, check: says("signal SIGTERM")},
			{name: "with a word on stderr", script: "on session/prompt; text half; stderr \"oh\\n\"; raise KILL", want: `error: exit at session/prompt; "half"; 1 updates; signal SIGKILL`, check: says("signal SIGKILL", "oh")},
			{name: "a crash with a dump", script: "on session/prompt; text half; raise ABRT", want: `error: exit at session/prompt; "half"; 1 updates; exit status 2`, check: func(s *scene) { check.Has(s, s.result.StderrTail, "SIGABRT") }},
			{name: "SEGV", given: under(`"$0" "$@"; kill -SEGV $$`), script: "on session/prompt; text half; exit 9", want: `error: exit at session/prompt; "half"; 1 updates; signal SIGSEGV`, check: says("signal SIGSEGV")},
			{name: "status 0", script: "on session/prompt; text half; exit 0", want: `error: exit at session/prompt; "half"; 1 updates; exit status 0`, check: says("exit status 0")},
			{name: "status 255, without a word", script: "on session/prompt; exit 255", want: "error: exit at session/prompt; no text; exit status 255"},
			{name: "within a frame", script: `on session/prompt; text half; raw '{"jsonrpc":"2.0","method":"session/upd'; raise KILL`, want: `error: exit at session/prompt; "half"; 1 updates; 1 lines of noise; signal SIGKILL`},
			{name: "with a tool call open", script: "on session/prompt; tool c1 Build status=in_progress; raise KILL", want: "error: exit at session/prompt; no text; 1 updates; signal SIGKILL",
				check: func(s *scene) { check.Equal(s, "status of the call", s.result.ToolCalls[0].Status, "unknown") }},
			{name: "with a permission pending", given: pends, script: "on session/prompt; background; permission c1 Build; option a allow_once Yes; end; end; wait file asked; text half; raise KILL",
				want: `error: exit at session/prompt; "half"; 1 updates; cancelled; signal SIGKILL`},
			{name: "after our cancel", cancelOn: "half", script: "on session/prompt; text half; wait cancel; raise KILL", want: `aborted; "half"; 1 updates; signal SIGKILL by cancel`},
			{name: "after its answer", script: "on session/prompt; text whole; stop end_turn; raise KILL", check: func(s *scene) {
				// EOF may end it first.
				check.Equal(s, "outcome", s.result.Stop, "completed")
				check.Equal(s, "output", s.result.Output, "whole")
			}},
		}},
		startsFailRow(),
		manyRunsRow(),
		{id: "L16", does: "a daemon with an emptied environment, in a session of its own, whose parent is gone", noSDK: "left behind, as every daemon is",
			errand: "found by the life-line, or where it was a descendant when the run was closed; without both it is a limit that the docs state", forms: []form{
				{script: "l16-daemon", want: `completed; "an answer"; 1 updates; exit status 0`, check: gone("daemon.pid")},
				{name: "and closes what it has inherited", script: "on session/prompt; wait file daemon.pid; text up", given: under(`
					(setsid env -i /bin/sh -c 'echo $$ >.pid; mv .pid daemon.pid; exec sleep 1000' 3<&- </dev/null >/dev/null 2>&1 &)
					exec "$0" "$@"`), want: `completed; "up"; 1 updates; exit status 0`, check: limit},
				{name: "whose parent is the agent", script: "on session/prompt; spawn session no-env; ignore TERM; append daemon.pid $pid; wait forever; end; wait file daemon.pid; text up",
					want: `completed; "up"; 1 updates; exit status 0`, check: gone("daemon.pid")},
				{name: "whose parent is one of the agent's", script: `
					on session/prompt
					  spawn; spawn session no-env; ignore TERM; append daemon.pid $pid; wait forever; end; wait forever; end
					  wait file daemon.pid; text up`,
					given: lingers(), want: `completed; "up"; 1 updates; exit status 0`, check: gone("daemon.pid")},
				{name: "still in the agent's session", script: `
					on session/prompt
					  spawn; spawn group no-env; ignore TERM; append daemon.pid $pid; wait forever; end; wait file daemon.pid; end
					  wait children; text up`,
					want: `completed; "up"; 1 updates; exit status 0`, check: gone("daemon.pid")},
				{name: "the agent crashes", script: "on session/prompt; spawn session; append daemon.pid $pid; ignore TERM; wait forever; end; wait file daemon.pid; raise KILL",
					want: "error: exit at session/prompt; no text; signal SIGKILL", check: gone("daemon.pid")},
			}},
		{id: "L17", does: "stops itself; a helper asks on /dev/tty", forms: []form{
			{script: "l17-stops-itself", given: deafTo(toCancel, toEOF), cancelOn: "half an answer", want: `aborted; "half an answer"; 1 updates; signal SIGTERM by sigterm`},
			{name: "/dev/tty", script: "l17-asks-on-the-terminal", want: `completed; "it has asked"; 1 updates; exit status 0`, check: func(s *scene) { check.Has(s, s.file("asked.txt"), "/dev/tty") }},
			{name: "ignores TERM", given: deafTo(toCancel, toEOF, toTerm), cancelOn: "half", script: "ignore TERM\non session/prompt; text half; raise STOP; wait cancel\non eof; wait forever", want: `aborted; "half"; 1 updates; signal SIGKILL by sigkill`},
			{name: "the idle clock", given: all(idleTimeout(idle), deafTo(toCancel, toEOF)), script: "on session/prompt; text half; raise STOP\non eof; wait forever", want: `aborted: idle_timeout at session/prompt; "half"; 1 updates; signal SIGTERM by sigterm`},
			{name: "before initialize", given: all(startTimeout(700*time.Millisecond), deafTo(toEOF)), script: "raise STOP\non eof; wait forever", want: "not started: startup_timeout at initialize"},
			{name: "a helper that has stopped", given: lingers(), script: "on session/prompt; spawn; append helper.pid $pid; raise STOP; end; wait file helper.pid; text up", want: `completed; "up"; 1 updates; exit status 0`, check: gone("helper.pid")},
			{name: "as for the terminal's sake", script: "on session/prompt; raise TTIN; raise TTOU; raise TSTP; text \"not stopped\"", want: `completed; "not stopped"; 1 updates; exit status 0`},
			{name: "asks on the terminal itself", script: "on session/prompt; tty \"password: \"; text \"$error\"", want: "", check: func(s *scene) {
				check.Equal(s, "outcome", s.result.Stop, "completed")
				check.Has(s, s.result.Output, "/dev/tty")
			}},
		}},
		{id: "L18", does: "SIGTERM, SIGHUP or Ctrl-C for errand itself, or its stdout is closed", where: "cmd/errand",
			errand: "session/cancel and the ladder; status 143, 129, 130 or 141; nothing alive"},
		{id: "L19", does: "the disk is full for all that we write", where: "cmd/errand",
			errand: "the result on stderr, a warning, status 1"},
	}
}

// limit checks that the daemon of L16 is not found, and ends it: if it were, the docs
// would say too little.
func limit(s *scene) {
	s.Helper()
	if runtime.GOOS != "linux" {
		return
	}
	for _, pid := range s.pids("daemon.pid") {
		if !alive(pid) {
			s.Errorf("process %d was ended; so the limit that internal/proc documents is none", pid)
		}
		end(pid)
	}
}
