package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/internal/wire"
)

// turnState is what the connection knows of one session; guarded by Conn.mu.
type turnState struct {
	turn *promptTurn // the prompt in flight, or nil
	// ours is true once the session was prompted or cancelled from here. Others are
	// the agent's own.
	ours bool
	// cancelled is true from session/cancel to the next prompt: every permission
	// request is answered `cancelled`.
	cancelled bool
	asks      map[*wire.Request]time.Time // the permission requests without an answer, and when they came
}

// promptTurn is a prompt in flight; guarded by Conn.mu.
type promptTurn struct {
	call    *wire.Call
	cancel  *wire.Posted // the first session/cancel; nil before
	restore func()       // undoes what the cancel did to the bounds of what waits
}

// state returns what is known of a session; with mu held.
func (c *Conn) state(id acp.SessionId) *turnState {
	s := c.sessions[id]
	if s == nil {
		s = &turnState{asks: map[*wire.Request]time.Time{}}
		c.sessions[id] = s
	}
	return s
}

// Prompt sends a prompt and returns when the turn has ended and all its updates were
// delivered. A session has one turn at a time: a second prompt fails with
// [ErrTurnActive].
//
// When ctx ends before the answer, session/cancel is sent, once; pending permission
// requests of the session, and later ones, are answered `cancelled`; and the agent's own
// answer is waited for, for ConnOptions.CancelGrace at most. If it comes it is
// returned, and the error is nil; where a callback is slow, updates from before it may
// be delivered after it then. Otherwise the error is a *CallError that wraps that of
// ctx. A callback's own context is refused with [ErrCallbackContext].
//
// See https://agentclientprotocol.com/protocol/prompt-turn.
func (c *Conn) Prompt(ctx context.Context, params acp.PromptRequest) (acp.PromptResponse, error) {
	var result acp.PromptResponse
	reply, err := c.prompt(ctx, params, promptHooks{})
	if err == nil {
		decode(reply.raw, &result)
	}
	return result, err
}

// promptReply is what is known of a turn that has ended.
type promptReply struct {
	raw json.RawMessage // the result as it came; nil without one
	// cancelled is true if session/cancel was sent, and before the answer was read; or
	// if there was none and the context of the turn had ended by then.
	cancelled bool
	// sent is true once anything of the prompt was written.
	sent bool
}

// promptHooks are called as a prompt gets on, where they are not nil: sent on the writer
// when the first of it was written, reply on the reader when the answer is read, before any
// later update is looked at.
type promptHooks struct{ sent, reply func() }

// prompt is Prompt with all that is known.
func (c *Conn) prompt(ctx context.Context, params acp.PromptRequest, hooks promptHooks) (promptReply, error) {
	const method = acp.AgentMethodSessionPrompt
	if err := c.checkContext(ctx, method); err != nil {
		return promptReply{}, err
	}
	body, err := encodePrompt(params)
	if err != nil {
		return promptReply{}, &CallError{Method: method, Err: fmt.Errorf("params: %w", err)}
	}
	t := &promptTurn{}
	k, err := c.startTurn(ctx, t, params.SessionId, body, hooks)
	if err != nil {
		return promptReply{}, err
	}
	select {
	case <-k.Done():
	case <-ctx.Done():
		c.giveUp(ctx, t, params.SessionId, k)
	}
	reply := promptReply{cancelled: c.endTurn(t, params.SessionId), sent: true}
	reply.raw, err = k.Reply()
	if err != nil {
		err = callError(err)
		if failed, ok := errors.AsType[*CallError](err); ok {
			reply.sent = failed.Sent
		}
	}
	return reply, err
}

// startTurn sends the prompt, in one step with the check that no other is in flight.
func (c *Conn) startTurn(ctx context.Context, t *promptTurn, id acp.SessionId, body json.RawMessage, hooks promptHooks) (*wire.Call, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.state(id)
	if s.turn != nil {
		return nil, &CallError{Method: acp.AgentMethodSessionPrompt, Err: ErrTurnActive}
	}
	k, err := c.wire.Start(ctx, acp.AgentMethodSessionPrompt, body, hooks.sent, func([]byte, error) {
		c.mu.Lock()
		c.settleWithdrawn(c.state(id))
		c.mu.Unlock()
		if hooks.reply != nil {
			hooks.reply()
		}
	})
	if err != nil {
		c.forget(id)
		return nil, callError(err)
	}
	t.call = k
	c.claim(s)
	s.turn, s.cancelled = t, false
	return k, nil
}

// claim marks a session as one of ours; with mu held.
func (c *Conn) claim(s *turnState) {
	if !s.ours {
		s.ours = true
		c.own = append(c.own, s)
	}
}

// endTurn makes room for the next turn and reports whether this one was cancelled.
func (c *Conn) endTurn(t *promptTurn, id acp.SessionId) (cancelled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.state(id)
	s.turn = nil
	if t.restore != nil {
		t.restore()
	}
	// What the agent still asked, or has withdrawn, has its answer before the end of the
	// turn is told.
	if c.wire.Err() != nil {
		c.settleRest()
	}
	c.settleWithdrawn(s)
	return t.cancel != nil && !t.cancel.After(t.call) || t.call.Unwanted()
}

// giveUp ends a turn whose context has ended: an answer that has been read counts, a
// prompt that has not left is taken back, and else the agent is asked to stop.
func (c *Conn) giveUp(ctx context.Context, t *promptTurn, id acp.SessionId, k *wire.Call) {
	err := wire.ContextError(ctx)
	if !c.stopTurn(t, id, k, err) {
		return
	}
	timer := time.NewTimer(c.opts.CancelGrace)
	defer timer.Stop()
	select {
	case <-k.Done():
	case <-k.Replied():
		c.awaitOrder(k)
	case <-c.Done(): // there will be no answer
		c.awaitOrder(k)
	case <-timer.C:
	}
	k.Abandon(err)
}

// orderGrace is how long the end of a turn whose context has ended waits for the
// callbacks of the updates before it: who cancels does not wait for a slow callback.
const orderGrace = 100 * time.Millisecond

// awaitOrder waits until the end of k has come to its turn, for orderGrace at most.
func (c *Conn) awaitOrder(k *wire.Call) {
	timer := time.NewTimer(min(orderGrace, c.opts.CancelGrace))
	defer timer.Stop()
	select {
	case <-k.Done():
	case <-timer.C:
	}
}

// stopTurn reports whether there is an answer to be waited for.
func (c *Conn) stopTurn(t *promptTurn, id acp.SessionId, k *wire.Call, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.Answered() {
		return true
	}
	if k.Withdraw(err) {
		return false
	}
	if t.cancel == nil {
		c.postCancel(id, acp.CancelNotification{SessionId: id})
	}
	return true
}

// Cancel asks the agent to end the turn of a session and returns when that has been
// written. The turn's Prompt returns what the agent answers. Permission requests of
// the session are answered `cancelled` from here to its next prompt. If ctx ends first,
// session/cancel is still sent once the agent reads on. With the context of a handler
// whose own request it answers it does not wait.
//
// See https://agentclientprotocol.com/protocol/prompt-turn#cancellation.
func (c *Conn) Cancel(ctx context.Context, params acp.CancelNotification) error {
	over := ctx.Err() != nil
	c.mu.Lock()
	posted := c.postCancel(params.SessionId, params)
	c.mu.Unlock()
	if !over && ctx.Err() != nil && c.wire.InCallback(ctx) {
		return nil
	}
	if err := posted.Wait(ctx); err != nil {
		return callError(err)
	}
	return nil
}

// postCancel sends session/cancel and, after it, the answers to what is pending; with
// mu held.
func (c *Conn) postCancel(id acp.SessionId, params acp.CancelNotification) *wire.Posted {
	s := c.state(id)
	c.claim(s)
	s.cancelled = true
	t := s.turn
	first := t != nil && t.cancel == nil && !t.call.Answered()
	posted := c.wire.Post(acp.AgentMethodSessionCancel, params)
	if first {
		t.cancel = posted
		// The agent's last words must not wait for a slow callback, nor to be recorded.
		callbacks, recording := c.wire.Lift(), c.opts.recorder.lift()
		t.restore = func() { callbacks(); recording() }
	}
	for id, s := range c.sessions {
		if c.refuses(s) {
			c.settleAll(id, s, whyCancelled)
		}
	}
	return posted
}

// encodePrompt writes a prompt with all that is in its blocks.
func encodePrompt(p acp.PromptRequest) (json.RawMessage, error) {
	blocks := make([]json.RawMessage, len(p.Prompt))
	for i, b := range p.Prompt {
		var err error
		if blocks[i], err = MarshalBlock(b); err != nil {
			return nil, fmt.Errorf("content block %d: %w", i, err)
		}
	}
	return json.Marshal(struct {
		Meta      map[string]any    `json:"_meta,omitempty"`
		MessageId *string           `json:"messageId,omitempty"`
		Prompt    []json.RawMessage `json:"prompt"`
		SessionId acp.SessionId     `json:"sessionId"`
	}{p.Meta, p.MessageId, blocks, p.SessionId})
}
