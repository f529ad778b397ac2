package script

import (
	_ "embed"
	"slices"
)

// Script is a parsed script: what the agent does on start, on each request, on the
// end of its input and on signals. It is read-only and may be run any number of
// times, also at once.
type Script struct {
	name     string
	start    []*call    // what stands before the first section and in "on start"
	sections []*section // in the order of the file
	signals  []string   // those that a section or a wait needs to be caught
	helper   bool       // a spawned process that answers nobody: it ends with its start
}

// section is what to do on one event.
type section struct {
	event string // a method, "start", "eof", "garbage", "any", or "signal NAME"
	line  int
	nth   int    // only the nth time; 0 = any
	word  string // only where the text contains it; "" = any
	body  []*call

	// raw sections answer with bytes of their own, so that the SDK must not see
	// the request: it would answer it too.
	raw bool
	// waitsForCancel sections say themselves how a cancelled turn ends.
	waitsForCancel bool
}

// call is one statement as written.
type call struct {
	stmt    *statement
	line    int
	args    map[string]value // by the name in the statement's usage
	rest    []value          // of the last argument, where it repeats
	clauses []clause         // of a block: its own body, then one for each "when" or "else"
	child   *childSource     // of spawn
}

// clause is a part of a block.
type clause struct {
	head *call // the "when" or "else"; nil for the block's own body
	body []*call
}

// childSource is the script of a spawned process, as text to hand over.
type childSource struct {
	script *Script
	text   string
}

// isAgent reports whether the script answers requests: a spawned script that does
// not is a helper, which ends with its last statement.
func (s *Script) isAgent() bool {
	return slices.ContainsFunc(s.sections, func(sec *section) bool { return sec.event != "start" && sec.signal() == "" })
}

// has reports whether there is a section for the event.
func (s *Script) has(event string) bool {
	return slices.ContainsFunc(s.sections, func(sec *section) bool { return sec.event == event })
}

// find returns the section for the nth arrival of event with this text, or nil. A
// section with a condition goes before one without.
func (s *Script) find(event string, nth int, text string) *section {
	var plain *section
	for _, sec := range s.sections {
		switch {
		case sec.event != event:
		case sec.nth == 0 && sec.word == "":
			plain = sec
		case sec.matches(nth, text):
			return sec
		}
	}
	return plain
}

//go:embed demo.script
var demo []byte

// Demo returns the script of the agent that is built into the command line: it
// streams an answer, asks whether it may write errand-demo.txt in the session's
// directory, and does so only if it was allowed.
func Demo() *Script {
	s, err := Parse("demo.script", demo)
	if err != nil {
		panic(err) // embedded, and parsed by a test
	}
	return s
}
