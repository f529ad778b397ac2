package conform

import (
	"encoding/json"
	"iter"

	"github.com/errand-acp/errand/client/transcript"
)

// What rules see of prompt turns in a recording: pure views of its entries.

// turn is a session/prompt with what belongs to it.
type turn struct {
	*call
	session   string
	cancelAt  int // index of the first session/cancel or session/close for the session while it was open; -1: none
	end       int // index of the answer; the number of entries where there is none
	stop      string
	hasResult bool
}

// turns returns all prompt turns in the order in which they were begun.
func (r *recording) turns() []*turn {
	var all []*turn
	for _, m := range r.marks {
		if m.index < len(r.entries) && r.message(m.index).Method == "session/prompt" {
			if t := r.turnOf(r.find(m.label)); t != nil && t.sentAt == m.index {
				all = append(all, t)
			}
		}
	}
	return all
}

// turn returns the turn whose prompt has this label; nil where it was not written.
func (r *recording) turn(label string) *turn { return r.turnOf(r.call(label)) }

func (r *recording) turnOf(c *call) *turn {
	if c == nil || c.method != "session/prompt" {
		return nil
	}
	t := &turn{call: c, cancelAt: -1, end: c.answerAt}
	t.session, _ = stringField(c.request.Params, "sessionId")
	t.stop, _ = stringField(c.answer.Result, "stopReason")
	t.hasResult = c.answered && c.answer.Error == nil
	for i, m := range r.from(transcript.FromClient, t.sentAt+1, t.end) {
		if id, _ := stringField(m.Params, "sessionId"); (m.Method == "session/cancel" || m.Method == "session/close") && id == t.session {
			t.cancelAt = i
			break
		}
	}
	return t
}

// regular returns the turn with this label if it was answered with a result; else no
// says why not.
func (r *recording) regular(label string) (t *turn, no *outcome) {
	if _, no = r.result(label); no != nil {
		return nil, no
	}
	if t = r.turn(label); t == nil { // in no recording of ours
		o := untried("it was no prompt")
		return nil, &o
	}
	return t, nil
}

// update is a session/update of the agent.
type update struct {
	at      int
	session string
	kind    string // params.update.sessionUpdate
	params  json.RawMessage
	body    json.RawMessage // params.update
	call    string          // of a tool call: its id
	status  string          // of a tool call: what it says of that
}

// updates yields the session/update messages in entries [from, to).
func (r *recording) updates(from, to int) iter.Seq[update] {
	return func(yield func(update) bool) {
		for i, m := range r.from(transcript.FromAgent, from, to) {
			if m.Method == "session/update" && !yield(r.update(i, m)) {
				return
			}
		}
	}
}

// update takes the update of an entry apart, once: they may be long, and many rules look
// at all of them.
func (r *recording) update(at int, m message) update {
	if u, ok := r.taken[at]; ok {
		return u
	}
	u := update{at: at, params: m.Params, body: field(m.Params, "update")}
	u.session, _ = stringField(m.Params, "sessionId")
	u.kind, _ = stringField(u.body, "sessionUpdate")
	if u.isCall() {
		u.call, _ = stringField(u.body, "toolCallId")
		u.status, _ = stringField(u.body, "status")
	}
	if r.taken == nil {
		r.taken = map[int]update{}
	}
	r.taken[at] = u
	return u
}

// allUpdates yields those of the whole recording.
func (r *recording) allUpdates() iter.Seq[update] { return r.updates(0, len(r.entries)) }

// isCall reports whether u is of a tool call.
func (u update) isCall() bool { return u.kind == "tool_call" || u.kind == "tool_call_update" }

// ofTurn reports whether u is of the kind that only a turn brings forth: what the model
// says and does. Titles, usage, commands and modes may change at any time.
func (u update) ofTurn() bool {
	switch u.kind {
	case "agent_message_chunk", "agent_thought_chunk", "plan":
		return true
	}
	return u.isCall()
}

// ask is a session/request_permission of the agent.
type ask struct {
	at       int
	request  message
	session  string
	call     string // toolCall.toolCallId
	answerAt int    // index of our answer; -1: there is none
	answer   message
	option   string // the kind of the option that was selected
}

// asks returns the permission requests in entries [from, to).
func (r *recording) asks(from, to int) []ask {
	var all []ask
	for i, m := range r.from(transcript.FromAgent, from, to) {
		if m.Method != "session/request_permission" || !m.isRequest() {
			continue
		}
		q := ask{at: i, request: m, answerAt: -1}
		q.session, _ = stringField(m.Params, "sessionId")
		q.call, _ = stringField(m.Params, "toolCall", "toolCallId")
		if at := r.index().answerAfter(canonical(m.ID), i); at >= 0 {
			q.answerAt, q.answer = at, r.message(at)
		}
		if id, ok := stringField(q.answer.Result, "outcome", "optionId"); ok {
			for _, o := range elements(field(m.Params, "options")) {
				if has, _ := stringField(o, "optionId"); has == id {
					q.option, _ = stringField(o, "kind")
				}
			}
		}
		all = append(all, q)
	}
	return all
}

// asksOf returns the permission requests of a turn.
func (r *recording) asksOf(t *turn) []ask { return r.asks(t.sentAt, t.end) }

// sessions returns the ids of the sessions that we have: those that the agent has given us
// and those that we have asked it to load or resume.
func (r *recording) sessions() []string {
	var ids []string
	seen := map[string]bool{}
	for i := range r.entries {
		m := r.message(i)
		id, ok := stringField(m.Result, "sessionId")
		if !ok && (m.Method == "session/load" || m.Method == "session/resume") {
			id, ok = stringField(m.Params, "sessionId")
		}
		if ok && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// offered reports whether we have advertised a capability of the client.
func (r *recording) offered(path ...string) bool {
	c := r.call("initialize")
	return c != nil && flag(c.request.Params, append([]string{"clientCapabilities"}, path...)...)
}
