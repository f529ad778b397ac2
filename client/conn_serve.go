package client

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/internal/wire"
)

// handler is a Conn as wire sees it.
type handler Conn

func (h *handler) conn() *Conn { return (*Conn)(h) }

// Classify says what a method is in ACP.
func (h *handler) Classify(method string) wire.Class {
	switch method {
	case acp.ClientMethodSessionUpdate, acp.ClientMethodElicitationComplete:
		return wire.ClassNotification
	case acp.ClientMethodSessionRequestPermission:
		return wire.ClassRequest
	}
	if requests[method] != nil || strings.HasPrefix(method, "_") {
		return wire.ClassRequest
	}
	if agentMethods[method] {
		return wire.ClassPeer
	}
	return wire.ClassUnknown
}

// agentMethods are the requests that only an agent serves.
var agentMethods = func() map[string]bool {
	set := map[string]bool{}
	for _, m := range []string{
		acp.AgentMethodAuthenticate, acp.AgentMethodInitialize, acp.AgentMethodLogout,
		acp.AgentMethodNesClose, acp.AgentMethodNesStart, acp.AgentMethodNesSuggest,
		acp.AgentMethodProvidersDisable, acp.AgentMethodProvidersList, acp.AgentMethodProvidersSet,
		acp.AgentMethodSessionClose, acp.AgentMethodSessionDelete, acp.AgentMethodSessionFork,
		acp.AgentMethodSessionList, acp.AgentMethodSessionLoad, acp.AgentMethodSessionNew,
		acp.AgentMethodSessionPrompt, acp.AgentMethodSessionResume,
		acp.AgentMethodSessionSetConfigOption, acp.AgentMethodSessionSetMode,
	} {
		set[m] = true
	}
	return set
}()

// notice is a notification for which there is no typed method.
type notice struct {
	method string
	params json.RawMessage
}

// Parse reads what agents send most in one pass.
func (h *handler) Parse(method string, s *wire.Scan) any {
	if method != acp.ClientMethodSessionUpdate {
		return nil
	}
	if t := h.conn().readText(s); t != nil {
		return t
	}
	return nil
}

// Notification takes a notification on the reader.
func (h *handler) Notification(method string, params []byte, parsed any) any {
	c := h.conn()
	if method == acp.ClientMethodSessionUpdate {
		text, _ := parsed.(*textUpdate)
		return c.receiveUpdate(params, text)
	}
	if method == acp.ClientMethodElicitationComplete || c.methods != nil || isExtension(c.client, method) {
		return notice{method, slices.Clone(params)}
	}
	return nil
}

// Run delivers what Notification returned.
func (h *handler) Run(ctx context.Context, deferred any) {
	c := h.conn()
	switch v := deferred.(type) {
	case *textUpdate:
		c.client.SessionUpdate(ctx, v.notification())
	case *Update:
		c.deliver(ctx, v)
	case notice:
		c.serveNotice(ctx, v)
	case func():
		v()
	}
}

func (c *Conn) serveNotice(ctx context.Context, n notice) {
	if n.method == acp.ClientMethodElicitationComplete {
		if e, ok := c.client.(interface {
			UnstableCompleteElicitation(context.Context, acp.UnstableCompleteElicitationNotification) error
		}); ok {
			var p acp.UnstableCompleteElicitationNotification
			decode(n.params, &p)
			e.UnstableCompleteElicitation(ctx, p)
			return
		}
	}
	if isExtension(c.client, n.method) {
		c.client.(acp.ExtensionMethodHandler).HandleExtensionMethod(ctx, n.method, n.params)
	} else if c.methods != nil {
		c.methods.HandleNotification(ctx, n.method, n.params)
	}
}

// isExtension reports whether client serves extension methods and method is one.
func isExtension(client acp.Client, method string) bool {
	_, ok := client.(acp.ExtensionMethodHandler)
	return ok && strings.HasPrefix(method, "_")
}

// Receive takes a request on the reader.
func (h *handler) Receive(r *wire.Request) {
	if r.Method == acp.ClientMethodSessionRequestPermission {
		h.conn().receiveAsk(r)
	}
}

// Serve answers a request.
func (h *handler) Serve(r *wire.Request) (any, error) {
	c := h.conn()
	if r.Method == acp.ClientMethodSessionRequestPermission {
		c.serveAsk(r)
		return nil, nil
	}
	result, err := c.serveRequest(r)
	switch {
	case err == nil:
		return result, nil
	case r.Context().Err() != nil && errors.Is(err, r.Context().Err()):
		return nil, answerError(acp.NewRequestCancelled(nil))
	}
	return nil, answerError(err)
}

func (c *Conn) serveRequest(r *wire.Request) (any, error) {
	if h, ok := c.client.(*Handlers); ok && !h.serves(r.Method) {
		// Before the params are looked at: whatever they are, the method is not there.
		return nil, acp.NewMethodNotFound(r.Method)
	}
	if r.Unread != nil {
		return nil, acp.NewInvalidRequest(r.Unread.Error())
	}
	done, err := c.admission.admit(r)
	if err != nil {
		return nil, err
	}
	defer done()
	ctx := r.Context()
	if serve := requests[r.Method]; serve != nil {
		result, err := serve(ctx, c.client, r.Params)
		if err != errNotServed {
			return result, err
		}
	}
	if isExtension(c.client, r.Method) {
		return c.client.(acp.ExtensionMethodHandler).HandleExtensionMethod(ctx, r.Method, r.Params)
	}
	if c.methods != nil {
		return c.methods.HandleMethod(ctx, r.Method, r.Params)
	}
	return nil, acp.NewMethodNotFound(r.Method)
}

// errNotServed is the answer of a client that lacks an optional method.
var errNotServed = acp.NewMethodNotFound("")

// requests are the typed methods of a client.
var requests = map[string]func(ctx context.Context, client acp.Client, params []byte) (any, error){
	acp.ClientMethodFsReadTextFile:      request(acp.Client.ReadTextFile),
	acp.ClientMethodFsWriteTextFile:     request(acp.Client.WriteTextFile),
	acp.ClientMethodTerminalCreate:      request(acp.Client.CreateTerminal),
	acp.ClientMethodTerminalKill:        request(acp.Client.KillTerminal),
	acp.ClientMethodTerminalOutput:      request(acp.Client.TerminalOutput),
	acp.ClientMethodTerminalRelease:     request(acp.Client.ReleaseTerminal),
	acp.ClientMethodTerminalWaitForExit: request(acp.Client.WaitForTerminalExit),
	acp.ClientMethodElicitationCreate:   request(createElicitation.UnstableCreateElicitation),
	acp.ClientMethodMcpConnect:          request(connectMCP.UnstableConnectMcp),
	acp.ClientMethodMcpDisconnect:       request(disconnectMCP.UnstableDisconnectMcp),
}

// What acp.ClientExperimental has, one by one, as the SDK looks for it.
type (
	createElicitation interface {
		UnstableCreateElicitation(context.Context, acp.UnstableCreateElicitationRequest) (acp.UnstableCreateElicitationResponse, error)
	}
	connectMCP interface {
		UnstableConnectMcp(context.Context, acp.UnstableConnectMcpRequest) (acp.UnstableConnectMcpResponse, error)
	}
	disconnectMCP interface {
		UnstableDisconnectMcp(context.Context, acp.UnstableDisconnectMcpRequest) (acp.UnstableDisconnectMcpResponse, error)
	}
)

// request makes a typed method of clients that are a C one that takes raw params.
func request[C, P, R any](method func(C, context.Context, P) (R, error)) func(context.Context, acp.Client, []byte) (any, error) {
	return func(ctx context.Context, client acp.Client, params []byte) (any, error) {
		c, ok := client.(C)
		if !ok {
			return nil, errNotServed
		}
		var p P
		if !decode(params, &p) {
			return nil, acp.NewInvalidParams(nil)
		}
		if err := validate(&p, params); err != nil {
			return nil, acp.NewInvalidParams(map[string]any{"error": err.Error()})
		}
		return method(c, ctx, p)
	}
}

// validate checks the params of a request as the SDK does, which takes the empty text of
// a file for a missing one.
func validate(p any, params []byte) error {
	if w, ok := p.(*acp.WriteTextFileRequest); ok && w.Content == "" {
		var said struct {
			Content *string `json:"content"`
		}
		if decode(params, &said) && said.Content != nil {
			full := *w
			full.Content = "x"
			p = &full
		}
	}
	if v, ok := p.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}
