package subagent

import "time"

// keepEarly bounds the events that wait for the start event, in bytes of their
// updates. An agent can flood its session before that exists; what is over the bound
// is missing from the events only, the result has it all.
const keepEarly = keepUnread

// event tells the request's Events of e, or keeps it until the start was told. What
// comes after the end is not told.
func (r *run) event(e Event) {
	if r.req.Events == nil {
		return
	}
	e.RunID, e.Time = r.id, time.Now()
	r.tell.Lock()
	defer r.tell.Unlock()
	if r.begun {
		if !r.over {
			r.over = e.Type == EventEnd
			r.call(e)
		}
		return
	}
	if r.earlyBytes += len(e.Update) + 256; r.earlyBytes <= keepEarly {
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
	r.call(Event{Type: EventStart, RunID: r.id, Time: time.Now(), Start: &Start{
		Provider: r.provider, SessionID: r.base.SessionID, Dir: r.base.Dir, Labels: r.base.Labels,
		ProtocolVersion: r.base.ProtocolVersion, Client: r.base.Client, Agent: r.base.Agent,
		Model: r.base.Model, Mode: r.base.Mode, WithheldEnv: r.base.WithheldEnv,
	}})
	for _, e := range r.early {
		r.call(e)
	}
	r.early, r.begun = nil, true
}

// call runs the caller's function. What it panics with is its own affair; the run
// only says that it did.
func (r *run) call(e Event) {
	defer func() {
		if recover() != nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			if !r.listenerPanicked {
				r.listenerPanicked = true
				r.warnings = append(r.warnings, "Request.Events panicked at a "+string(e.Type)+" event")
			}
		}
	}()
	r.req.Events(e)
}
