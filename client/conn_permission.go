package client

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/internal/wire"
	"github.com/errand-acp/errand/permission"
)

var cancelledOutcome = acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}

// permissionDesk answers permission requests in the client's place, and learns what
// each was really answered: a cancel can come before the question, and between its
// answer and ours.
type permissionDesk interface {
	// asked is called on the reader for each request, with Conn.mu held: it must be quick
	// and must not call the connection.
	asked(params json.RawMessage)
	// decide returns the option to select, empty for none, and the record of that.
	decide(context.Context, acp.RequestPermissionRequest) (acp.PermissionOptionId, permission.Record)
	// settled is called once for each request, when its answer is certain and before
	// the agent can have it. rec is the record if that is the answer; otherwise it is
	// `cancelled`, because of why. since is when the request came. Of what it returns
	// now is called at once and later among the callbacks of updates; either may be nil.
	// Conn.mu is held, also while now runs: both must be quick and must not call the
	// connection.
	settled(params json.RawMessage, rec *permission.Record, why string, since time.Time) (now, later func())
}

// Why a request is answered `cancelled` whatever is decided on it.
const (
	whyCancelled = "turn cancelled"
	whyWithdrawn = "withdrawn by the agent"
	whyGone      = "connection ended"
	whyTooLarge  = "request too large"
	whyComplex   = "request nests too deep, or holds too many values"
	whyBusy      = "too many questions are open"
	whyFailed    = "no usable answer"
)

// verdict is what a permission request is answered.
type verdict struct {
	answer acp.RequestPermissionResponse
	rec    *permission.Record // the desk's; nil without one, and where there is a why
	why    string
}

func refusal(why string) verdict { return verdict{answer: cancelledOutcome, why: why} }

// refuses reports whether permission requests of a session are answered `cancelled`
// without being asked; with mu held. A session of the agent's own belongs to one of
// ours, it does not say which: it is refused when none of ours has a turn that was not
// cancelled.
func (c *Conn) refuses(s *turnState) bool {
	if s.ours {
		return s.cancelled
	}
	cancelled := false
	for _, other := range c.own {
		if other.turn != nil && !other.cancelled {
			return false
		}
		cancelled = cancelled || other.cancelled
	}
	return cancelled
}

// receiveAsk takes a permission request on the reader.
func (c *Conn) receiveAsk(r *wire.Request) {
	c.asked.Add(1)
	var p struct {
		SessionId acp.SessionId `json:"sessionId"`
	}
	decode(r.Params, &p)
	r.State = p.SessionId
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.state(p.SessionId)
	s.asks[r] = time.Now()
	c.askDesk(r)
	if c.refuses(s) {
		c.settle(s, r, refusal(whyCancelled))
	}
	c.forget(p.SessionId)
}

// answerAsk answers a permission request, in one step with the check that its turn
// has not been cancelled, nor itself withdrawn.
func (c *Conn) answerAsk(r *wire.Request, v verdict) {
	id := r.State.(acp.SessionId)
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.state(id)
	ctx := r.Context()
	if c.refuses(s) {
		v = refusal(whyCancelled)
	} else if _, gone := errors.AsType[*wire.ClosedError](context.Cause(ctx)); gone {
		v = refusal(whyGone)
	} else if ctx.Err() != nil {
		v = refusal(whyWithdrawn)
	}
	c.settle(s, r, v)
	c.forget(id)
}

// settle gives a permission request its answer, unless it has one; with mu held.
func (c *Conn) settle(s *turnState, r *wire.Request, v verdict) {
	since, open := s.asks[r]
	if !open {
		return
	}
	delete(s.asks, r)
	c.tellDesk(r, v, since)
	r.Answer(v.answer, nil)
}

// settleAll refuses all of a session's requests that have no answer; with mu held. Those
// whose turn has not come are never served then.
func (c *Conn) settleAll(id acp.SessionId, s *turnState, why string) {
	for r := range s.asks {
		c.settle(s, r, refusal(why))
	}
	c.forget(id)
}

// settleWithdrawn answers those of a session's requests that the agent has withdrawn; with
// mu held.
func (c *Conn) settleWithdrawn(s *turnState) {
	for r := range s.asks {
		if r.Context().Err() != nil {
			c.settle(s, r, refusal(whyWithdrawn))
		}
	}
}

// settleRest refuses, with mu held, what is still asked when the connection has ended:
// nobody gets the answer, but the desk is told.
func (c *Conn) settleRest() {
	for id, s := range c.sessions {
		c.settleAll(id, s, whyGone)
	}
}

func (c *Conn) askDesk(r *wire.Request) {
	if c.opts.desk == nil {
		return
	}
	defer c.wire.Contain()
	c.opts.desk.asked(r.Params)
}

func (c *Conn) tellDesk(r *wire.Request, v verdict, since time.Time) {
	if c.opts.desk == nil {
		return
	}
	defer c.wire.Contain()
	now, later := c.opts.desk.settled(r.Params, v.rec, v.why, since)
	if later != nil {
		defer c.wire.Defer(later) // whatever becomes of now
	}
	if now != nil {
		now()
	}
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
	v := refusal(whyFailed)
	// Deferred, so that a panic is answered too.
	defer func() { c.answerAsk(r, v) }()
	// What the agent withdraws is answered though the client may go on deciding.
	stop := context.AfterFunc(r.Context(), func() { c.answerAsk(r, refusal(whyWithdrawn)) })
	defer stop()
	switch r.Unread.(type) {
	case nil:
	case *wire.TooComplexError:
		v = refusal(whyComplex)
		return
	default:
		v = refusal(whyTooLarge)
		return
	}
	done, err := c.admission.admit(r)
	if err != nil {
		v = refusal(whyBusy) // or it is not asked any more, which goes before
		return
	}
	defer done()
	v = c.decide(r.Context(), readAsk(r.Params))
}

func (c *Conn) decide(ctx context.Context, req acp.RequestPermissionRequest) verdict {
	if c.opts.desk != nil {
		option, rec := c.opts.desk.decide(ctx, req)
		v := verdict{answer: cancelledOutcome, rec: &rec}
		if option != "" {
			v.answer.Outcome = acp.NewRequestPermissionOutcomeSelected(option)
		}
		return v
	}
	res, err := c.client.RequestPermission(ctx, req)
	if err == nil && res.Outcome.Selected != nil {
		for _, o := range req.Options {
			if o.OptionId != "" && o.OptionId == res.Outcome.Selected.OptionId {
				return verdict{answer: res}
			}
		}
	}
	return refusal(whyFailed)
}

// readAsk reads a permission request, as far as it can be read.
func readAsk(params []byte) acp.RequestPermissionRequest {
	req := acp.RequestPermissionRequest{Options: []acp.PermissionOption{}}
	decode(params, &req)
	return req
}
