package conform

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/errand-acp/errand/client/transcript"
)

// recording is what happened in a scene: everything that was written, with labels on what
// rules look for. Judges only read it.
type recording struct {
	scene   string
	entries []transcript.Entry
	marks   []mark
	// stopped says why the scene was not played to its end, or not begun; empty: it was.
	stopped string
	// barred: it was stopped because the agent lets nobody in: it does not start, does not
	// answer initialize, or gives no session. Rules that need more could not be tried, and
	// that is no answer to whether the agent keeps them.
	barred bool
	// halted says why it was ended in the middle of what it was at; empty: it was not. Where
	// it was cut, by a bound of ours, nothing can be said of what did not come to be.
	halted string
	cut    bool
	// overAt is where it was stopped, if nothing could come from the agent any more then; 0:
	// it could.
	overAt int
	// withheld are the variables that were kept from the agent.
	withheld []string

	// missed: a judge has looked for an answer that a cut has left out; see judge.
	missed bool

	indexed  *index         // see index
	messages []message      // of entries, by index; see message
	taken    map[int]update // by index; see update
}

// mark is a label on a moment: what came of it stands in entries from index on.
type mark struct {
	label string
	index int // how many entries there were
	// waited, where the mark is the end of a wait, is how long that was.
	waited time.Duration
	note   string
}

// message takes the frame of an entry apart.
func (r *recording) message(i int) message {
	for len(r.messages) <= i { // each once: many rules look at all of them
		r.messages = append(r.messages, parseMessage(r.entries[len(r.messages)]))
	}
	return r.messages[i]
}

// mark returns the first mark with this label.
func (r *recording) mark(label string) (m mark, ok bool) {
	for _, m := range r.marks {
		if m.label == label {
			return m, true
		}
	}
	return mark{index: len(r.entries)}, false
}

// from yields the messages that came from somebody in entries [from, to), with the index
// of the entry.
func (r *recording) from(who transcript.From, from, to int) func(func(int, message) bool) {
	return func(yield func(int, message) bool) {
		for i := max(from, 0); i < min(to, len(r.entries)); i++ {
			if r.entries[i].From != who || r.entries[i].Frame == nil {
				continue
			}
			if !yield(i, r.message(i)) {
				return
			}
		}
	}
}

// agent yields all messages of the agent.
func (r *recording) agent() func(func(int, message) bool) {
	return r.from(transcript.FromAgent, 0, len(r.entries))
}

// call is a request of ours with what came of it.
type call struct {
	label    string
	method   string
	sentAt   int     // index of the request in the entries
	answerAt int     // index of the answer; the number of entries where there is none
	request  message // the request
	answer   message // the answer; without members where there is none
	answered bool
	why      string // why there is no answer

	r *recording
}

// markOver marks the end of an agent's stdout.
const markOver = "over"

// over reports whether the agent was gone, or had closed its stdout, before an index.
func (r *recording) over(at int) bool {
	for _, m := range r.marks {
		if m.label == markOver && m.index <= at && !r.endsIn(m.index, at) {
			return true
		}
	}
	return false
}

// call returns the request that has this label; nil where it was not written, or to nobody:
// who was gone before has not failed at it. An agent that is gone before initialize has
// nothing else to be judged by.
func (r *recording) call(label string) *call {
	c := r.find(label)
	if r.cut && (c == nil || !c.answered) {
		r.missed = true
	}
	return c
}

// overBefore is over for a mark that is no entry: of what happened in between, only the
// order of the marks tells.
func (r *recording) overBefore(label string) bool {
	over := false
	from := 0
	for _, m := range r.marks {
		switch m.label {
		case markOver:
			over, from = true, m.index
		case label:
			return over && !r.endsIn(from, m.index)
		}
	}
	return false
}

// endsIn reports whether an agent has ended in entries [from, to).
func (r *recording) endsIn(from, to int) bool {
	return slices.ContainsFunc(r.entries[from:to], func(e transcript.Entry) bool { return e.End != nil })
}

func (r *recording) find(label string) *call {
	for _, m := range r.marks {
		if m.label != label || m.index >= len(r.entries) {
			continue
		}
		request := r.message(m.index)
		if !request.isRequest() || r.entries[m.index].From != transcript.FromClient {
			continue
		}
		c := &call{label: label, method: request.Method, sentAt: m.index, answerAt: len(r.entries), request: request, r: r}
		for i, answer := range r.from(transcript.FromAgent, m.index+1, len(r.entries)) {
			if answer.isResponse() && sameJSON(answer.ID, request.ID) {
				c.answerAt, c.answer, c.answered = i, answer, true
				return c
			}
		}
		if c.method != "initialize" && r.over(c.sentAt) {
			return nil
		}
		c.why = fmt.Sprintf("%s was not answered", c.method)
		switch end, _ := r.mark(label + unanswered); end.note {
		case "":
			if r.halted != "" {
				c.why += ": " + r.halted
			}
		case noteGone:
			c.why += ": " + r.gone(end.index)
		default:
			c.why += ": " + end.note
		}
		return c
	}
	return nil
}

// toNobody reports whether a request with this label was written when nobody was there.
func (r *recording) toNobody(label string) bool {
	m, ok := r.mark(label)
	return ok && r.call(label) == nil && r.over(m.index)
}

// needless reports whether a request with this label was not written because the scene had
// no reason to.
func (r *recording) needless(label string) bool {
	return r.call(label) == nil && r.stopped == "" && !r.toNobody(label)
}

// died reports whether the agent ended after a request instead of answering it.
func (c *call) died() bool {
	end, _ := c.r.mark(c.label + unanswered)
	return !c.answered && end.note == noteGone
}

// unanswered, after a request's label, marks where it was given up.
const unanswered = "/unanswered"

// entries are the request and its answer, or the end of the agent instead.
func (c *call) entries() []transcript.Entry { return append(c.r.at(c.sentAt, c.answerAt), c.exit()...) }

// exit is the end of the agent instead of an answer.
func (c *call) exit() []transcript.Entry {
	if !c.died() {
		return nil
	}
	return c.r.exit(c.sentAt)
}

// reply returns the request with this label and its answer, be that a result or an error.
// Else no says why there is none, as the outcome of a rule that needs it.
func (r *recording) reply(label string) (c *call, no *outcome) {
	c = r.call(label)
	why := ""
	switch {
	case c == nil && r.stopped != "":
		why = r.stopped
	case c == nil && r.toNobody(label):
		at, _ := r.mark(label)
		why = "it was gone before that: " + r.gone(at.index)
	case c == nil:
		why = fmt.Sprintf("the scene %s did not come to it", r.scene)
	case !c.answered:
		why = c.why
	default:
		return c, nil
	}
	o := untried(why)
	return c, &o
}

// result is reply for an answer that is no error.
func (r *recording) result(label string) (c *call, no *outcome) {
	c, no = r.reply(label)
	if no == nil && c.answer.Error != nil {
		o := untried(fmt.Sprintf("%s was answered with an error: %s", c.method, errorText(c.answer.Error)))
		return c, &o
	}
	return c, no
}

// errorText shows an error of an agent in one line.
func errorText(e json.RawMessage) string {
	text := short(string(e), 200)
	if message, ok := stringField(e, "message"); ok {
		text = short(message, 200)
	}
	text = fmt.Sprintf("%q", text)
	if code, ok := (message{Error: e}).errorCode(); ok {
		text += fmt.Sprintf(" (%d)", code)
	}
	if data := field(e, "data"); data != nil && !isNull(data) {
		text += " " + short(string(data), 200)
	}
	return text
}

// capabilities are the agentCapabilities that the agent has advertised in this scene.
func (r *recording) capabilities() (caps json.RawMessage, c *call, no *outcome) {
	c, no = r.result("initialize")
	if no != nil {
		return nil, c, no
	}
	return field(c.answer.Result, "agentCapabilities"), c, nil
}

// at returns entries by their indices.
func (r *recording) at(indices ...int) []transcript.Entry {
	var list []transcript.Entry
	for _, i := range indices {
		if i >= 0 && i < len(r.entries) {
			list = append(list, r.entries[i])
		}
	}
	return list
}

// short cuts a text after n bytes or so.
func short(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// ending is how the agent ended that was there at an index; nil: it has not.
func (r *recording) ending(at int) *transcript.End {
	for _, e := range r.entries[min(at, len(r.entries)):] {
		if e.End != nil {
			return e.End
		}
	}
	return nil
}

// end returns how the agent ended that was there at an index, and the last it said before.
func (r *recording) end(from int) (list []transcript.Entry) {
	last := -1
	for i, e := range r.entries {
		if e.From == transcript.FromAgent {
			last = i
		}
		if i >= from && e.End != nil {
			return r.at(last, i)
		}
	}
	return nil
}
