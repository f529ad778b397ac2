package client

import (
	"context"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/internal/wire"
)

// admission has the agent's requests served, so many of a method at once, and none of them
// in the way of what the agent writes meanwhile: a client may wait for a person.
type admission struct {
	patience time.Duration            // how long one waits while none of those before it ends
	at       map[string]chan struct{} // has what is served, by kind; not changed
}

// defaultPatience is ConnOptions.patience where it is 0.
const defaultPatience = time.Second

// otherMethods is the kind of what ACP does not know: an agent can make up any number of
// methods.
const otherMethods = "other methods"

func newAdmission(atOnce int, patience time.Duration) admission {
	if atOnce <= 0 {
		atOnce = wire.DefaultMaxRequests
	}
	if patience == 0 {
		patience = defaultPatience
	}
	a := admission{patience, map[string]chan struct{}{
		otherMethods:                             make(chan struct{}, atOnce),
		acp.ClientMethodSessionRequestPermission: make(chan struct{}, atOnce),
	}}
	for method := range requests {
		a.at[method] = make(chan struct{}, atOnce)
	}
	return a
}

// errBusy is the answer to a request that has waited for others in vain.
var errBusy = &acp.RequestError{Code: codeRequest, Message: "too many requests are open"}

// admit waits until a request can be served; the caller calls done when it was. An error
// is errBusy or the one of the request's context.
func (a *admission) admit(r *wire.Request) (done func(), err error) {
	ctx := r.Context()
	switch r.Method {
	case acp.ClientMethodTerminalKill, acp.ClientMethodTerminalRelease, acp.ClientMethodTerminalOutput:
		// What ends by itself is served at once, and where nothing more can be parked in its
		// place: it may be what the others wait for.
		wire.Park(ctx, r.Method, 0)
		return func() {}, nil
	case acp.ClientMethodTerminalWaitForExit:
		return func() {}, park(ctx, r.Method, a.patience) // to wait is no work
	}
	kind := r.Method
	if a.at[kind] == nil {
		kind = otherMethods
	}
	if err := park(ctx, kind, a.patience); err != nil {
		return nil, err
	}
	select {
	case a.at[kind] <- struct{}{}:
		return func() { <-a.at[kind] }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func park(ctx context.Context, kind string, patience time.Duration) error {
	if wire.Park(ctx, kind, patience) {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return errBusy
}
