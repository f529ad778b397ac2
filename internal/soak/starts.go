package main

import (
	"fmt"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/subagent"
)

// starts are the ways in which a run does not come to a session.
var starts = []part{
	{"no such program", 1, func(s *scene) { s.notSpawned("no-such-program-" + fmt.Sprint(s.IntN(1000))) }},
	{"no such file", 1, func(s *scene) { s.notSpawned("/no/such/file") }},
	{"a directory for a program", 1, func(s *scene) { s.notSpawned("/") }},
	{"a program that nobody may run", 1, func(s *scene) { s.notSpawned("/etc/passwd") }},
	{"no such directory", 1, func(s *scene) { s.refused(); s.request.Dir = "/no/such/directory" }},
	{"a relative directory", 1, func(s *scene) { s.refused(); s.request.Dir = "somewhere" }},
	{"an empty prompt", 1, func(s *scene) { s.refused(); s.request.Prompt = subagent.Text("") }},
	{"a context that has ended", 1, func(s *scene) {
		s.refused()
		s.caller.done = true
		s.main.Stop, s.main.Error = "aborted", "cancelled at config"
	}},
	{"crash before initialize", 3, func(s *scene) { s.crashAt(&s.start, client.StepInitialize) }},
	{"crash at initialize", 3, func(s *scene) { s.crashAt(&s.initialize, client.StepInitialize) }},
	{"crash at session/new", 3, func(s *scene) { s.crashAt(&s.newSession, client.StepNewSession) }},
	{"stdout closed at initialize", 1, func(s *scene) { s.closesAt(&s.initialize, client.StepInitialize) }},
	{"stdout closed at session/new", 1, func(s *scene) { s.closesAt(&s.newSession, client.StepNewSession) }},
	{"silent at initialize", 1, func(s *scene) { s.silentAt(&s.initialize, client.StepInitialize) }},
	{"silent at session/new", 1, func(s *scene) { s.silentAt(&s.newSession, client.StepNewSession) }},
	{"error at initialize", 2, func(s *scene) { s.errorAt(&s.initialize, client.StepInitialize) }},
	{"error at session/new", 2, func(s *scene) { s.errorAt(&s.newSession, client.StepNewSession) }},
	{"authentication wanted", 2, func(s *scene) {
		s.fails(client.KindAuthRequired, client.StepNewSession)
		s.main.Error += ", code -32000"
		s.in(&s.newSession, func() {
			s.do(`fail -32000 "Authentication required" {"authMethods": [{"id": "login", "name": "Log in"}]}`)
		})
	}},
	{"another protocol version", 2, func(s *scene) {
		s.fails(client.KindVersion, client.StepInitialize)
		version := pick(s.Rand, `{"protocolVersion": 2}`, `{"protocolVersion": 0}`, `{"protocolVersion": "2025-01-01"}`, `{"protocolVersion": null}`, `{}`, `{"protocolVersion": [1]}`)
		s.in(&s.initialize, func() { s.do("reply %s", version) })
	}},
	{"odd answer to initialize", 1, func(s *scene) {
		s.fails(client.KindProtocol, client.StepInitialize)
		s.in(&s.initialize, func() { s.do("reply %s", pick(s.Rand, `[1]`, `"yes"`, `1`)) })
	}},
	{"no session id", 2, func(s *scene) {
		s.fails(client.KindProtocol, client.StepNewSession)
		s.in(&s.newSession, func() {
			s.do("reply %s", pick(s.Rand, `{}`, `{"sessionId": ""}`, `{"sessionId": null}`, `{"sessionId": 7}`, `[]`))
		})
	}},
	{"echo", 2, func(s *scene) {
		s.fails(client.KindProtocol, client.StepInitialize)
		s.in(&s.start, func() { s.do("echo") })
	}},
	{"answer to session/new over the limit", 1, func(s *scene) {
		s.fails(client.KindTooLarge, client.StepNewSession)
		s.limitMessages()
		s.in(&s.newSession, func() {
			s.do("set pad x size=200KiB")
			s.do(`reply {"sessionId": "session-1", "_meta": {"pad": "$pad"}}`)
		})
	}},
}

func (s *scene) notSpawned(path string) {
	s.fails(client.KindSpawn, client.StepSpawn)
	s.command.Path = path
	s.none()
}

// refused is a run that is not tried.
func (s *scene) refused() {
	s.fails(client.KindConfig, client.StepConfig)
	s.library = true
	s.none()
}

// none says that there is no process to end.
func (s *scene) none() {
	s.alive = false
	s.main.Exit, s.main.Rung = "none", ""
}

// crash ends the agent at once, one way or another.
func (s *scene) crash() {
	if s.IntN(2) == 0 {
		signal := pick(s.Rand, "KILL", "TERM", "HUP", "INT")
		s.do("raise %s", signal)
		s.gone("SIG" + signal)
		return
	}
	code := pick(s.Rand, 0, 1, 2, 3, 126, 127, 130, 255)
	s.do("exit %d", code)
	s.gone(fmt.Sprintf("status %d", code))
}

func (s *scene) crashAt(section *[]string, step client.Step) {
	s.fails(client.KindExit, step)
	s.in(section, func() {
		if s.IntN(2) == 0 {
			s.stderr()
		}
		s.crash()
	})
}

func (s *scene) closesAt(section *[]string, step client.Step) {
	if s.stdoutHeld { // then only its end tells
		s.crashAt(section, step)
		return
	}
	s.fails(client.KindTransport, step)
	s.in(section, func() { s.do("stdout close") })
}

// silentAt draws an agent that does not answer. On a machine that is busy the clock may
// run out before it has come so far.
func (s *scene) silentAt(section *[]string, step client.Step) {
	s.fails(client.KindStartupTimeout, step)
	s.options.StartTimeout = time.Duration(s.number(300, 800)) * time.Millisecond
	s.listening = false
	s.in(section, func() { s.do("never reply") })
	if step == client.StepNewSession {
		s.or(func(e *expectation) {
			e.Error = fmt.Sprintf("%s at %s", client.KindStartupTimeout, client.StepInitialize)
		})
	}
}

// codes are those that agents have been seen to answer with; -32000 is for an
// authentication only together with words that say so.
var codes = []int{-32603, -32602, -32600, -32001, -32002, 401, 500, 1, 0}

func (s *scene) errorAt(section *[]string, step client.Step) {
	s.fails(client.KindAgent, step)
	s.in(section, func() { s.answerError(pick(s.Rand, codes...)) })
}

// answerError answers a request with an error.
func (s *scene) answerError(code int) {
	s.main.Error += fmt.Sprintf(", code %d", code)
	s.do("fail %d %s %s", code, quoted("it failed: "+s.words()), pick(s.Rand, "", `{"why": ["a", 1]}`, `["x"]`, `{}`))
}

// limitMessages sets a limit that honest frames are far from.
func (s *scene) limitMessages() {
	s.library = true
	s.options.MaxMessageBytes = 100 << 10
}
