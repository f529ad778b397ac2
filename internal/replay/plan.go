package replay

import (
	"slices"

	"github.com/errand-acp/errand/client/transcript"
)

type kind uint8

const (
	clientCall   kind = iota // a request of the client
	clientNote               // a notification of the client
	clientAnswer             // its answer to a request of the agent
	agentAsk                 // a request of the agent
	agentReply               // its answer to a request of the client
	agentSay                 // any other frame of it, and lines that are no frames
	agentStderr
)

func (k kind) isClient() bool { return k <= clientAnswer }

// step is a thing that was said in the recording.
type step struct {
	kind  kind
	n     int // its place among all of them
	entry int // the entry that it stands in, from 1

	frame frame
	line  bool   // agentSay that is no frame
	text  string // of line and agentStderr
	bytes int64  // how long the line was, if text is only its beginning

	call  *step // what an agentReply answers
	reply *step // the first agentReply to a clientCall
	ask   *step // what a clientAnswer answers
	// answer is the client's to an agentAsk, nil where none was recorded.
	answer *step

	lane    *lane
	session string // that it is said in, empty for none
	// done is set where the client's came or is not waited for, and the agent's was said
	// or left out.
	done bool
	// live is the id of the request that came for a clientCall.
	live []byte
}

// lane is the steps of one session, or of those that belong to none, in the order of the
// recording. What is said in one lane does not wait for another, so that the sessions of a
// parent may run ahead of each other.
type lane struct {
	steps []*step
	next  int // the first that is not done
	// born is where the lane begins; the gates have to be past that.
	born  int
	gates []*lane
	turns []*step // the prompts that have come

	session string // empty for the one of those that belong to none
}

// plan is a recording as the steps that have to be taken.
type plan struct {
	lanes []*lane
	steps []*step
	// loose are the ids of answers of the client to what was no request.
	loose map[string]bool
	names names
	// theirs are the names that the agent brought up: what the client says under that name
	// is what it was told.
	theirs map[string]bool
	end    *transcript.End
}

// newPlan sorts the entries of t into lanes.
func newPlan(t *transcript.Transcript) *plan {
	p := &plan{loose: map[string]bool{}, names: newNames(t.Header.Normalized), theirs: map[string]bool{}, end: t.End()}
	p.read(t)
	p.pair()
	p.sort()
	return p
}

// read makes steps of the entries.
func (p *plan) read(t *transcript.Transcript) {
	ours := map[string]bool{}
	add := func(i int, s step) {
		s.n, s.entry = len(p.steps), i+1
		p.steps = append(p.steps, &s)
	}
	for i := range t.Entries {
		e := &t.Entries[i]
		if e.End != nil {
			continue
		}
		list, isFrame := []frame(nil), false
		if len(e.Frame) > 0 {
			list, isFrame = frames(e.Frame)
		}
		switch {
		case e.From == transcript.FromStderr:
			add(i, step{kind: agentStderr, text: e.Text, bytes: e.Bytes})
		case e.From == transcript.FromAgent && !isFrame:
			text := e.Text
			if len(e.Frame) > 0 {
				text = string(e.Frame)
			}
			add(i, step{kind: agentSay, line: true, text: text, bytes: e.Bytes})
		case e.From == transcript.FromAgent:
			for name := range p.names.in(e.Frame) {
				if !ours[name] {
					p.theirs[name] = true
				}
			}
			for _, f := range list {
				s := step{kind: agentSay, frame: f}
				switch {
				case f.isRequest():
					s.kind = agentAsk
				case f.isReply():
					s.kind = agentReply
				}
				add(i, s)
			}
		case e.From == transcript.FromClient && isFrame:
			for name := range p.names.in(e.Frame) {
				if !p.theirs[name] {
					ours[name] = true
				}
			}
			for _, f := range list {
				s := step{kind: clientNote, frame: f}
				switch {
				case f.isRequest():
					s.kind = clientCall
				case !f.asks:
					s.kind = clientAnswer
				case f.isOptional():
					s.done = true
				}
				add(i, s)
			}
		}
	}
}

// pair finds what each answer answers.
func (p *plan) pair() {
	calls, asks := map[string]*step{}, map[string]*step{}
	for _, s := range p.steps {
		switch key := idKey(s.frame.id); s.kind {
		case clientCall:
			calls[key] = s
		case agentAsk:
			asks[key] = s
		case agentReply:
			if s.call = calls[key]; s.call != nil && s.call.reply == nil {
				s.call.reply = s
			}
		case clientAnswer:
			if s.ask = asks[key]; s.ask != nil && s.ask.answer == nil {
				s.ask.answer = s
			} else {
				p.loose[key] = true
				s.done = true
			}
		}
	}
}

// sort gives each step its lane.
func (p *plan) sort() {
	base := &lane{}
	p.lanes = []*lane{base}
	sessions := map[string]*lane{}
	known := map[string]bool{} // the sessions that the client and the agent speak of
	for _, s := range p.steps {
		switch {
		case s.kind == clientCall || s.kind == clientNote:
			known[s.frame.session] = true
		case s.kind == agentReply && s.call != nil:
			known[s.frame.newSession] = true
		}
	}
	delete(known, "")

	last := base
	for _, s := range p.steps {
		l, id := last, s.frame.session
		switch s.kind {
		case clientCall:
			// A session's lane begins with the request that makes it.
			if id == "" && s.reply != nil {
				id = s.reply.frame.newSession
			}
			l = base
		case clientNote:
			l = base
		case clientAnswer:
			if s.ask != nil {
				l = s.ask.lane
			}
			id = ""
		case agentReply:
			if s.call != nil {
				l = s.call.lane
			}
			id = ""
		}
		if known[id] {
			if l = sessions[id]; l == nil {
				l = &lane{session: id, born: s.n, gates: []*lane{base}}
				if !s.kind.isClient() {
					l.gates = slices.Clone(p.lanes)
				}
				sessions[id] = l
				p.lanes = append(p.lanes, l)
			}
		}
		s.lane, s.session = l, s.inSession(known, l)
		l.steps = append(l.steps, s)
		last = l
	}
}

// inSession returns the session that s is said in: one that is made is that already, and one
// that nobody but the agent speaks of is a part of another.
func (s *step) inSession(known map[string]bool, l *lane) string {
	ids := []string{s.frame.session, l.session}
	switch {
	case s.kind == clientCall && s.reply != nil:
		ids = append([]string{s.reply.frame.newSession}, ids...)
	case s.kind == agentReply && s.call != nil:
		ids = []string{s.call.session}
	case s.kind == clientAnswer && s.ask != nil:
		ids = []string{s.ask.session}
	}
	for _, id := range ids {
		if known[id] {
			return id
		}
	}
	return ""
}

// open reports whether everything before the lane is done.
func (l *lane) open() bool {
	for _, g := range l.gates {
		if g.next < len(g.steps) && g.steps[g.next].n < l.born {
			return false
		}
	}
	return true
}

// window returns what of the client may come next: up to the next thing that the agent
// says.
func (l *lane) window() []*step {
	if !l.open() {
		return nil
	}
	var list []*step
	for _, s := range l.steps[l.next:] {
		if !s.kind.isClient() {
			break
		}
		if !s.done {
			list = append(list, s)
		}
	}
	return list
}

// turn returns the prompt of the lane that has come and is not answered, nil if there is
// none.
func (l *lane) turn() *step {
	for _, s := range l.turns {
		if s.reply == nil || !s.reply.done {
			return s
		}
	}
	return nil
}

const (
	methodPrompt = "session/prompt"
	methodCancel = "session/cancel"
)
