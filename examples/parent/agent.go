package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
)

// thinker does a task with the help of a tool, and returns its answer.
type thinker func(task string, tool *delegateTool, call func(input json.RawMessage) string) string

// agent is the ACP agent that we are. The SDK calls its methods from goroutines of its own.
type agent struct {
	unsupported
	tool  *delegateTool
	think thinker

	mu       sync.Mutex // guards what is below, and the contexts of the sessions
	conn     *acp.AgentSideConnection
	sessions map[acp.SessionId]*session
}

func newAgent(tool *delegateTool, think thinker, in io.Reader, out io.Writer) *agent {
	a := &agent{tool: tool, think: think, sessions: map[acp.SessionId]*session{}}
	a.mu.Lock() // requests may come before we have what we need to answer them
	defer a.mu.Unlock()
	a.conn = acp.NewAgentSideConnection(a, out, in)
	return a
}

// done is closed when our client has gone.
func (a *agent) done() <-chan struct{} { return a.conn.Done() }

// close cancels all turns and returns when their agents have ended.
func (a *agent) close() {
	a.mu.Lock()
	open := maps.Clone(a.sessions)
	clear(a.sessions)
	a.mu.Unlock()
	for _, s := range open {
		s.cancel()
	}
	for _, s := range open {
		s.turns.Wait()
	}
}

func (a *agent) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	return acp.InitializeResponse{
		ProtocolVersion: acp.ProtocolVersionNumber,
		AgentInfo:       &acp.Implementation{Name: "parent", Version: "1"},
		AgentCapabilities: acp.AgentCapabilities{
			SessionCapabilities: acp.SessionCapabilities{Close: &acp.SessionCloseCapabilities{}},
		},
	}, nil
}

func (a *agent) NewSession(_ context.Context, r acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := &session{id: acp.SessionId(rand.Text()), dir: r.Cwd, conn: a.conn}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	a.sessions[s.id] = s
	return acp.NewSessionResponse{SessionId: s.id}, nil
}

// Prompt has a turn of the session. It heeds the session's context and not that of the SDK,
// which ends when the session is prompted again: a session may have several turns at once.
func (a *agent) Prompt(_ context.Context, r acp.PromptRequest) (acp.PromptResponse, error) {
	a.mu.Lock()
	s := a.sessions[r.SessionId]
	if s == nil {
		a.mu.Unlock()
		return acp.PromptResponse{}, noSession(r.SessionId)
	}
	s.turns.Add(1)
	ctx := s.ctx
	a.mu.Unlock()
	defer s.turns.Done()

	answer := a.think(taskOf(r.Prompt), a.tool, func(input json.RawMessage) string {
		return s.delegate(ctx, a.tool, input)
	})
	s.tell(acp.UpdateAgentMessageText(answer))
	if ctx.Err() != nil {
		return acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil
	}
	return acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
}

// Cancel ends the session's turns; those that come later are none of its business.
func (a *agent) Cancel(_ context.Context, n acp.CancelNotification) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[n.SessionId]; s != nil {
		s.cancel()
		s.ctx, s.cancel = context.WithCancel(context.Background())
	}
	return nil
}

// CloseSession is answered when the session's agents have ended.
func (a *agent) CloseSession(_ context.Context, r acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	a.mu.Lock()
	s := a.sessions[r.SessionId]
	delete(a.sessions, r.SessionId)
	a.mu.Unlock()
	if s == nil {
		return acp.CloseSessionResponse{}, noSession(r.SessionId)
	}
	s.cancel()
	s.turns.Wait()
	return acp.CloseSessionResponse{}, nil
}

func noSession(id acp.SessionId) error {
	return acp.NewInvalidParams(map[string]any{"error": fmt.Sprintf("there is no session %q", id)})
}

// session is one of our client's.
type session struct {
	id    acp.SessionId
	dir   string
	conn  *acp.AgentSideConnection
	calls atomic.Int64 // of the tool

	ctx    context.Context // of its turns, until they are cancelled
	cancel context.CancelFunc
	turns  sync.WaitGroup
}

// tell sends an update, also of a turn that was cancelled. If our client cannot be told it
// is gone, and we will know by the end of stdin.
func (s *session) tell(u acp.SessionUpdate) {
	_ = s.conn.SessionUpdate(context.Background(), acp.SessionNotification{SessionId: s.id, Update: u})
}

// delegate calls the tool, and shows the call to our client as what it is, a tool call.
func (s *session) delegate(ctx context.Context, tool *delegateTool, input json.RawMessage) string {
	c := &call{session: s, id: fmt.Sprintf("delegate-%d", s.calls.Add(1))}
	var in delegateInput
	_ = json.Unmarshal(input, &in) // for the title; what is wrong with it the tool says
	s.tell(acp.StartToolCall(acp.ToolCallId(c.id), "Delegate to "+in.Agent, acp.WithStartKind(acp.ToolKindOther),
		acp.WithStartStatus(acp.ToolCallStatusInProgress), acp.WithStartRawInput(input)))
	answer, ok := tool.call(ctx, input, caller{dir: s.dir, policy: permission.PolicyFunc(c.decide), update: c.relay})
	status := acp.ToolCallStatusCompleted
	if !ok {
		status = acp.ToolCallStatusFailed
	}
	s.tell(acp.UpdateToolCall(acp.ToolCallId(c.id), acp.WithUpdateStatus(status),
		acp.WithUpdateContent([]acp.ToolCallContent{acp.ToolContent(acp.TextBlock(answer))})))
	return answer
}

// call is one of the tool.
type call struct {
	*session
	id string
}

// under is the id by which our client knows a tool call of the agent: several agents, and
// we, may have the same ones.
func (c *call) under(id acp.ToolCallId) acp.ToolCallId {
	return acp.ToolCallId(c.id) + "/" + id
}

// relay tells our client what the agent does. Its words are a thought of ours, since the
// answer is what we make of them. What else it says is of its own session (modes, commands,
// usage), and would be taken for ours.
func (c *call) relay(u client.Update) {
	switch v := u.Value; {
	case v.AgentMessageChunk != nil:
		c.tell(acp.UpdateAgentThought(v.AgentMessageChunk.Content))
	case v.AgentThoughtChunk != nil:
		c.tell(acp.UpdateAgentThought(v.AgentThoughtChunk.Content))
	case v.ToolCall != nil:
		t := *v.ToolCall
		t.ToolCallId = c.under(t.ToolCallId)
		c.tell(acp.SessionUpdate{ToolCall: &t})
	case v.ToolCallUpdate != nil:
		t := *v.ToolCallUpdate
		t.ToolCallId = c.under(t.ToolCallId)
		c.tell(acp.SessionUpdate{ToolCallUpdate: &t})
	case v.Plan != nil:
		c.tell(acp.SessionUpdate{Plan: v.Plan})
	}
}

// decide puts what the agent asks to our client, with the options as they came. When the
// turn is cancelled, or the agent withdraws the request, ctx ends, and so does ours.
func (c *call) decide(ctx context.Context, req permission.Request) permission.Decision {
	req.ToolCall.ToolCallId = c.under(req.ToolCall.ToolCallId)
	answer, err := c.conn.RequestPermission(ctx, acp.RequestPermissionRequest{
		SessionId: c.session.id, ToolCall: req.ToolCall, Options: req.Options,
	})
	switch {
	case err == nil && answer.Outcome.Selected != nil:
		return permission.Decision{OptionID: string(answer.Outcome.Selected.OptionId), Rule: "client"}
	case err == nil && answer.Outcome.Cancelled != nil:
		return permission.Decision{Rule: "client: cancelled"}
	}
	return permission.Reject().Decide(ctx, req) // nobody has allowed it
}

// unsupported is what a client may ask of an agent that we do not offer.
type unsupported struct{}

func (unsupported) Authenticate(context.Context, acp.AuthenticateRequest) (r acp.AuthenticateResponse, err error) {
	return r, acp.NewMethodNotFound(acp.AgentMethodAuthenticate)
}

func (unsupported) Logout(context.Context, acp.LogoutRequest) (r acp.LogoutResponse, err error) {
	return r, acp.NewMethodNotFound(acp.AgentMethodLogout)
}

func (unsupported) ListSessions(context.Context, acp.ListSessionsRequest) (r acp.ListSessionsResponse, err error) {
	return r, acp.NewMethodNotFound(acp.AgentMethodSessionList)
}

func (unsupported) ResumeSession(context.Context, acp.ResumeSessionRequest) (r acp.ResumeSessionResponse, err error) {
	return r, acp.NewMethodNotFound(acp.AgentMethodSessionResume)
}

func (unsupported) SetSessionConfigOption(context.Context, acp.SetSessionConfigOptionRequest) (r acp.SetSessionConfigOptionResponse, err error) {
	return r, acp.NewMethodNotFound(acp.AgentMethodSessionSetConfigOption)
}

func (unsupported) SetSessionMode(context.Context, acp.SetSessionModeRequest) (r acp.SetSessionModeResponse, err error) {
	return r, acp.NewMethodNotFound(acp.AgentMethodSessionSetMode)
}
