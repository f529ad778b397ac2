package acptest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/visible"
)

// wait calls look, with the journal's mutex held, until it has found what was expected,
// or says why that will not come any more; on a second line it may say what to do about
// that. missing says what has not happened where it is waited for too long, and instead
// what there is in its place.
func (a *Agent) wait(what, missing string, look func() (found bool, why string), instead func() string) {
	a.t.Helper()
	patience, bound := a.patience()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for late := false; ; {
		a.mu.Lock()
		found, why := look()
		if why == "" {
			why = a.full
		}
		if why == "" && late {
			why = missing + " " + bound + a.asking()
		}
		if !found && why != "" && instead != nil {
			reason, advice, more := strings.Cut(why, "\n")
			if why = reason + instead(); more {
				why += "\n" + advice
			}
		}
		changed := a.changed
		a.mu.Unlock()
		switch {
		case found:
			return
		case why != "":
			a.fatal(what, why)
		}
		select {
		case <-changed:
		case <-timer.C:
			late = true
		}
	}
}

// asking says that the agent waits for an answer of the test, and how that is given; empty
// if it does not. With the journal's mutex held.
func (a *Agent) asking() string {
	for _, i := range a.asks {
		k := a.events[i].ask
		if a.ruled || k.given || k.record != nil || a.shared && !slices.Contains(a.turns, k.turn) {
			continue
		}
		return "; the agent waits for the answer to a permission request: " + a.tell(k) +
			"\nAnswer it before, with " + a.expectation(k) + ".Allow() for one"
	}
	return ""
}

// fatal fails the test at the line that called into this package, and shows the
// conversation. It does not return.
func (a *Agent) fatal(what, why string) {
	a.t.Helper()
	a.t.Fatal(a.failure(what, why))
}

func (a *Agent) error(what, why string) {
	a.t.Helper()
	a.t.Error(a.failure(what, why))
}

func (a *Agent) failure(what, why string) string {
	// What the test itself says may be a secret that it gave to the agent.
	return a.redact(fmt.Sprintf("acptest: %s: %s\n%s", what, why, a.conversation()))
}

// shownEntries is how much of a long conversation a failure shows: its end.
const shownEntries = 200

// conversation shows what was said so far, and the agent's stderr among it. If the agent is
// this test's own it is ended first: what it has written to stderr is all there then.
func (a *Agent) conversation() string {
	before := a.sofar()
	if a.agent != nil && (!a.shared || a.ended()) {
		a.shut()
	}
	talk := a.sofar()
	if before == nil || talk == nil {
		return "There was no conversation."
	}
	// It goes on: that it is not whole is nothing to tell.
	before.Cut, talk.Cut = false, false
	left := ""
	if n := len(before.Entries) - shownEntries; n > 0 {
		left = fmt.Sprintf(", the first %d lines left out", n)
		before.Entries, talk.Entries = before.Entries[n:], talk.Entries[n:]
	}
	text, now := talk.String(), before.String()
	if after := strings.TrimPrefix(text, now); after != "" && len(after) < len(text) {
		text = now + failsHere + "\n" + after
	}
	return "The conversation, with the agent's stderr" + left + ":\n" + strings.TrimRight(text, "\n")
}

// failsHere stands in a conversation between what led to a failure and the end of the agent.
const failsHere = "           (the test fails here, and the agent is ended)"

// ended reports whether the process has ended by itself.
func (a *Agent) ended() bool {
	select {
	case <-a.agent.Exited():
		return true
	default:
		return false
	}
}

func list(lines []string) string { return visible.Line(strings.Join(lines, "; ")) }

// redact takes the secrets that the agent was given out of what it said. That comes before
// all else: of one that was cut, or written otherwise, the rest would not be known.
func (c *core) redact(text string) string {
	if c.agent == nil {
		return text // of one that did not start, which package client has redacted
	}
	return c.agent.Redact(text)
}

// line shows a word of the agent.
func (c *core) line(text string) string { return visible.Line(c.redact(text)) }

// quoted shows text of the agent, the end of it if it is long.
func (c *core) quoted(text string) string {
	const most = 400
	text = c.redact(text)
	// What strconv takes for printable is not all there to be seen.
	quote := func(text string) string { return visible.Line(strconv.Quote(text)) }
	if n := len(text) - most; n > 0 {
		return fmt.Sprintf("…%s (the last %d bytes of %d)", quote(strings.ToValidUTF8(text[n:], "")), most, len(text))
	}
	return quote(text)
}

// text is the text of an error without what the conversation shows anyway: the
// stderr of the agent.
func (c *core) text(err error) string {
	if e, ok := errors.AsType[*client.Error](err); ok {
		short := *e
		short.StderrTail, short.StderrTruncated, short.Noise = "", false, client.Noise{}
		err = &short
	}
	return c.line(err.Error())
}
