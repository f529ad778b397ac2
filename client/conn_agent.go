package client

import (
	"context"

	"github.com/coder/acp-go-sdk"
)

// Initialize agrees on version and capabilities. Whatever version the agent answers
// is returned; one that is no number is 0.
//
// See https://agentclientprotocol.com/protocol/initialization.
func (c *Conn) Initialize(ctx context.Context, params acp.InitializeRequest) (acp.InitializeResponse, error) {
	return typedCall[acp.InitializeResponse](ctx, c, acp.AgentMethodInitialize, params)
}

// Authenticate uses one of the methods that Initialize returned.
//
// See https://agentclientprotocol.com/protocol/initialization#authentication.
func (c *Conn) Authenticate(ctx context.Context, params acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	return typedCall[acp.AuthenticateResponse](ctx, c, acp.AgentMethodAuthenticate, params)
}

// Logout ends what Authenticate began, where the agent advertises it.
func (c *Conn) Logout(ctx context.Context, params acp.LogoutRequest) (acp.LogoutResponse, error) {
	return typedCall[acp.LogoutResponse](ctx, c, acp.AgentMethodLogout, params)
}

// NewSession begins a session.
//
// See https://agentclientprotocol.com/protocol/session-setup#creating-a-session.
func (c *Conn) NewSession(ctx context.Context, params acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	return typedCall[acp.NewSessionResponse](ctx, c, acp.AgentMethodSessionNew, params)
}

// LoadSession continues a session and replays it as updates, all of which are
// delivered before it returns. A callback's own context is refused with
// [ErrCallbackContext].
//
// See https://agentclientprotocol.com/protocol/session-setup#loading-sessions.
func (c *Conn) LoadSession(ctx context.Context, params acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	return typedCall[acp.LoadSessionResponse](ctx, c, acp.AgentMethodSessionLoad, params)
}

// ResumeSession continues a session without replaying it, where the agent advertises
// it.
func (c *Conn) ResumeSession(ctx context.Context, params acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	return typedCall[acp.ResumeSessionResponse](ctx, c, acp.AgentMethodSessionResume, params)
}

// CloseSession ends a session, where the agent advertises it.
func (c *Conn) CloseSession(ctx context.Context, params acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	return typedCall[acp.CloseSessionResponse](ctx, c, acp.AgentMethodSessionClose, params)
}

// ListSessions lists the sessions an agent has kept, where it advertises it.
func (c *Conn) ListSessions(ctx context.Context, params acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	return typedCall[acp.ListSessionsResponse](ctx, c, acp.AgentMethodSessionList, params)
}

// SetSessionMode switches the mode of a session.
//
// See https://agentclientprotocol.com/protocol/session-modes.
func (c *Conn) SetSessionMode(ctx context.Context, params acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	return typedCall[acp.SetSessionModeResponse](ctx, c, acp.AgentMethodSessionSetMode, params)
}

// SetSessionConfigOption sets one of a session's options.
//
// See https://agentclientprotocol.com/protocol/session-config-options.
func (c *Conn) SetSessionConfigOption(ctx context.Context, params acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	return typedCall[acp.SetSessionConfigOptionResponse](ctx, c, acp.AgentMethodSessionSetConfigOption, params)
}

// UnstableDeleteSession deletes a session that an agent has kept. It is not part of the
// protocol yet and may change.
func (c *Conn) UnstableDeleteSession(ctx context.Context, params acp.UnstableDeleteSessionRequest) (acp.UnstableDeleteSessionResponse, error) {
	return typedCall[acp.UnstableDeleteSessionResponse](ctx, c, acp.AgentMethodSessionDelete, params)
}

// UnstableForkSession begins a session with the context of another one. It is not part
// of the protocol yet and may change.
func (c *Conn) UnstableForkSession(ctx context.Context, params acp.UnstableForkSessionRequest) (acp.UnstableForkSessionResponse, error) {
	return typedCall[acp.UnstableForkSessionResponse](ctx, c, acp.AgentMethodSessionFork, params)
}
