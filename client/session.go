package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/coder/acp-go-sdk"
)

// SessionOptions are what NewSession may be told. The zero value, or nil, is the
// default.
type SessionOptions struct {
	// Dir is the session's directory; empty means the process's.
	Dir string
	// OnReply, if set, is called with the session's id and the raw answer as soon as
	// that is read, before any later update is looked at. It runs on the
	// connection's reader and must not wait.
	OnReply func(id string, result json.RawMessage)
}

// Session is a conversation with an agent. A connection can hold several. Its
// methods may be called from any goroutine.
// See https://agentclientprotocol.com/protocol/session-setup.
type Session struct {
	agent *Agent
	id    acp.SessionId
	dir   string
	raw   json.RawMessage

	mu     sync.Mutex // guards what is below
	turn   *turn      // the open one, nil between turns
	silent bool       // a turn was cancelled and never answered
	closed bool
}

// turn is an open prompt turn.
type turn struct {
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when Prompt has its answer or gave up
}

// NewSession makes a session. It is bounded by what Start left of the startup
// deadline, as long as there is no session yet. An error is a *Error that names the
// step; the agent is not closed by it.
// See https://agentclientprotocol.com/protocol/session-setup#creating-a-session.
func (a *Agent) NewSession(ctx context.Context, o *SessionOptions) (*Session, error) {
	if o == nil {
		o = &SessionOptions{}
	}
	dir := a.dir
	if o.Dir != "" {
		var err error
		if dir, err = CheckDir(o.Dir); err != nil {
			return nil, err
		}
	}
	ctx, cancel := a.sessionContext(ctx)
	defer cancel()
	s := &Session{agent: a, dir: dir}
	_, err := a.conn.call(ctx, acp.AgentMethodSessionNew, acp.NewSessionRequest{Cwd: dir, McpServers: []acp.McpServer{}}, func(result []byte, err error) {
		// On the reader: a request or update for the session may be the next frame.
		if err == nil {
			a.adopt(s, result)
		}
		if s.id != "" && o.OnReply != nil {
			o.OnReply(string(s.id), s.raw)
		}
	})
	if err == nil && s.id == "" {
		err = &Error{Kind: KindProtocol, Message: fmt.Sprintf("the answer holds no session id: %s", clip(string(s.raw)))}
	}
	if err != nil {
		return nil, a.failure(ctx, StepNewSession, err)
	}
	return s, nil
}

// adopt takes the answer to session/new.
func (a *Agent) adopt(s *Session, result []byte) {
	s.raw = append(json.RawMessage{}, result...)
	var answer struct {
		SessionID json.RawMessage `json:"sessionId"`
	}
	json.Unmarshal(result, &answer)
	if json.Unmarshal(answer.SessionID, &s.id) != nil || s.id == "" {
		s.id = ""
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions[s.id] = s
	a.started = true
}

// sessionContext bounds the first session by what is left of the startup deadline.
func (a *Agent) sessionContext(ctx context.Context) (context.Context, context.CancelFunc) {
	a.mu.Lock()
	started := a.started
	a.mu.Unlock()
	if started {
		return context.WithCancel(ctx)
	}
	return a.startContext(ctx, a.startLeft)
}

// ID is the agent's name for the session. It is no credential.
func (s *Session) ID() acp.SessionId { return s.id }

// Dir is the session's directory, absolute and canonical.
func (s *Session) Dir() string { return s.dir }

// Raw is the agent's answer to session/new as it came: its modes, models and
// configuration options are in it.
func (s *Session) Raw() json.RawMessage { return s.raw }

// Answer is how a prompt turn ended.
// See https://agentclientprotocol.com/protocol/prompt-turn#stop-reasons.
type Answer struct {
	// StopReason is the agent's word; where it was not a string, its JSON text. Nil
	// where there was none.
	StopReason *string
	// Meta is the answer's _meta, nil without one.
	Meta map[string]any
	// Usage is the answer's usage as it came, nil without one.
	Usage json.RawMessage
	// Raw is the whole answer as it came, nil if there was none.
	Raw json.RawMessage
	// Cancelled is set where session/cancel was sent before the answer was read.
	Cancelled bool
	// Sent is set once anything of the prompt was written.
	Sent bool
}

// PromptOptions are what Prompt may be told. The zero value, or nil, is the default.
type PromptOptions struct {
	// OnReply, if set, is called as soon as the answer is read, before any later
	// update is looked at. It runs on the connection's reader and must not wait.
	OnReply func()
}

// Prompt carries out one prompt turn: it sends blocks and returns when the agent has
// ended the turn. When ctx ends it sends session/cancel, once, and then waits for the
// agent's own answer for as long as Graces.Cancel; updates that come meanwhile count.
// From then on until the next Prompt every permission request is answered
// `cancelled`.
//
// An error is a *Error; the Answer says even then what is known. A session that is
// busy with another turn is an error that wraps ErrTurnActive.
// See https://agentclientprotocol.com/protocol/prompt-turn.
func (s *Session) Prompt(ctx context.Context, blocks []acp.ContentBlock, o *PromptOptions) (Answer, error) {
	if o == nil {
		o = &PromptOptions{}
	}
	if err := s.agent.CheckPrompt(blocks); err != nil {
		return Answer{}, err
	}
	turnCtx, t, err := s.begin(ctx)
	if err != nil {
		return Answer{}, err
	}
	reply, err := s.agent.conn.prompt(turnCtx, acp.PromptRequest{SessionId: s.id, Prompt: blocks}, o.OnReply)
	answer := readAnswer(reply.raw)
	answer.Cancelled, answer.Sent = reply.cancelled, reply.sent
	s.end(t, err != nil && reply.cancelled && !isAnswer(err))
	if err != nil {
		return answer, s.agent.failure(turnCtx, StepPrompt, err)
	}
	return answer, nil
}

// isAnswer reports whether err is the agent's own.
func isAnswer(err error) bool {
	_, ok := errors.AsType[*acp.RequestError](err)
	return ok
}

func (s *Session) begin(ctx context.Context) (context.Context, *turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		return nil, nil, &Error{Kind: KindConfig, Step: StepPrompt, Message: ErrTurnActive.Error(), Err: ErrTurnActive}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s.turn = &turn{cancel: cancel, done: make(chan struct{})}
	return ctx, s.turn, nil
}

func (s *Session) end(t *turn, silent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn, s.silent = nil, silent
	close(t.done)
}

// Cancel ends the open turn as if the context of its Prompt had ended. It does not
// wait, and without an open turn it does nothing.
// See https://agentclientprotocol.com/protocol/prompt-turn#cancellation.
func (s *Session) Cancel() {
	if t := s.openTurn(); t != nil {
		t.cancel(context.Canceled)
	}
}

func (s *Session) openTurn() *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turn
}

func (s *Session) unanswered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.silent
}

// Close asks the agent to let go of the session, where it advertises that it can;
// elsewhere it does nothing. Agent.Close does it too.
// See https://agentclientprotocol.com/protocol/session-setup#closing-active-sessions.
func (s *Session) Close(ctx context.Context) error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed || !s.agent.info.canClose {
		return nil
	}
	_, err := s.agent.conn.CloseSession(ctx, acp.CloseSessionRequest{SessionId: s.id})
	if err != nil {
		return s.agent.failure(ctx, StepShutdown, err)
	}
	s.agent.mu.Lock()
	delete(s.agent.sessions, s.id)
	s.agent.mu.Unlock()
	return nil
}

// readAnswer reads the answer to session/prompt. Whatever of it can be read counts.
func readAnswer(raw json.RawMessage) Answer {
	a := Answer{Raw: raw}
	var f map[string]json.RawMessage
	json.Unmarshal(raw, &f)
	json.Unmarshal(f["_meta"], &a.Meta)
	if usage := f["usage"]; len(usage) > 0 && string(usage) != "null" {
		a.Usage = usage
	}
	if reason := f["stopReason"]; len(reason) > 0 && string(reason) != "null" {
		text := string(reason)
		json.Unmarshal(reason, &text) // keeps the JSON text of what is no string
		a.StopReason = &text
	}
	return a
}
