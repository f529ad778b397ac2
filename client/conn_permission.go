package client

import (
	"context"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/internal/wire"
)

var cancelledOutcome = acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}

// refuses reports whether permission requests of a session are answered `cancelled`
// without being asked; with mu held. A session of the agent's own belongs to one of
// ours, it does not say which: it is refused when none of ours has a turn that was not
// cancelled.
func (c *Conn) refuses(s *turnState) bool {
	if s.ours {
		return s.cancelled
	}
	cancelled := false
	for _, other := range c.sessions {
		if other.turn != nil && !other.cancelled {
			return false
		}
		cancelled = cancelled || other.cancelled
	}
	return cancelled
}

// receiveAsk takes a permission request on the reader.
func (c *Conn) receiveAsk(r *wire.Request) {
	var p struct {
		SessionId acp.SessionId `json:"sessionId"`
	}
	decode(r.Params, &p)
	r.State = p.SessionId
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.state(p.SessionId)
	if c.refuses(s) {
		r.Answer(cancelledOutcome, nil)
	} else {
		s.asks[r] = struct{}{}
	}
	c.forget(p.SessionId)
}

// answerAsk answers a permission request, in one step with the check that its turn
// has not been cancelled.
func (c *Conn) answerAsk(r *wire.Request, answer acp.RequestPermissionResponse) {
	id := r.State.(acp.SessionId)
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.state(id)
	if c.refuses(s) {
		answer = cancelledOutcome
	}
	r.Answer(answer, nil)
	delete(s.asks, r)
	c.forget(id)
}

// forget drops what is known of a session of the agent's own that has nothing open;
// with mu held.
func (c *Conn) forget(id acp.SessionId) {
	if s := c.sessions[id]; s != nil && !s.ours && len(s.asks) == 0 {
		delete(c.sessions, id)
	}
}

// serveAsk puts a permission request to the client. Whatever comes of it, the agent
// gets an outcome: many fail the turn on an error. Only an option that was offered is
// ever selected.
//
// See https://agentclientprotocol.com/protocol/tool-calls#requesting-permission.
func (c *Conn) serveAsk(r *wire.Request) {
	answer := cancelledOutcome
	// Deferred, so that a panic is answered too.
	defer func() { c.answerAsk(r, answer) }()
	// What the agent withdraws is answered though the client may go on deciding.
	stop := context.AfterFunc(r.Context(), func() { c.answerAsk(r, cancelledOutcome) })
	defer stop()
	if r.TooLarge {
		return
	}
	req := acp.RequestPermissionRequest{Options: []acp.PermissionOption{}}
	decode(r.Params, &req)
	res, err := c.client.RequestPermission(r.Context(), req)
	if err != nil || res.Outcome.Selected == nil {
		return
	}
	for _, o := range req.Options {
		if o.OptionId != "" && o.OptionId == res.Outcome.Selected.OptionId {
			answer = res
			return
		}
	}
}
