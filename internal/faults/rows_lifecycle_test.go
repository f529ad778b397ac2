package faults

import (
	"slices"
	"strings"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
)

func lifecycleRows() []row { return slices.Concat(familyRows(), deafRows(), silenceRows(), endRows()) }

const (
	toCancel = client.RungCancel
	toClose  = client.RungClose
	toEOF    = client.RungEOF
	toTerm   = client.RungTerm
)

// familyRows are about what an agent has started.
func familyRows() []row {
	return []row{
		{id: "L1", does: "a launcher that does not pass on what it is sent, over an agent that outlives it", forms: []form{
			{script: "l01-launcher", given: deafTo(toEOF), cancelOn: "from the inner agent",
				want: `aborted; "from the inner agent"; 1 updates; signal SIGTERM by sigterm`, check: gone("inner.pid")},
			{name: "a shell", given: all(deafTo(toEOF), under(`exec 7<&0; "$0" "$@" <&7 & wait`)), script: "on session/prompt; append inner.pid $pid; text hello\non eof; wait forever",
				want: `completed; "hello"; 1 updates; signal SIGTERM by sigterm`, check: gone("inner.pid")},
			{name: "a shell, and an agent that heeds EOF", given: under(`exec 7<&0; "$0" "$@" <&7 & wait`), script: "on session/prompt; append inner.pid $pid; text hello",
				want: `completed; "hello"; 1 updates; exit status 0`, check: gone("inner.pid")},
			{name: "killed in mid turn", given: deafTo(toEOF), script: `
				spawn stdin stdout stderr
				  on session/prompt; append inner.pid $pid; text hello; write said; wait forever
				  on eof; wait forever
				end
				wait file said
				raise KILL`,
				want: `error: exit at session/prompt; "hello"; 1 updates; signal SIGKILL`, check: all(says("signal SIGKILL"), gone("inner.pid"))},
			{name: "exits in mid turn", given: deafTo(toEOF, toTerm), script: `
				spawn stdin stdout stderr
				  ignore TERM
				  on session/prompt; append inner.pid $pid; text hello; write said; wait forever
				  on eof; wait forever
				end
				wait file said
				exit 0`,
				want: `error: exit at session/prompt; "hello"; 1 updates; exit status 0`, check: gone("inner.pid")},
			{name: "two of them, over an agent that ignores TERM", given: deafTo(toEOF, toTerm), cancelOn: "deep", script: `
				spawn stdin stdout stderr
				  spawn stdin stdout stderr
				    ignore TERM
				    on session/prompt; append inner.pid $pid; text deep; wait forever
				    on eof; wait forever
				  end
				  wait children
				end
				wait children`,
				want: `aborted; "deep"; 1 updates; signal SIGTERM by sigterm`, check: gone("inner.pid")},
			{name: "one that starts it anew when it ends", given: deafTo(toEOF), cancelOn: "again", script: `
				repeat forever
				  spawn stdin stdout stderr
				    on session/prompt; append inner.pid $pid; text again; wait forever
				  end
				  wait children
				end`,
				want: `aborted; "again"; 1 updates; signal SIGTERM by sigterm`, check: gone("inner.pid")},
			{name: "an agent in a session of its own", given: deafTo(toEOF, toTerm), cancelOn: "far", script: `
				ignore TERM
				spawn stdin stdout stderr session
				  ignore TERM
				  on session/prompt; append inner.pid $pid; text far; wait forever
				  on eof; wait forever
				end
				wait children`,
				want: `aborted; "far"; 1 updates; signal SIGKILL by sigkill`, check: gone("inner.pid")},
		}},
		{id: "L2", does: "starts helpers in sessions of their own, one of them after its answer", forms: []form{
			{script: "l02-strays", want: `completed; "an answer"; 1 updates; exit status 0`, check: gone("helper.pid")},
			{name: "after the answer", script: `
				on session/prompt; stop end_turn; spawn session; ignore TERM; append late.pid $pid; wait forever; end
				on eof; wait file late.pid; exit 0`,
				want: "completed; no text; exit status 0", check: gone("late.pid")},
			{name: "at EOF", script: "on eof; spawn session; ignore TERM; append late.pid $pid; wait forever; end; wait file late.pid; exit 0",
				want: "completed; no text; exit status 0", check: gone("late.pid")},
			{name: "on TERM", given: deafTo(toEOF), script: `
				on eof; wait forever
				on signal TERM; spawn session; ignore TERM; append late.pid $pid; wait forever; end; wait file late.pid; exit 0`,
				want: "completed; no text; exit status 0 by sigterm", check: gone("late.pid")},
			{name: "for a tool call", script: `
				on session/prompt
				  tool c1 "Start the server" kind=execute
				  spawn session stdout stderr; ignore TERM; append helper.pid $pid; wait forever; end
				  wait file helper.pid
				  tool-update c1 status=completed
				  text started`,
				want: `completed; "started"; 3 updates; exit status 0`, check: gone("helper.pid")},
			{name: "before the session", script: "on session/new; spawn session; ignore TERM; append helper.pid $pid; wait forever; end; wait file helper.pid",
				want: "completed; no text; exit status 0", check: gone("helper.pid")},
			{name: "a start that fails", script: "on session/new; spawn session; ignore TERM; append helper.pid $pid; wait forever; end; wait file helper.pid; fail -32603 no",
				want: "not started: agent at session/new", check: gone("helper.pid")},
			{name: "eight, and it crashes", script: `
				on session/prompt
				  repeat 8; spawn session; ignore TERM; write "$pid.helper"; wait forever; end; wait file "$child.helper"; end
				  text eight
				  raise KILL`,
				want: `error: exit at session/prompt; "eight"; 1 updates; signal SIGKILL`},
			{name: "a daemon", script: `
				on session/prompt
				  spawn session; spawn session; append daemon.pid $pid; wait forever; end; wait file daemon.pid; end
				  wait children
				  text "it is up"`,
				want: `completed; "it is up"; 1 updates; exit status 0`, check: gone("daemon.pid")},
			{name: "each starts the next", script: `
				on session/prompt
				  spawn session
				    append first.pid $pid
				    repeat forever
				      spawn session; ignore TERM; wait 200ms; end
				      wait 50ms
				    end
				  end
				  wait file first.pid
				  text "on and on"`,
				want: `completed; "on and on"; 1 updates; exit status 0`, check: gone("first.pid")},
		}},
		{id: "L3", does: "a helper that appends to a file every 100 ms, while the run is cancelled", forms: []form{
			{script: "l03-appends-on-and-on", cancelOn: "working",
				want: `aborted; "working"; 1 updates; exit status 0`, check: all(gone("helper.pid"), still("grows.txt"))},
			{name: "in the agent's group, ignoring TERM", given: lingers(toTerm), cancelOn: "working", script: appends("", "ignore TERM"),
				want: `aborted; "working"; 1 updates; exit status 0`, check: still("grows.txt")},
			{name: "in a session of its own", cancelOn: "working", script: appends("session", "ignore TERM"),
				want: `aborted; "working"; 1 updates; exit status 0`, check: still("grows.txt")},
			{name: "three, and the idle clock", given: idleTimeout(idle), script: `
				on session/new
				  repeat 3; spawn session; repeat forever; append grows.txt x; wait 20ms; end; end; end
				  wait file grows.txt
				on session/prompt; text working; wait forever`,
				want: `aborted: idle_timeout at session/prompt; "working"; 1 updates; exit status 0`, check: still("grows.txt")},
			{name: "the agent itself, deaf to all", given: deafTo(toCancel, toEOF, toTerm), cancelOn: "working", script: `
				ignore TERM
				on session/prompt
				  background; repeat forever; append grows.txt x; wait 20ms; end; end
				  wait file grows.txt
				  text working
				  wait cancel
				  wait forever
				on eof; wait forever`,
				want: `aborted; "working"; 1 updates; signal SIGKILL by sigkill`, check: still("grows.txt")},
			{name: "a tool call that does not hear of it", cancelOn: "working", script: `
				on session/prompt
				  tool c1 "Build" kind=execute status=in_progress
				  spawn session stdout stderr; repeat forever; append grows.txt x; wait 20ms; end; end
				  wait file grows.txt
				  text working
				  wait forever`,
				want: `aborted; "working"; 2 updates; exit status 0`, check: all(still("grows.txt"), func(s *scene) {
					check.Equal(s, "the call's status", s.result.ToolCalls[0].Status, "cancelled")
				})},
		}},
		{id: "L4", does: "exits on EOF, and leaves a helper in its group", forms: []form{
			{script: "l04-helper-stays", given: lingers(), want: `completed; "an answer"; 1 updates; exit status 0`, check: gone("helper.pid")},
			{name: "that ignores TERM", given: lingers(toTerm), script: stays("", "ignore TERM"), want: "completed; no text; exit status 0", check: gone("helper.pid")},
			{name: "that holds its pipes", given: lingers(toTerm), script: stays("stdout stderr", "ignore TERM"), want: "completed; no text; exit status 0", check: gone("helper.pid")},
			{name: "that writes to stderr on and on", given: lingers(), script: stays("stderr", "repeat forever; stderr \"still here\\n\"; end"), want: "completed; no text; exit status 0", check: gone("helper.pid")},
			{name: "that has stopped", given: lingers(toTerm), script: stays("stdout", "ignore TERM; raise STOP"), want: "completed; no text; exit status 0", check: gone("helper.pid")},
			{name: "and exits with a status of its own", given: lingers(), script: stays("", "") + "\non eof; exit 3", want: "completed; no text; exit status 3", check: gone("helper.pid")},
			{name: "or exits with its answer", given: lingers(), script: stays("stdout", "") + "; stop end_turn; exit 0", check: all(gone("helper.pid"), func(s *scene) {
				// Whether EOF or its own exit comes first is anybody's guess.
				check.Equal(s, "outcome", s.result.Stop, "completed")
				check.Equal(s, "exit", s.result.Exit.String(), "exit status 0")
			})},
		}},
		{id: "L5", does: "three levels of processes, each ignoring TERM", forms: []form{
			{script: "l05-three-levels", given: deafTo(toEOF, toTerm),
				want: `completed; "three of us"; 1 updates; signal SIGKILL by sigkill`, check: gone("a.pid", "b.pid", "c.pid")},
			{name: "six levels", given: deafTo(toEOF, toTerm), script: levels(6, ""), want: `completed; "all up"; 1 updates; signal SIGKILL by sigkill`, check: gone("1.pid", "6.pid")},
			{name: "each in a group of its own", given: deafTo(toEOF, toTerm), script: levels(3, "group"), want: `completed; "all up"; 1 updates; signal SIGKILL by sigkill`, check: gone("1.pid", "2.pid", "3.pid")},
			{name: "each in a session of its own", given: deafTo(toEOF, toTerm), script: levels(3, "session"), want: `completed; "all up"; 1 updates; signal SIGKILL by sigkill`, check: gone("1.pid", "2.pid", "3.pid")},
			{name: "each without an environment", given: deafTo(toEOF, toTerm), script: levels(3, "session no-env"), want: `completed; "all up"; 1 updates; signal SIGKILL by sigkill`, check: gone("1.pid", "2.pid", "3.pid")},
			{name: "the agent heeds EOF", given: lingers(toTerm), script: strings.Replace(strings.Replace(levels(3, ""), "ignore TERM", "", 1), "on eof; wait forever", "", 1),
				want: `completed; "all up"; 1 updates; exit status 0`, check: gone("1.pid", "2.pid", "3.pid")},
			{name: "cancelled in mid turn, deaf to that too", given: deafTo(toCancel, toEOF, toTerm), cancelOn: "all up", script: levels(3, "") + "\nwait forever\non session/cancel; wait forever",
				want: `aborted; "all up"; 1 updates; signal SIGKILL by sigkill`, check: gone("1.pid", "2.pid", "3.pid")},
		}},
		parentRow(),
	}
}

// appends is an agent whose helper appends to grows.txt.
func appends(how, first string) string {
	return "on session/prompt; spawn " + how + "\n" + first + "\nrepeat forever; append grows.txt x; wait 20ms; end\nend\nwait file grows.txt; text working; wait forever"
}

// stays is an agent with a helper.
func stays(how, first string) string {
	return "on session/prompt; spawn " + how + "\nappend helper.pid $pid\n" + first + "\nwait forever\nend\nwait file helper.pid"
}

// levels is an agent with processes below it, one under the other, which ignore TERM as
// it does.
func levels(n int, how string) string {
	digits := "123456"[:n]
	src := "ignore TERM\non eof; wait forever\non session/prompt\n"
	for _, d := range digits {
		src += "spawn " + how + "\nignore TERM\nappend " + string(d) + ".pid $pid\n"
	}
	src += "wait forever\n" + strings.Repeat("end\nwait forever\n", n-1) + "end\n"
	for _, d := range digits {
		src += "wait file " + string(d) + ".pid\n"
	}
	return src + "text \"all up\""
}

// still checks that nobody writes to a file any more.
func still(name string) func(*scene) {
	return func(s *scene) {
		s.Helper()
		before := s.file(name)
		time.Sleep(250 * time.Millisecond) // the fault would show, not something be waited for
		if now := s.file(name); before == "" || len(now) > len(before) {
			s.Errorf("%s had %d bytes after the run, and now %d", name, len(before), len(now))
		}
	}
}

// deafRows are about agents that do not hear what ends them.
func deafRows() []row {
	return []row{
		{id: "L7", does: "does not heed EOF, or not SIGTERM either", forms: []form{
			{script: "l07-ignores-eof", given: deafTo(toEOF), want: "completed; no text; signal SIGTERM by sigterm"},
			{name: "nor TERM", script: "l07-ignores-eof-and-term", given: deafTo(toEOF, toTerm), want: "completed; no text; signal SIGKILL by sigkill"},
			{name: "flushes on TERM", script: "l07-flushes-on-term", given: deafTo(toEOF), want: "completed; no text; exit status 0 by sigterm", check: wrote("flushed.txt", "flushed")},
			{name: "fails on TERM", given: deafTo(toEOF), script: "on eof; wait forever\non signal TERM; stderr \"interrupted\\n\"; exit 3",
				want: "completed; no text; exit status 3 by sigterm", check: func(s *scene) { check.Has(s, s.result.StderrTail, "interrupted") }},
			{name: "nor INT, HUP, QUIT and PIPE", given: deafTo(toEOF, toTerm), script: "ignore TERM; ignore INT; ignore HUP; ignore QUIT; ignore PIPE; ignore USR1\non eof; wait forever",
				want: "completed; no text; signal SIGKILL by sigkill"},
			{name: "takes its time at EOF", script: "on eof; wait 300ms; exit 4", want: "completed; no text; exit status 4"},
			{name: "stops itself at EOF", given: deafTo(toEOF), script: "on eof; raise STOP; wait forever", want: "completed; no text; signal SIGTERM by sigterm"},
			{name: "writes on and on at EOF", given: deafTo(toEOF), script: "on eof; repeat forever; noise \"still here\"; stderr \"still here\\n\"; end", check: func(s *scene) {
				check.Equal(s, "outcome", s.result.Stop, "completed")
				check.Equal(s, "exit", s.result.Exit.String()+" by "+string(s.result.Exit.Rung), "signal SIGTERM by sigterm")
			}},
			{name: "closes its stdin and lives on", given: deafTo(toEOF), script: "on session/prompt; stdin close; text \"still here\"\non eof; wait forever", want: `completed; "still here"; 1 updates; signal SIGTERM by sigterm`},
			{name: "nor session/cancel", given: deafTo(toCancel, toEOF, toTerm), cancelOn: "busy", script: "ignore TERM\non session/prompt; text busy; wait forever\non session/cancel; wait forever\non eof; wait forever",
				want: `aborted; "busy"; 1 updates; signal SIGKILL by sigkill`},
			{name: "nor session/close", given: deafTo(toClose), script: "on session/close; append asked.txt close; never reply\non eof; wait file asked.txt; exit 0", want: "completed; no text; exit status 0", check: wrote("asked.txt", "close\n")},
			{name: "exits on session/cancel", script: "on session/prompt; text busy; wait cancel; exit 5", cancelOn: "busy", want: `aborted; "busy"; 1 updates; exit status 5 by cancel`},
			{name: "exits on session/close", script: "on session/close; exit 5", want: "completed; no text; exit status 5 by close"},
		}},
	}
}
