package main

import (
	"fmt"

	"github.com/errand-acp/errand/client"
)

// turns are the ways in which a turn ends by what the agent does.
var turns = []part{
	{"a stop reason", 12, func(s *scene) {
		reason := pick(s.Rand, "end_turn", "end_turn", "end_turn", "max_tokens", "refusal")
		s.some()
		s.stop(reason)
	}},
	{"its own limit of requests", 2, func(s *scene) {
		s.some()
		s.stop("max_turn_requests")
		s.fails(client.KindRemoteLimit, client.StepPrompt)
	}},
	{"cancelled unasked", 2, func(s *scene) { s.some(); s.stop("cancelled") }},
	{"an odd stop reason", 3, func(s *scene) {
		s.some()
		s.fails(client.KindProtocol, client.StepPrompt)
		odd := pick(s.Rand, [2]string{`"error"`, "error"}, [2]string{`""`, ""}, [2]string{"null", ""}, [2]string{"42", "42"}, [2]string{`"END_TURN"`, "END_TURN"})
		s.do(`reply {"stopReason": %s}`, odd[0])
		s.main.Reason = odd[1]
	}},
	{"an answer of another shape", 2, func(s *scene) {
		s.some()
		s.fails(client.KindProtocol, client.StepPrompt)
		s.do("reply %s", pick(s.Rand, "null", "{}", "[]", `"end_turn"`))
	}},
	{"an error", 4, func(s *scene) {
		s.some()
		s.fails(client.KindAgent, client.StepPrompt)
		s.answerError(pick(s.Rand, append(codes, -32800)...))
	}},
	{"crash in mid turn", 8, func(s *scene) {
		s.some()
		s.fails(client.KindExit, client.StepPrompt)
		if s.IntN(3) == 0 {
			s.stderr()
		}
		s.crash()
	}},
	{"crash in mid burst", 3, func(s *scene) {
		s.burst(s.number(100, 3000))
		s.fails(client.KindExit, client.StepPrompt)
		s.crash()
	}},
	{"crash in mid frame", 2, func(s *scene) {
		s.some()
		s.fails(client.KindExit, client.StepPrompt)
		s.do(`raw %s`, quoted(`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_`))
		s.main.Noise++
		s.crash()
	}},
	{"crash right after the answer", 5, func(s *scene) {
		s.some()
		s.stop("end_turn")
		s.crash()
		s.main.Rung = "exit|eof" // it may hear of the end of stdin before it goes
		s.main.Exit += "|status 0"
	}},
	{"a last frame without an end", 2, func(s *scene) {
		s.some()
		s.do(`newline ""`)
		s.stop("end_turn")
		s.do("exit 0")
		s.gone("status 0")
		s.main.Rung = "exit|eof"
	}},
	{"stdout closed in mid turn", 3, func(s *scene) {
		s.some()
		if s.stdoutHeld { // then only its end tells
			s.fails(client.KindExit, client.StepPrompt)
			s.crash()
			return
		}
		s.fails(client.KindTransport, client.StepPrompt)
		s.do("stdout close")
		s.mayNotClose()
	}},
	{"stdin closed in mid turn", 2, func(s *scene) {
		s.do("stdin close")
		s.some()
		s.stop("end_turn")
		s.do("wait %dms", s.number(0, 20))
		s.do("exit 0")
		s.gone("status 0")
		s.main.Rung = "exit|eof"
	}},
	{"answer over the limit", 2, func(s *scene) {
		s.some()
		s.limitMessages()
		s.fails(client.KindTooLarge, client.StepPrompt)
		s.do("set pad x size=%dKiB", s.number(110, 900))
		s.do(`stop end_turn {"_meta": {"pad": "$pad"}}`)
	}},
	{"late text", 3, func(s *scene) {
		s.some()
		s.stop("end_turn")
		if s.groupHelper { // which leaves it no time
			return
		}
		s.listening = false
		for range s.number(1, 4) {
			s.do("text %s", quoted(s.words()))
			s.main.Counts.Late++
			s.seen()
		}
		s.do("write late")
		s.in(&s.eof, func() { s.do(afterLateText) })
		s.late = true
	}},
	{"repeated answers", 2, func(s *scene) {
		s.some()
		s.do(`reply {"stopReason": "refusal"} id=9999`)
		s.do(`reply {"stopReason": "end_turn"}`)
		s.do(`reply {"stopReason": "max_tokens"}`)
		s.do(`reply error -32603 "changed my mind"`)
		s.main.Reason = "end_turn"
	}},
}

// some is what an agent says in a turn: a few chunks, or none.
func (s *scene) some() {
	for range s.IntN(6) {
		if s.IntN(4) == 0 {
			s.do("thought %s", quoted(s.words()))
			s.between()
		}
		s.say(s.words())
	}
}

// burst is many numbered chunks of one message.
func (s *scene) burst(n int) {
	text := s.words() + " "
	s.do("burst %d %s", n, quoted(text)[:len(quoted(text))-1]+`$i. "`)
	chunks := make([]string, n)
	for i := range chunks {
		chunks[i] = fmt.Sprintf("%s%d. ", text, i+1)
	}
	s.heard(chunks...)
}

// stops are what the stop reasons of ACP come to.
var stops = map[string]string{
	"end_turn": "completed", "max_tokens": "max_tokens", "refusal": "refusal", "cancelled": "aborted", "max_turn_requests": "error",
}

// stop answers the prompt.
func (s *scene) stop(reason string) {
	s.do("stop %s", reason)
	s.main.Stop, s.main.Reason = stops[reason], reason
}

// afterLateText comes before an agent goes: what it says after its turn is said beside
// what it then hears.
const afterLateText = "wait file late"

// mayNotClose is for an agent whose answer to session/close cannot be heard.
func (s *scene) mayNotClose() { s.session = false }
