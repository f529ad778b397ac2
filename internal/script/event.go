package script

import (
	"slices"
	"strconv"
	"strings"
)

// event is what a section can be for.
type event struct {
	usage string
	when  string
	then  string // what happens after the section, or without one
}

var events = []event{
	{"on start", "before anything is read; also what stands before the first section", "stdin is read"},
	{"on initialize", "the request", "answered with version 1 and the capabilities that the script has sections for"},
	{"on authenticate", "the request", "answered"},
	{"on session/new", "the request", "answered with `session-1`, `session-2`, …"},
	{"on session/prompt", "the request", "answered with `end_turn`, or `cancelled` if the turn was cancelled"},
	{"on session/cancel", "the notification", "the session's open turns are interrupted and end as `cancelled`"},
	{"on session/close", "the request", "the session's open turns are interrupted, and it is answered; without a section, like any other method"},
	{"on METHOD", "any other method of ACP, or of a vendor (its name begins with `_` or has a `/`; in quotes where it looks like one of ACP)", "answered with an empty result; without a section, with error -32601"},
	{"on any", "any other method that has no section", "answered with error -32601, unless the section says something"},
	{"on garbage", "a line that is no message", "nothing"},
	{"on eof", "the end of stdin", "the agent exits with status 0, whatever is under way"},
	{"on signal SIGNAL", "the signal (TERM, INT, HUP, …)", "the agent exits with status 0; without a section, as the system has it"},
}

// heading parses "on EVENT [N|TEXT]".
func (p *parser) heading(line sourceLine) (*section, error) {
	p.line = line.number
	const usage = `on start | eof | garbage | any | signal SIGNAL | METHOD [N|"TEXT"]`
	sec := &section{line: line.number}
	quoted := false
	for i, tok := range line.tokens[1:] {
		switch {
		case tok.key != "" || tok.kind == jsonToken:
			return nil, p.errorf("on: %q is too much; usage: %s", tok.text, usage)
		case i == 0:
			sec.event, quoted = tok.text, tok.kind == textToken
		case sec.event == "signal" && i == 1:
			if _, err := signalByName(tok.text); err != nil {
				return nil, p.errorf("on signal: %v", err)
			}
			sec.event += " " + tok.text
		case i == 1 && isMethod(sec.event) && tok.kind == textToken && tok.text != "":
			sec.word = tok.text
		case i == 1 && isMethod(sec.event):
			n, err := strconv.Atoi(tok.text)
			if err != nil || n < 1 {
				return nil, p.errorf("on %s: %q must be a number from 1 (the nth time) or a text in quotes (that it contains)", sec.event, tok.text)
			}
			sec.nth = n
		default:
			return nil, p.errorf("on %s: %q is too much; usage: %s", sec.event, tok.text, usage)
		}
	}
	switch {
	case sec.event == "":
		return nil, p.errorf("on: the event is missing; usage: %s", usage)
	case sec.event == "signal":
		return nil, p.errorf("on signal: the name of the signal is missing")
	case !isMethod(sec.event) && sec.signal() == "" && !isBareEvent(sec.event):
		return nil, p.errorf("on: %q is no event and no method of ACP; usage: %s (a vendor's method begins with _ or has a /)", sec.event, usage)
	case isMethod(sec.event) && !quoted:
		if err := checkMethod(sec.event); err != nil {
			return nil, p.errorf("on: %v", err)
		}
	}
	return sec, nil
}

func isBareEvent(word string) bool {
	return !isMethod(word) && slices.ContainsFunc(events, func(e event) bool { return e.usage == "on "+word })
}

// signal returns the signal that the section is for, or "".
func (sec *section) signal() string {
	name, ok := strings.CutPrefix(sec.event, "signal ")
	if !ok {
		return ""
	}
	return name
}

func (sec *section) matches(nth int, text string) bool {
	return (sec.nth == 0 || sec.nth == nth) && strings.Contains(text, sec.word)
}
