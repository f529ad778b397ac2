package replay

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/errand-acp/errand/client/transcript"
)

// run is one conversation. It belongs to the goroutine of Serve.
type run struct {
	*plan
	lenient, cut bool
	out          *output
	same         comparison

	asks     map[string]*step // what the agent asked last, by id
	late     []*step          // calls that a lenient replay passed over
	diverged bool             // a turn was ended that had not been

	over   bool
	status int
	err    error
}

func newRun(t *transcript.Transcript, lenient bool, out *output) *run {
	p := newPlan(t)
	return &run{
		plan: p, lenient: lenient, cut: t.Cut, out: out, asks: map[string]*step{},
		same: comparison{names: p.names, theirs: p.theirs, calls: calls{}},
	}
}

// line takes a line of the parent.
func (r *run) line(text []byte) {
	list, ok := frames(text)
	if !ok {
		r.garbage(text)
	}
	for _, f := range list {
		switch {
		case r.over || !ok:
			return
		case f.isOptional():
		case f.asks && r.lenient:
			r.makeDo(f)
		case f.asks:
			r.expect(f)
		case f.id != nil:
			r.answer(f)
		default:
			r.garbage(f.text)
		}
	}
}

// The codes of errors of ours.
// See https://www.jsonrpc.org/specification#error_object.
const (
	codeParse         = -32700
	codeInvalid       = -32600
	codeUnknownMethod = -32601
	codeInternal      = -32603
)

const saysReplay = "errand replay: "

// garbage takes what is no message.
func (r *run) garbage(text []byte) {
	if r.lenient {
		r.fail([]byte("null"), codeParse, "that is no JSON-RPC message")
		return
	}
	line, _ := excerpts(show(string(text)), "")
	r.differ(nil, nil, "a line came that is no JSON-RPC message: "+line)
}

// expect takes a request or notification of the parent of a strict replay.
func (r *run) expect(f frame) {
	var first *step
	var found *mismatch
	for _, s := range r.expected() {
		if s.kind == clientAnswer || s.frame.method != f.method || s.frame.isRequest() != f.isRequest() {
			continue
		}
		m := r.compareCall(s, f)
		if m == nil {
			r.take(s, f)
			r.advance()
			return
		}
		if first == nil || first.frame.session != f.session && s.frame.session == f.session {
			first, found = s, m
		}
	}
	if first != nil {
		r.differ(&f, first, fmt.Sprintf("%s differs from the recording (entry %d) at %s", named(f.method), first.entry, found))
		return
	}
	r.differ(&f, nil, f.name()+" came "+r.instead())
}

// expected returns what may come next of the parent, in the order of the recording.
func (r *run) expected() []*step {
	var list []*step
	for _, l := range r.lanes {
		list = append(list, l.window()...)
	}
	slices.SortFunc(list, func(a, b *step) int { return a.n - b.n })
	return list
}

// compareCall compares a request or notification with the recorded one.
func (r *run) compareCall(s *step, f frame) *mismatch {
	c := r.same // a copy: this may not be the one that is meant
	c.session, c.ignored = s.session, different[f.method]
	c.dirs = slices.Clone(c.dirs)
	c.dirs.add(s.session, member(s.frame.params, "cwd"), member(f.params, "cwd"))
	c.calls = c.calls.clone()
	m := c.compare("params", s.frame.params, f.params)
	if m == nil || r.lenient {
		r.same.calls = c.calls
	}
	return m
}

// take makes f what was recorded as s.
func (r *run) take(s *step, f frame) {
	s.done, s.live = true, f.id
	if slices.Contains(different[f.method], "params.cwd") {
		r.same.dirs.add(s.session, member(s.frame.params, "cwd"), member(f.params, "cwd"))
	}
	if s.kind == clientCall && f.method == methodPrompt {
		r.same.calls.note(s.session, "message", member(s.frame.params, "messageId"), member(f.params, "messageId"))
		s.lane.turns = append(s.lane.turns, s)
	}
}

// answer takes an answer of the parent.
func (r *run) answer(f frame) {
	key := idKey(f.id)
	ask := r.asks[key]
	if ask == nil {
		if !r.lenient && !r.loose[key] {
			id, _ := excerpts(show(decode(f.id)), "")
			r.differ(nil, nil, "an answer came to a request that was not made, with the id "+id)
		}
		return
	}
	delete(r.asks, key)
	recorded := ask.answer
	if recorded == nil {
		return // the recorded one may have come too late to be seen
	}
	if m := r.compareAnswer(ask, recorded, f); m != nil && !r.lenient {
		r.differ(nil, recorded, fmt.Sprintf("the answer to %s differs from the recording (entry %d) at %s", named(ask.frame.method), recorded.entry, m))
		return
	}
	if ask.frame.method == "terminal/create" {
		r.same.calls.note(ask.session, "terminal", member(recorded.frame.result, "terminalId"), member(f.result, "terminalId"))
	}
	recorded.done = true
	r.advance()
}

func (r *run) compareAnswer(ask, recorded *step, f frame) *mismatch {
	c := r.same
	c.session, c.ignored = ask.session, different[ask.frame.method]
	if m := c.compare("error", recorded.frame.err, f.err); m != nil {
		return m
	}
	return c.compare("result", recorded.frame.result, f.result)
}

// advance lets the agent say what it may by now.
func (r *run) advance() {
	for {
		var first *lane
		for _, l := range r.lanes {
			r.settle(l)
			if s := l.head(); s != nil && !s.kind.isClient() && l.open() && (first == nil || s.n < first.head().n) {
				first = l
			}
		}
		if first == nil {
			break
		}
		s := first.head()
		s.done = true
		r.say(s)
	}
	for _, l := range r.lanes {
		if l.head() != nil {
			return
		}
	}
	r.finished()
}

// settle moves on to what the lane is at.
func (r *run) settle(l *lane) {
	for s := l.head(); s != nil && (s.done || r.lenient && s.kind.isClient() && l.open() && r.passes(s)); s = l.head() {
		l.next++
	}
}

// head returns what the lane is at, nil at its end.
func (l *lane) head() *step {
	if l.next < len(l.steps) {
		return l.steps[l.next]
	}
	return nil
}

// say writes what the agent said as s.
func (r *run) say(s *step) {
	switch s.kind {
	case agentStderr:
		r.out.put(piece{stderr: true, line: []byte(s.text), pad: s.bytes - int64(len(s.text))})
		return
	case agentReply:
		switch {
		case s.call == nil:
		case s.call.live == nil:
			return // nobody asked
		default:
			r.put(s, s.frame.withID(likewise(s.call.live, s.call.frame.id, s.frame.id)))
			return
		}
	case agentAsk:
		r.asks[idKey(s.frame.id)] = s
	}
	if s.line {
		r.out.put(piece{line: []byte(s.text), pad: s.bytes - int64(len(s.text))})
		return
	}
	r.put(s, s.frame.text)
}

// put writes the frame of s, in which things are called, and directories are, what they are
// now.
func (r *run) put(s *step, text []byte) {
	if len(r.same.calls) > 0 || len(r.same.dirs) > 0 {
		text = rewrite(text, func(member, said string) string {
			kind := kindOf(member)
			if live := r.same.calls.live(s.session, kind, said); kind != "" && live != said {
				return live
			}
			if kind == "session" || member == "id" {
				return said
			}
			return r.same.dirs.toLive(s.session, said)
		})
	}
	r.out.put(piece{line: text})
}

// fail answers a request with an error of ours.
func (r *run) fail(id []byte, code int, text string) {
	text = saysReplay + text
	object, _ := json.Marshal(map[string]any{"code": code, "message": text}) // it can be
	r.reply(id, "error", object)
}

func (r *run) reply(id []byte, name string, value []byte) {
	r.out.put(piece{owed: true, line: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%q:%s}`, id, name, value)})
}
