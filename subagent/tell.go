package subagent

import (
	"encoding/json"
	"sync"
	"time"
)

// keepEarly bounds the events that wait for the start event, in bytes of their
// updates. An agent can flood its session before that exists; what is over the bound
// is missing from the events only, the result has it all.
const keepEarly = keepUnread

// event tells the request's Events of e, or keeps it until the start was told. What
// comes after the end is not told.
func (r *run) event(e Event) {
	e.RunID, e.Time = r.id, time.Now()
	r.tell.Lock()
	defer r.tell.Unlock()
	if r.req.Events == nil && !r.waiting {
		return
	}
	if r.begun {
		if r.over || r.muted.Load() {
			return
		}
		r.over = e.Type == EventEnd
		switch e.Type {
		case EventUpdate, EventPermission:
			r.call(e) // there may be very many
		default:
			r.callApart(e)
		}
		return
	}
	if r.earlyBytes += e.size(); r.earlyBytes <= keepEarly {
		r.early = append(r.early, e)
	}
}

// tellStart tells the start event and whatever came before it.
func (r *run) tellStart() {
	if r.req.Events == nil {
		return
	}
	r.tell.Lock()
	defer r.tell.Unlock()
	start, now := startOf(&r.base), time.Now()
	r.call(Event{Type: EventStart, RunID: r.id, Time: now, Start: &start})
	for _, e := range r.early {
		e.Time = now // when they are told: a start is the first there is
		r.call(e)
	}
	r.early, r.begun = nil, true
}

// startOf is what a result knows of the start.
func startOf(res *Result) Start {
	return Start{
		Provider: res.Provider, SessionID: res.SessionID, Dir: res.Dir, Labels: res.Labels,
		ProtocolVersion: res.ProtocolVersion, Client: res.Client, Agent: res.Agent,
		Model: res.Model, Mode: res.Mode, WithheldEnv: res.WithheldEnv,
	}
}

// size is what an early event is counted with: what an agent can make long of it, and
// something for the rest.
func (e *Event) size() int {
	n := len(e.Update) + len(e.Warning) + 256
	if e.Permission != nil {
		raw, _ := json.Marshal(e.Permission) // it was decoded from JSON
		n += len(raw)
	}
	return n
}

// callApart is call on a goroutine of its own, which ends with it: a listener may end
// its goroutine, and the one that tells has more to do.
func (r *run) callApart(e Event) {
	var told sync.WaitGroup
	told.Go(func() { r.call(e) })
	told.Wait()
}

// call runs the caller's function. What it panics with is its own affair; the run
// only says that it did.
func (r *run) call(e Event) {
	returned := false
	defer func() {
		panicked := recover() != nil
		if returned {
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.listenerFailed {
			return
		}
		r.listenerFailed = true
		did := "ended its goroutine"
		if panicked {
			did = "panicked"
		}
		r.warnings = append(r.warnings, "Request.Events "+did+" at a "+string(e.Type)+" event")
	}()
	r.req.Events(e)
	returned = true
}
