package client

import (
	"context"
	"encoding/json"

	"github.com/coder/acp-go-sdk"
)

// UpdateHandler is an optional interface of the client given to [NewConn]. It gets
// every session/update in order, also those of a kind that the schema does not have;
// SessionUpdate is not called then.
type UpdateHandler interface {
	HandleUpdate(ctx context.Context, u Update)
}

// MethodHandler is an optional interface of the client given to [NewConn], for what no
// typed method covers. HandleMethod's error is acp.NewMethodNotFound for a method it
// does not know. An acp.ExtensionMethodHandler comes before it, for names that begin
// with an underscore.
type MethodHandler interface {
	HandleMethod(ctx context.Context, method string, params json.RawMessage) (any, error)
	HandleNotification(ctx context.Context, method string, params json.RawMessage)
}

// Handlers is an acp.Client made of functions. Each may be nil: a request is then
// answered with -32601 whatever its params, a permission request with `cancelled`, and a notification
// ignored. The functions must not be changed once the Handlers are in use.
//
// OnUpdate, OnSessionUpdate and OnNotification are called one after the other, in the
// order of the wire, and being slow slows the agent. The others are called
// concurrently. Each context ends when the agent withdraws the request or goes.
//
// A function that calls the connection does so with the context that it was given, or
// one made from it: with any other, a call out of the first three would wait until all
// that was read before its answer has been delivered, and so for itself.
type Handlers struct {
	// OnUpdate gets every update, also of unknown kinds, with its raw form.
	OnUpdate func(ctx context.Context, u Update)
	// OnSessionUpdate gets the updates of known kinds as the SDK delivers them.
	OnSessionUpdate func(ctx context.Context, n acp.SessionNotification) error
	// OnRequestPermission answers a permission request. An error, a panic and an option
	// that was not offered count as `cancelled`.
	OnRequestPermission func(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error)

	OnReadTextFile        func(ctx context.Context, r acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error)
	OnWriteTextFile       func(ctx context.Context, r acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error)
	OnCreateTerminal      func(ctx context.Context, r acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error)
	OnKillTerminal        func(ctx context.Context, r acp.KillTerminalRequest) (acp.KillTerminalResponse, error)
	OnTerminalOutput      func(ctx context.Context, r acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error)
	OnReleaseTerminal     func(ctx context.Context, r acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error)
	OnWaitForTerminalExit func(ctx context.Context, r acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error)

	// OnMethod answers every other request, by name.
	OnMethod func(ctx context.Context, method string, params json.RawMessage) (any, error)
	// OnNotification gets every other notification, by name.
	OnNotification func(ctx context.Context, method string, params json.RawMessage)
}

var (
	_ acp.Client    = (*Handlers)(nil)
	_ UpdateHandler = (*Handlers)(nil)
	_ MethodHandler = (*Handlers)(nil)
)

// serves reports whether there is a function for a request other than for a
// permission.
func (h *Handlers) serves(method string) bool {
	switch method {
	case acp.ClientMethodFsReadTextFile:
		return h.OnReadTextFile != nil
	case acp.ClientMethodFsWriteTextFile:
		return h.OnWriteTextFile != nil
	case acp.ClientMethodTerminalCreate:
		return h.OnCreateTerminal != nil
	case acp.ClientMethodTerminalKill:
		return h.OnKillTerminal != nil
	case acp.ClientMethodTerminalOutput:
		return h.OnTerminalOutput != nil
	case acp.ClientMethodTerminalRelease:
		return h.OnReleaseTerminal != nil
	case acp.ClientMethodTerminalWaitForExit:
		return h.OnWaitForTerminalExit != nil
	}
	return h.OnMethod != nil
}

// HandleUpdate calls OnUpdate and, for a known kind, OnSessionUpdate.
func (h *Handlers) HandleUpdate(ctx context.Context, u Update) {
	if h.OnUpdate != nil {
		h.OnUpdate(ctx, u)
	}
	if h.OnSessionUpdate != nil && u.Known() {
		h.OnSessionUpdate(ctx, u.notification())
	}
}

// SessionUpdate calls OnSessionUpdate.
func (h *Handlers) SessionUpdate(ctx context.Context, n acp.SessionNotification) error {
	if h.OnSessionUpdate == nil {
		return nil
	}
	return h.OnSessionUpdate(ctx, n)
}

// RequestPermission calls OnRequestPermission.
func (h *Handlers) RequestPermission(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	return handle(ctx, acp.ClientMethodSessionRequestPermission, h.OnRequestPermission, r)
}

// ReadTextFile calls OnReadTextFile.
func (h *Handlers) ReadTextFile(ctx context.Context, r acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	return handle(ctx, acp.ClientMethodFsReadTextFile, h.OnReadTextFile, r)
}

// WriteTextFile calls OnWriteTextFile.
func (h *Handlers) WriteTextFile(ctx context.Context, r acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	return handle(ctx, acp.ClientMethodFsWriteTextFile, h.OnWriteTextFile, r)
}

// CreateTerminal calls OnCreateTerminal.
func (h *Handlers) CreateTerminal(ctx context.Context, r acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	return handle(ctx, acp.ClientMethodTerminalCreate, h.OnCreateTerminal, r)
}

// KillTerminal calls OnKillTerminal.
func (h *Handlers) KillTerminal(ctx context.Context, r acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	return handle(ctx, acp.ClientMethodTerminalKill, h.OnKillTerminal, r)
}

// TerminalOutput calls OnTerminalOutput.
func (h *Handlers) TerminalOutput(ctx context.Context, r acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	return handle(ctx, acp.ClientMethodTerminalOutput, h.OnTerminalOutput, r)
}

// ReleaseTerminal calls OnReleaseTerminal.
func (h *Handlers) ReleaseTerminal(ctx context.Context, r acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	return handle(ctx, acp.ClientMethodTerminalRelease, h.OnReleaseTerminal, r)
}

// WaitForTerminalExit calls OnWaitForTerminalExit.
func (h *Handlers) WaitForTerminalExit(ctx context.Context, r acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error) {
	return handle(ctx, acp.ClientMethodTerminalWaitForExit, h.OnWaitForTerminalExit, r)
}

// HandleMethod calls OnMethod.
func (h *Handlers) HandleMethod(ctx context.Context, method string, params json.RawMessage) (any, error) {
	if h.OnMethod == nil {
		return nil, acp.NewMethodNotFound(method)
	}
	return h.OnMethod(ctx, method, params)
}

// HandleNotification calls OnNotification.
func (h *Handlers) HandleNotification(ctx context.Context, method string, params json.RawMessage) {
	if h.OnNotification != nil {
		h.OnNotification(ctx, method, params)
	}
}

func handle[P, R any](ctx context.Context, method string, f func(context.Context, P) (R, error), params P) (R, error) {
	if f == nil {
		var none R
		return none, acp.NewMethodNotFound(method)
	}
	return f(ctx, params)
}
