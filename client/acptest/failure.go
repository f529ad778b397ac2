package acptest

import (
	"fmt"
	"strings"
	"time"

	"github.com/errand-acp/errand/internal/visible"
)

// wait calls look, with the journal's mutex held, until it has found what was expected,
// or says why that will not come any more; on a second line it may say what to do about
// that. instead says what there is in its place.
func (a *Agent) wait(what string, look func() (found bool, why string), instead func() string) {
	a.t.Helper()
	patience, bound := a.patience()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for late := false; ; {
		a.mu.Lock()
		found, why := look()
		if why == "" && late {
			why = "it did not come " + bound
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
	return fmt.Sprintf("acptest: %s: %s\n%s", what, why, a.conversation())
}

// shownEntries is how much of a long conversation a failure shows: its end.
const shownEntries = 200

// conversation shows what was said so far, and the agent's stderr among it.
func (a *Agent) conversation() string {
	if a.ended() {
		a.shut() // what it left unsaid in its pipes belongs to it, and how it ended
	}
	talk := a.sofar()
	if talk == nil {
		return "There was no conversation."
	}
	talk.Cut = false // it goes on
	var left string
	if n := len(talk.Entries) - shownEntries; n > 0 {
		left = fmt.Sprintf(", the first %d lines left out", n)
		talk.Entries = talk.Entries[n:]
	}
	return "The conversation, with the agent's stderr" + left + ":\n" + strings.TrimRight(talk.String(), "\n")
}

// ended reports whether the process has ended by itself.
func (a *Agent) ended() bool {
	if a.agent == nil {
		return false
	}
	select {
	case <-a.agent.Exited():
		return true
	default:
		return false
	}
}

func list(lines []string) string { return visible.Line(strings.Join(lines, "; ")) }

// quoted shows text of the agent, the end of it if it is long.
func quoted(text string) string {
	const most = 400
	if n := len(text) - most; n > 0 {
		return fmt.Sprintf("…%q (the last %d bytes of %d)", strings.ToValidUTF8(text[n:], ""), most, len(text))
	}
	return fmt.Sprintf("%q", text)
}
