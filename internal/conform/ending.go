package conform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/internal/proc"
)

// How an agent ended, and what it said last on its stderr: mostly that is the reason.

// life is one process of a scene, in the entries [from, end].
type life struct {
	from, end int
	// last is the last line that was written to it while it was there; -1: none.
	last int
	// died: it ended by itself, with its stdin open and without a signal of ours.
	died bool
}

// lives are the agents of a scene that have ended.
func (r *recording) lives() (all []life) {
	from := 0
	for i, e := range r.entries {
		if e.End == nil {
			continue
		}
		told := slices.ContainsFunc(r.marks, func(m mark) bool {
			return (m.label == markEOF || m.label == markSignal) && m.index >= from && m.index <= i
		})
		all = append(all, life{from, i, r.lastTo(from, i), e.End.Rung == string(proc.RungExit) && !told})
		from = i + 1
	}
	return all
}

// lastTo is the last line that was written to the agent of entries [from, end] before its
// stdout ended; -1: none.
func (r *recording) lastTo(from, end int) int {
	for _, m := range r.marks {
		if m.label == markOver && from <= m.index && m.index < end {
			end = m.index
		}
	}
	for i := end - 1; i >= from; i-- {
		if r.entries[i].From == transcript.FromClient {
			return i
		}
	}
	return -1
}

// thenGone says how the agent ended by itself after it had answered a request, or instead,
// and before anything else was asked of it, and shows it; empty: it did not.
func (c *call) thenGone() (why string, shown []transcript.Entry) {
	for _, l := range c.r.lives() {
		if l.died && l.from <= c.sentAt && c.sentAt <= l.last && (l.last == c.sentAt || c.answered && l.last < c.answerAt) {
			return c.r.gone(l.end), c.r.at(c.sentAt, c.answerAt, l.end)
		}
	}
	return "", nil
}

// exit shows how the agent ended that was there at an index, if it did by itself.
func (r *recording) exit(at int) []transcript.Entry {
	for _, l := range r.lives() {
		if l.died && l.from <= at && at <= l.end {
			return r.at(l.end)
		}
	}
	return nil
}

// ends names the lines of ours that were the end of an agent by what a finding shows: where it
// shows that end, the last one, and all that it shows no answer to.
func (r *recording) ends(l life, shown []transcript.Entry) (lines []string) {
	if l.last < 0 || !slices.ContainsFunc(shown, r.isEnd(l)) {
		return nil
	}
	lines = append(lines, named(r.message(l.last)))
	answered := map[string]bool{}
	for _, e := range slices.Backward(shown) {
		switch m := parseMessage(e); {
		case e.From == transcript.FromAgent && m.isResponse():
			answered[canonical(m.ID)] = true
		case e.From == transcript.FromClient && (m.ID == nil || !answered[canonical(m.ID)]):
			lines = append(lines, named(m))
		}
	}
	return lines
}

func (r *recording) isEnd(l life) func(transcript.Entry) bool {
	return func(e transcript.Entry) bool { return e.End != nil && e.End == r.entries[l.end].End }
}

// death is the first life that ended by itself.
func (r *recording) death() (l life, ok bool) {
	for _, l := range r.lives() {
		if l.died {
			return l, true
		}
	}
	return life{}, false
}

// What a report shows of an agent's stderr.
const (
	tailLines = 8
	tailLine  = 500 // bytes
)

// tail is what an agent wrote to stderr last, and how it ended.
func (r *recording) tail(l life) (list []transcript.Entry) {
	for _, e := range r.entries[l.from:l.end] {
		if e.From == transcript.FromStderr {
			if len(e.Text) > tailLine {
				e.Text, e.Bytes = short(e.Text, tailLine), max(e.Bytes, int64(len(e.Text)))
			}
			list = append(list, e)
		}
	}
	return append(list[max(0, len(list)-tailLines):], r.entries[l.end])
}

// lastTail is the tail of the agent that died in the scene, or else of its last one.
func (r *recording) lastTail() []transcript.Entry {
	if l, ok := r.death(); ok {
		return r.tail(l)
	}
	if all := r.lives(); len(all) > 0 {
		return r.tail(all[len(all)-1])
	}
	return nil
}

// gone says how the agent ended that was there at an index, for somebody who has waited for
// it in vain.
func (r *recording) gone(at int) string {
	for _, l := range r.lives() {
		if at > l.end {
			continue
		}
		if !l.died {
			break
		}
		text := "the agent had exited" + exitText(r.entries[l.end].End)
		for _, e := range slices.Backward(r.tail(l)) {
			if e.From == transcript.FromStderr && strings.TrimSpace(e.Text) != "" {
				text += fmt.Sprintf("; the end of its stderr: %q", short(strings.TrimSpace(e.Text), 200))
				break
			}
		}
		if r.atStart(l) {
			text += r.keptBack()
		}
		return text
	}
	return "the agent had closed its stdout"
}

// atStart reports whether an agent ended before there was a session: what it lacks then may
// be a variable.
func (r *recording) atStart(l life) bool {
	for _, m := range r.from(transcript.FromAgent, l.from, l.end) {
		if _, ok := stringField(m.Result, "sessionId"); ok {
			return false
		}
	}
	return true
}

func exitText(e *transcript.End) string {
	switch {
	case e.Signal != nil:
		return fmt.Sprintf(", ended by %s", *e.Signal)
	case e.Code != nil:
		return fmt.Sprintf(" with status %d", *e.Code)
	}
	return ""
}

// keptBack says what an agent may lack.
func (r *recording) keptBack() string {
	if len(r.withheld) == 0 {
		return ""
	}
	return "; kept from its environment: " + names(r.withheld) + " (--env NAME lets one through)"
}

// names lists variables, and how many more there are.
func names(list []string) string {
	const most = 12
	if len(list) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
	}
	return strings.Join(list, ", ")
}
