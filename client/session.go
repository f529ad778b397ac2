package client

import (
	"context"
	"encoding/json"
	"errors"
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

	mu        sync.Mutex // guards what is below it
	files     *Workspace // opened when a file of it is first asked for
	turn      *turn      // the open one, nil between turns
	cancelled bool       // the last turn was cancelled
	silent    bool       // and never answered
	closed    bool
}

// turn is an open prompt turn.
type turn struct {
	ctx    context.Context // ends when the turn is cancelled, and with it
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when Prompt has its answer or gave up
}

// NewSession makes a session. As long as there is none yet it is bounded by what the
// start has left of Options.StartTimeout. An error is a *Error that names the step; the
// agent is not closed by it.
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
	cwd, ok := a.paths.theirs(dir)
	if !ok {
		return nil, noPlace(dir)
	}
	ctx, done := a.startContext(ctx)
	defer done()
	s := &Session{agent: a, dir: dir}
	_, err := a.conn.call(ctx, acp.AgentMethodSessionNew, acp.NewSessionRequest{Cwd: cwd, McpServers: []acp.McpServer{}}, func(result []byte, err error) {
		// On the reader: a request or update for the session may be the next frame.
		if err == nil && a.adopt(s, result) && o.OnReply != nil {
			defer a.conn.wire.Contain()
			o.OnReply(string(s.id), s.raw)
		}
	})
	if err == nil && s.id == "" {
		err = &Error{Kind: KindProtocol, Message: "the answer holds no session id: " + a.quote(s.raw)}
	}
	if err != nil {
		return nil, a.failure(ctx, StepNewSession, err)
	}
	return s, nil
}

// adopt takes the answer to session/new and reports whether there is a session in it.
func (a *Agent) adopt(s *Session, result []byte) bool {
	s.raw = result
	var answer struct {
		SessionID json.RawMessage `json:"sessionId"`
	}
	json.Unmarshal(result, &answer)
	if json.Unmarshal(answer.SessionID, &s.id) != nil || s.id == "" {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions[s.id] = s
	a.started = true
	return true
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
	// Meta is the answer's _meta; nil without one, and for one of more than 1 MiB or that
	// nests deeper than 100: Raw has it.
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
	// OnSent, if set, is called once the first of the prompt was written: from then on the
	// agent may be at work on it. It runs on the connection's writer and must not wait.
	OnSent func()
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
	ctx, t, err := s.begin(ctx)
	if err != nil {
		return Answer{}, err
	}
	conn := s.agent.conn
	contained := func(hook func()) func() {
		if hook == nil {
			return nil
		}
		return func() {
			defer conn.wire.Contain()
			hook()
		}
	}
	reply, err := conn.prompt(ctx, acp.PromptRequest{SessionId: s.id, Prompt: blocks},
		promptHooks{sent: contained(o.OnSent), reply: contained(o.OnReply)})
	answer := readAnswer(reply.raw)
	answer.Cancelled, answer.Sent = reply.cancelled, reply.sent
	if err == nil {
		s.end(t, reply.cancelled, false)
		return answer, nil
	}
	e := s.agent.failure(ctx, StepPrompt, err)
	silent := reply.cancelled && ctx.Err() != nil && errors.Is(err, ctx.Err())
	if silent {
		e.Message += ", nor after session/cancel"
	}
	s.end(t, reply.cancelled, silent)
	return answer, e
}

// begin opens a turn. Its context ends with ctx, or by the turn's cancel.
func (s *Session) begin(ctx context.Context) (context.Context, *turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refuse := func(err error) error {
		return &Error{Kind: KindConfig, Step: StepPrompt, Message: err.Error(), Err: err}
	}
	switch {
	case s.closed:
		return nil, nil, refuse(errSessionClosed)
	case s.turn != nil:
		return nil, nil, refuse(ErrTurnActive)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s.turn = &turn{ctx: ctx, cancel: cancel, done: make(chan struct{})}
	return ctx, s.turn, nil
}

// end makes room for the next turn. silent says that a cancel went unanswered.
func (s *Session) end(t *turn, cancelled, silent bool) {
	s.mu.Lock()
	s.turn, s.cancelled, s.silent = nil, cancelled, silent
	s.mu.Unlock()
	t.cancel(nil)
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

// refuses reports whether nothing may be done for the session: its turn was cancelled, and
// there has been none since.
func (s *Session) refuses() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		return s.turn.ctx.Err() != nil
	}
	return s.cancelled
}

// turnContext ends when the open turn is cancelled or over; nil between turns.
func (s *Session) turnContext() context.Context {
	if t := s.openTurn(); t != nil {
		return t.ctx
	}
	return nil
}

func (s *Session) wasCancelled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cancelled
}

func (s *Session) unanswered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.silent
}

// errSessionClosed ends the turn of a session that is closed, and refuses the next.
var errSessionClosed = errors.New("the session was closed")

// Close ends an open turn as Cancel does, waits for that, and asks the agent to let go
// of the session, where it advertises that it can; elsewhere it does nothing. ctx bounds
// it. There is no prompt after it. Agent.Close does it too.
// See https://agentclientprotocol.com/protocol/session-setup#closing-active-sessions.
func (s *Session) Close(ctx context.Context) error {
	a := s.agent
	if !a.info.canClose {
		return nil
	}
	s.mu.Lock()
	t, closed := s.turn, s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	if t != nil {
		t.cancel(errSessionClosed)
		select {
		case <-t.done:
		case <-ctx.Done():
		}
	}
	_, err := a.conn.CloseSession(ctx, acp.CloseSessionRequest{SessionId: s.id})
	a.mu.Lock()
	delete(a.sessions, s.id)
	a.mu.Unlock()
	if err != nil {
		return a.failure(ctx, StepShutdown, err)
	}
	return nil
}

// readAnswer reads the answer to session/prompt. Whatever of it can be read counts.
func readAnswer(raw json.RawMessage) Answer {
	a := Answer{Raw: raw}
	var f map[string]json.RawMessage
	json.Unmarshal(raw, &f)
	if meta := f["_meta"]; repeatable(meta) {
		json.Unmarshal(meta, &a.Meta)
	}
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
