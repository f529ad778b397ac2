package main

import "fmt"

// How an agent goes that is there when its run is closed.

// quick is going at once.
var quick = []part{
	{"goes at EOF", 6, func(s *scene) {}},
	{"a status at EOF", 2, func(s *scene) {
		code := s.number(1, 255)
		s.atEOF("exit %d", code)
		s.main.Exit = fmt.Sprintf("status %d", code)
	}},
	{"dies at EOF", 1, func(s *scene) { s.atEOF("raise KILL"); s.main.Exit = "SIGKILL" }},
}

// slow is taking one's time.
var slow = []part{
	{"flushes at EOF", 1, func(s *scene) {
		s.atEOF("wait %dms\nstderr \"flushed\\n\"", s.number(1, 60))
		s.main.Stderr += "flushed\n"
	}},
}

// stubborn is not going when told to.
var stubborn = []part{
	{"ignores EOF", 2, func(s *scene) { s.ignoresEOF(); s.main.Exit = "SIGTERM" }},
	{"a status at SIGTERM", 1, func(s *scene) {
		s.ignoresEOF()
		code := s.number(0, 255)
		s.in(&s.term, func() { s.do("wait %dms", s.number(0, 30)); s.do("exit %d", code) })
		s.main.Exit = fmt.Sprintf("status %d", code)
		s.options.Graces.Term = 0 // the default one, a helper or not
	}},
	{"ignores EOF and SIGTERM", 2, func(s *scene) {
		s.ignoresEOF()
		s.in(&s.start, func() { s.do("ignore TERM") })
		s.options.Graces.Term = short
		s.main.Exit, s.main.Rung = "SIGKILL", "sigkill"
	}},
	{"stopped at EOF", 1, func(s *scene) {
		s.atEOF("raise STOP\nwait forever") // the signal takes a moment
		s.options.Graces.EOF = short
		s.main.Exit, s.main.Rung = "SIGTERM", "sigterm"
	}},
}

// closers make something of session/close.
var closers = []part{
	{"answers session/close", 2, func(s *scene) { s.in(&s.closing, func() { s.do("answer {}") }) }},
	{"a status at session/close", 1, func(s *scene) {
		code := s.number(0, 255)
		if s.late {
			s.in(&s.closing, func() { s.do(afterLateText) })
		}
		s.in(&s.closing, func() { s.do("exit %d", code) })
		s.main.Exit, s.main.Rung = fmt.Sprintf("status %d", code), "close"
	}},
	{"error at session/close", 1, func(s *scene) { s.in(&s.closing, func() { s.do(`fail -32603 "no"`) }) }},
	{"silent at session/close", 1, func(s *scene) {
		s.library = true
		s.in(&s.closing, func() { s.do("never reply") })
		s.options.Graces.Close = short
	}},
}

func (s *scene) atEOF(format string, args ...any) {
	s.in(&s.eof, func() { s.do(format, args...) })
}

func (s *scene) ignoresEOF() {
	s.atEOF("wait forever")
	s.options.Graces.EOF = short
	s.main.Rung = "sigterm"
}

// waitForHelper is for a group in which somebody stays: the waits for it are cut short, so
// that on a slow machine the agent itself may meet the next rungs before it has gone.
func (s *scene) waitForHelper() {
	if s.options.Graces.EOF == 0 {
		s.options.Graces.EOF = 5 * short
	}
	if s.main.Rung != "exit" {
		s.main.Exit += "|SIGTERM|SIGKILL"
		s.main.Rung += "|sigterm|sigkill"
	}
}
