package script

import (
	"context"
	"encoding/json"

	"github.com/coder/acp-go-sdk"
)

// agent is what the SDK's connection calls. Each method hands the request that the
// reader has just let through to its section and returns what that answers.
type agent struct{ r *runner }

var (
	_ acp.Agent       = (*agent)(nil)
	_ acp.AgentLoader = (*agent)(nil)
)

func (a *agent) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	return serve[acp.InitializeResponse](a)
}

func (a *agent) Authenticate(context.Context, acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	return serve[acp.AuthenticateResponse](a)
}

func (a *agent) Logout(context.Context, acp.LogoutRequest) (acp.LogoutResponse, error) {
	return serve[acp.LogoutResponse](a)
}

func (a *agent) NewSession(context.Context, acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	return serve[acp.NewSessionResponse](a)
}

func (a *agent) LoadSession(context.Context, acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	return serve[acp.LoadSessionResponse](a)
}

func (a *agent) ListSessions(context.Context, acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	return serve[acp.ListSessionsResponse](a)
}

func (a *agent) ResumeSession(context.Context, acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	return serve[acp.ResumeSessionResponse](a)
}

func (a *agent) CloseSession(context.Context, acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	return serve[acp.CloseSessionResponse](a)
}

func (a *agent) SetSessionMode(context.Context, acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	return serve[acp.SetSessionModeResponse](a)
}

func (a *agent) SetSessionConfigOption(context.Context, acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	return serve[acp.SetSessionConfigOptionResponse](a)
}

func (a *agent) Prompt(context.Context, acp.PromptRequest) (acp.PromptResponse, error) {
	return serve[acp.PromptResponse](a)
}

// Cancel is never called: notifications do not reach the SDK.
func (a *agent) Cancel(context.Context, acp.CancelNotification) error { return nil }

// serve takes the request that is waiting for it. The section has a goroutine of its
// own because it goes on after the answer.
func serve[T any](a *agent) (resp T, err error) {
	t := a.r.claim.Swap(nil)
	if t == nil {
		return resp, acp.NewInternalError(nil)
	}
	close(t.taken)
	go a.r.serve(t) // ends with the section or the agent
	select {
	case o := <-t.result:
		if o.err != nil {
			return resp, o.err
		}
		return resp, json.Unmarshal(o.result, &resp)
	case <-a.r.ctx.Done():
		return resp, acp.NewInternalError(nil) // nobody will see it
	}
}

// responses has a new response of each method that goes through the SDK.
var responses = map[string]func() any{
	acp.AgentMethodInitialize:             func() any { return new(acp.InitializeResponse) },
	acp.AgentMethodAuthenticate:           func() any { return new(acp.AuthenticateResponse) },
	acp.AgentMethodLogout:                 func() any { return new(acp.LogoutResponse) },
	acp.AgentMethodSessionNew:             func() any { return new(acp.NewSessionResponse) },
	acp.AgentMethodSessionLoad:            func() any { return new(acp.LoadSessionResponse) },
	acp.AgentMethodSessionList:            func() any { return &acp.ListSessionsResponse{Sessions: []acp.SessionInfo{}} },
	acp.AgentMethodSessionResume:          func() any { return new(acp.ResumeSessionResponse) },
	acp.AgentMethodSessionClose:           func() any { return new(acp.CloseSessionResponse) },
	acp.AgentMethodSessionSetMode:         func() any { return new(acp.SetSessionModeResponse) },
	acp.AgentMethodSessionSetConfigOption: func() any { return &acp.SetSessionConfigOptionResponse{ConfigOptions: []acp.SessionConfigOption{}} },
	acp.AgentMethodSessionPrompt:          func() any { return new(acp.PromptResponse) },
}

// sdkCanSay reports whether the SDK's type for the method's response has a place for
// each of the fields.
func sdkCanSay(method string, fields json.RawMessage) bool {
	newResponse, ok := responses[method]
	if !ok {
		return false
	}
	resp := newResponse()
	if json.Unmarshal(fields, resp) != nil {
		return false
	}
	back, err := json.Marshal(resp)
	return err == nil && covers(back, fields)
}

// covers reports whether each field of want is in got with the same value.
func covers(got, want json.RawMessage) bool {
	var g, w any
	if json.Unmarshal(got, &g) != nil || json.Unmarshal(want, &w) != nil {
		return false
	}
	return coversValue(g, w)
}

func coversValue(got, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		for name, value := range w {
			have, there := g[name]
			ok = ok && there && coversValue(have, value)
		}
		return ok
	case []any:
		g, ok := got.([]any)
		ok = ok && len(g) == len(w)
		for i := 0; ok && i < len(w); i++ {
			ok = coversValue(g[i], w[i])
		}
		return ok
	}
	return got == want
}

// honest has the results of an agent with nothing of its own to say, for what every
// agent answers. Anything else needs a section.
var honest = map[string]func(*task) any{
	acp.AgentMethodInitialize:    func(t *task) any { return t.r.script.initializeResponse() },
	acp.AgentMethodAuthenticate:  func(*task) any { return acp.AuthenticateResponse{} },
	acp.AgentMethodSessionNew:    func(t *task) any { return acp.NewSessionResponse{SessionId: acp.SessionId(t.session.id)} },
	acp.AgentMethodSessionPrompt: func(*task) any { return acp.PromptResponse{StopReason: acp.StopReasonEndTurn} },
}

// honestResult is the result of the task's request, with the script's fields over it.
func (t *task) honestResult() (json.RawMessage, *acp.RequestError) {
	var result json.RawMessage
	switch base, ok := honest[t.message.Method]; {
	case ok:
		result = marshal(base(t))
	case t.section.line == 0 || t.section.event == "any" && t.fields == nil:
		return nil, acp.NewMethodNotFound(t.message.Method)
	default:
		result = json.RawMessage("{}")
		if newResponse, ok := responses[t.message.Method]; ok {
			result = marshal(newResponse())
		}
	}
	if t.fields != nil {
		result = overlay(result, t.fields)
	}
	return result, nil
}

// initializeResponse advertises what the script has sections for.
//
// https://agentclientprotocol.com/protocol/initialization
func (s *Script) initializeResponse() acp.InitializeResponse {
	caps := acp.AgentCapabilities{LoadSession: s.has(acp.AgentMethodSessionLoad)}
	if s.has(acp.AgentMethodSessionClose) {
		caps.SessionCapabilities.Close = &acp.SessionCloseCapabilities{}
	}
	if s.has(acp.AgentMethodSessionList) {
		caps.SessionCapabilities.List = &acp.SessionListCapabilities{}
	}
	if s.has(acp.AgentMethodSessionResume) {
		caps.SessionCapabilities.Resume = &acp.SessionResumeCapabilities{}
	}
	return acp.InitializeResponse{
		ProtocolVersion:   acp.ProtocolVersionNumber,
		AgentCapabilities: caps,
		AgentInfo:         &acp.Implementation{Name: "scripted-agent", Version: "1"},
		AuthMethods:       []acp.AuthMethod{},
	}
}
