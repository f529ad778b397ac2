package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/subagent"
)

// cancels are the ways in which a turn is ended from outside: by the caller, or a clock.
var cancels = []part{
	{"cancel, agreed", 4, func(s *scene) {
		s.some()
		s.cancelled()
		s.do("wait cancel")
		s.some()
		s.do("stop cancelled")
		s.main.Reason = "cancelled"
	}},
	{"cancel of a wait", 3, func(s *scene) {
		s.some()
		s.cancelled()
		s.do("wait forever")
		s.main.Reason = "cancelled"
	}},
	{"cancel, answered otherwise", 2, func(s *scene) {
		s.cancelled()
		s.do("wait cancel")
		s.main.Reason = pick(s.Rand, "end_turn", "refusal", "no_such_reason")
		s.do("stop %s", s.main.Reason)
	}},
	{"cancel, answered with an error", 2, func(s *scene) {
		s.some()
		s.cancelled()
		s.do("wait cancel")
		s.do(`fail %d "cancelled"`, pick(s.Rand, -32800, -32603))
	}},
	{"cancel, then a crash", 2, func(s *scene) {
		s.some()
		s.cancelled()
		s.do("wait cancel")
		s.crash()
		s.main.Rung = "cancel"
	}},
	{"cancel ignored", 2, func(s *scene) {
		s.some()
		s.cancelled()
		s.ignores()
		s.do("wait forever")
	}},
	{"cancel with a permission pending", 3, (*scene).cancelPending},
	{"cancel at any frame", 6, func(s *scene) {
		s.some()
		s.stop("end_turn")
		s.atFrame(12)
	}},
	{"cancel in mid burst", 4, func(s *scene) {
		s.burst(s.number(200, 3000))
		s.stop("end_turn")
		s.atFrame(2000)
	}},
	{"cancel of a prompt that is not read", 2, func(s *scene) {
		s.in(&s.newSession, func() { s.do("stdin stop") })
		s.library = true
		s.prompt = nil
		s.request.Prompt = subagent.Text(strings.Repeat("x", s.number(1, 2<<20)))
		s.caller.by, s.caller.onStart = pick(s.Rand, "context", "cancel", "close"), true
		s.aborted()
		s.options.Graces.Cancel = short
		s.deaf("SIGTERM", "sigterm")
		s.main.cut = true
	}},
	{"deadline", 3, func(s *scene) {
		s.some()
		s.do("wait forever")
		s.caller.deadline = time.Duration(s.number(300, 1200)) * time.Millisecond
		s.aborted()
		s.main.Reason = "cancelled|" // it may not have been asked yet
		s.main.Error = fmt.Sprintf("%s at %s", client.KindTimeout, client.StepPrompt)
		s.main.cut = true
		s.hurried(client.KindTimeout)
	}},
	{"idle", 3, func(s *scene) {
		s.some()
		s.do("wait forever")
		s.options.IdleTimeout = 300 * time.Millisecond
		if s.openCall {
			s.options.IdleTimeout /= 5 // it waits ten times as long
		}
		s.aborted()
		s.main.Reason = "cancelled"
		s.main.Error = fmt.Sprintf("%s at %s", client.KindIdleTimeout, client.StepPrompt)
		s.main.cut = true
	}},
	{"stopped by a signal", 2, func(s *scene) {
		s.some()
		s.cancelled()
		s.ignores() // the signal takes a moment
		s.do("raise STOP\nwait forever")
		s.deaf("SIGTERM|status 0", "sigterm")
	}},
}

// short is a grace for who does not heed it. Who does is given time.
const short = 100 * time.Millisecond

// aborted says that the turn is ended from outside.
func (s *scene) aborted() {
	s.main.Stop = "aborted"
	s.options.Graces.Cancel = 20 * time.Second
	s.ended = true
}

// cancelled lets the caller end the run now.
func (s *scene) cancelled() {
	s.do("write %s", goFile)
	s.caller.after = s.main.Counts.Updates + s.main.Counts.Foreign
	s.caller.by, s.caller.onFile = pick(s.Rand, "context", "cancel", "close"), true
	s.aborted()
}

// ignores makes the agent deaf to session/cancel.
func (s *scene) ignores() {
	s.in(&s.cancel, func() { s.do("wait forever") })
	s.library = true
	s.options.Graces.Cancel = short
	s.mayNotClose()
}

// deaf is an agent that does not hear of the end of its stdin either.
func (s *scene) deaf(exit, rung string) {
	s.alive = false
	s.options.Graces.EOF = short
	s.main.Exit, s.main.Rung = exit, rung
}

// cancelPending cancels while the agent waits for a permission.
func (s *scene) cancelPending() {
	s.library = true
	s.caller.by, s.caller.whenAsked = pick(s.Rand, "context", "cancel", "close"), true
	s.some()
	s.aborted()
	s.main.Reason = "cancelled"
	s.divide()
	s.do("permission %s %s cancel=%s", pendingCall, quoted(s.words()), pick(s.Rand, "wait", "leave", "withdraw"))
	s.do("  option yes allow_once Yes\n  option no reject_once No")
	s.do("  when allowed\n    text \"allowed\"\n  when rejected\n    text \"rejected\"\nend")
	s.tools = append(s.tools, tool{pendingCall, "pending", "permitted false"})
	s.main.Permissions = append(s.main.Permissions, pendingCall+" cancelled, no option")
}

// pendingCall is the call whose permission nobody gives an answer to.
const pendingCall = "pending-call"

// atFrame cancels once so many frames have passed, at most. The start may be over by
// then, or the turn; an answer that was read wins.
func (s *scene) atFrame(most int) {
	s.library = true
	reason := s.main.Reason
	s.caller.by, s.caller.onFrame = "context", s.number(1, most)
	s.aborted()
	s.main.Reason = "cancelled|end_turn|" // it may not have been asked yet
	s.main.cut = true
	s.or(func(e *expectation) { // the answer was there
		e.Stop, e.Reason, e.cut = stops[reason], reason, false
		e.Tools = slices.Clone(e.Tools)
		for i, t := range e.Tools {
			e.Tools[i] = strings.Replace(t, " cancelled,", " unknown,", 1)
		}
	})
	s.hurried(client.KindCancelled)
}

// hurried says that the run may be ended before it has come to a session, or the agent to
// listen.
func (s *scene) hurried(kind client.ErrorKind) {
	s.listening, s.session = false, false
	for _, step := range []client.Step{client.StepConfig, client.StepSpawn, client.StepInitialize, client.StepNewSession} {
		s.or(func(e *expectation) {
			e.Started, e.Reason, e.Error, e.cut = false, "", fmt.Sprintf("%s at %s", kind, step), true
			e.Rung += "|"
			e.Exit += "|none"
		})
	}
}
