package acptest

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
)

// event is one thing that an agent did. It has one of update, ask, file, command and end.
type event struct {
	session acp.SessionId
	update  *client.Update
	ask     *ask
	file    *client.FileRecord
	command *client.CommandRecord
	end     *Turn // this turn was answered, or there will be no answer

	// Of what says something of a tool call: the call as it is from here on, and as it was
	// before, nil if it was not known.
	call, before *acp.ToolCallUpdate
}

// ask is a permission request. What is below turn is guarded by the journal's mutex.
type ask struct {
	req     permission.Request
	call    *acp.ToolCallUpdate      // what it is for, with all that was known of it then
	turn    *Turn                    // the last of its session when it came, nil without one
	answer  chan permission.Decision // holds the test's, once
	claimed bool                     // the test expects it
	taken   bool                     // it waits for the test's answer
	given   bool                     // the test has answered
	record  *permission.Record       // what it came to, nil until that is certain
}

// journal holds what an agent did, in the order of the wire. It is written on the
// connection's reader and on the goroutines that serve the agent, and read by the test.
type journal struct {
	mu      sync.Mutex // guards what is below it; held for moments only
	events  []*event
	asks    []int         // the indices of those that are permission requests
	changed chan struct{} // closed, and replaced, when there is something new
	calls   map[callKey]*acp.ToolCallUpdate
	open    map[acp.SessionId]*Turn // the last turn of each session of ours, nil before
	gone    bool                    // there will be no more of the agent
	heard   int64                   // how many frames of the agent are behind what is here
	room    room                    // for updates
	full    string                  // why not all that the agent does is here; empty: it is
}

type callKey struct {
	session acp.SessionId
	call    acp.ToolCallId
}

func newJournal() *journal {
	return &journal{
		changed: make(chan struct{}), room: newRoom(), calls: map[callKey]*acp.ToolCallUpdate{}, open: map[acp.SessionId]*Turn{},
	}
}

// signal wakes whoever waits; with mu held.
func (j *journal) signal() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// change makes a change that somebody may wait for.
func (j *journal) change(f func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f()
	j.signal()
}

// add adds an event, if there is room.
func (j *journal) add(e *event) {
	j.change(func() {
		if j.full == "" {
			j.events = append(j.events, e)
		}
	})
}

// update takes an update of the agent.
func (j *journal) update(u *client.Update) {
	kept := u.Clone()
	e := &event{session: u.SessionID, update: &kept}
	j.change(func() {
		j.heard++
		j.full = cmp.Or(j.full, j.room.take(len(kept.Raw)))
		if j.full != "" {
			return
		}
		if call := toolCall(&kept); call != nil {
			j.mention(e, call)
		}
		j.events = append(j.events, e)
	})
}

// overflow says that there is no room for what the agent does.
func (j *journal) overflow(why string) { j.change(func() { j.full = cmp.Or(j.full, why) }) }

// asked takes a permission request of the agent.
func (j *journal) asked(req permission.Request) {
	e := &event{session: acp.SessionId(req.SessionID), ask: &ask{req: req, answer: make(chan permission.Decision, 1)}}
	j.change(func() {
		j.heard++
		if j.full != "" {
			return // nobody takes it, which answers it
		}
		e.ask.turn = j.open[e.session]
		j.mention(e, &req.ToolCall)
		e.ask.call = e.call
		j.asks = append(j.asks, len(j.events))
		j.events = append(j.events, e)
	})
}

// mention says that e is about a tool call; with mu held.
func (j *journal) mention(e *event, call *acp.ToolCallUpdate) {
	key := callKey{e.session, call.ToolCallId}
	e.before = j.calls[key]
	e.call = merge(e.before, call)
	j.calls[key] = e.call
}

// forget forgets the tool calls of a session, at the beginning of a turn: agents use their
// ids again. With mu held.
func (j *journal) forget(session acp.SessionId) {
	maps.DeleteFunc(j.calls, func(key callKey, _ *acp.ToolCallUpdate) bool { return key.session == session })
}

// unasked returns where a turn of the session begins: at the next event, or at the first
// permission request that came after the turn before it and waits for somebody to expect it.
// With mu held.
func (j *journal) unasked(session acp.SessionId) int {
	first := len(j.events)
	for i := first - 1; i >= 0; i-- {
		switch e := j.events[i]; {
		case e.session != session:
		case e.end != nil:
			return first
		case e.ask != nil && !e.ask.claimed && e.ask.record == nil:
			first = i
		}
	}
	return first
}

// settled takes what a permission request came to.
func (j *journal) settled(r permission.Record) {
	j.change(func() {
		if k := j.find(r.SessionID, r.ToolCallID, func(k *ask) bool { return k.record == nil }); k != nil {
			k.record = &r
		}
	})
}

// take returns the request that is to be decided, which nobody else will take.
func (j *journal) take(req permission.Request) *ask {
	j.mu.Lock()
	defer j.mu.Unlock()
	k := j.find(req.SessionID, string(req.ToolCall.ToolCallId), func(k *ask) bool {
		return !k.taken && slices.EqualFunc(k.req.Options, req.Options, func(a, b acp.PermissionOption) bool { return a.OptionId == b.OptionId })
	})
	if k != nil {
		k.taken = true
	}
	return k
}

// find returns the first request for a tool call that fits; with mu held.
func (j *journal) find(session, call string, fits func(*ask) bool) *ask {
	for _, i := range j.asks {
		if k := j.events[i].ask; k.req.SessionID == session && string(k.req.ToolCall.ToolCallId) == call && fits(k) {
			return k
		}
	}
	return nil
}

// turnsOf returns the last turn of a session, and those of all sessions for one that is not
// ours: it belongs to one of them, and does not say which.
func (j *journal) turnsOf(session string) []*Turn {
	j.mu.Lock()
	defer j.mu.Unlock()
	if turn, ours := j.open[acp.SessionId(session)]; ours {
		return []*Turn{turn}
	}
	return slices.Collect(maps.Values(j.open))
}

// cancelled reports whether the last turn of a session was cancelled by the test.
func (j *journal) cancelled(session string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := j.open[acp.SessionId(session)]
	return t != nil && t.cancelled
}

// excused reports whether a request came in a turn that the test has cancelled, or may have:
// of a session that is not ours; with the journal's mutex held.
func (j *journal) excused(k *ask) bool {
	if k.turn != nil {
		return k.turn.cancelled
	}
	for _, turn := range j.open {
		if turn.cancelled {
			return true
		}
	}
	return false
}

// merge returns call with what u says of it. It changes neither, nor keeps call.
func merge(call, u *acp.ToolCallUpdate) *acp.ToolCallUpdate {
	merged := *u
	if call == nil {
		return &merged
	}
	if u.Kind == nil {
		merged.Kind = call.Kind
	}
	if u.Title == nil {
		merged.Title = call.Title
	}
	if u.Status == nil {
		merged.Status = call.Status
	}
	if u.Content == nil {
		merged.Content = call.Content
	}
	if u.Locations == nil {
		merged.Locations = call.Locations
	}
	if u.RawInput == nil {
		merged.RawInput = call.RawInput
	}
	if u.RawOutput == nil {
		merged.RawOutput = call.RawOutput
	}
	return &merged
}

// toolCall returns what an update says of a tool call, nil if nothing.
func toolCall(u *client.Update) *acp.ToolCallUpdate {
	switch {
	case u.Value.ToolCall != nil:
		c := u.Value.ToolCall
		said := &acp.ToolCallUpdate{
			ToolCallId: c.ToolCallId, Title: &c.Title, Content: c.Content, Locations: c.Locations,
			RawInput: c.RawInput, RawOutput: c.RawOutput,
		}
		if c.Kind != "" {
			said.Kind = &c.Kind
		}
		if c.Status != "" {
			said.Status = &c.Status
		}
		return said
	case u.Value.ToolCallUpdate != nil:
		c := u.Value.ToolCallUpdate
		return &acp.ToolCallUpdate{
			ToolCallId: c.ToolCallId, Title: c.Title, Kind: c.Kind, Status: c.Status, Content: c.Content,
			Locations: c.Locations, RawInput: c.RawInput, RawOutput: c.RawOutput,
		}
	}
	return nil
}
