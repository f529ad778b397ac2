package subagent

import (
	"context"
	"iter"

	"github.com/errand-acp/errand/client"
)

// Provider starts runs of one agent. NewACP makes one of an ACP agent's command,
// NewFunc one of a function in this process; others live beside them, and package
// subagenttest says by a test what each must do. Its methods may be called from any
// goroutine.
type Provider interface {
	// Name is what a Registry knows the provider by. It never changes.
	Name() string
	// Capabilities lists what a request may ask for beyond prompt and directory.
	Capabilities() []Capability
	// Start begins a run and returns once its session exists; the prompt is on its
	// way then. ctx is the run's life: when it ends the turn is cancelled.
	//
	// An error is a *Error, and then nothing was left behind: no process, no
	// descriptor, no goroutine. A ctx that is already done starts nothing.
	Start(ctx context.Context, req Request) (Run, error)
}

// Run is one task under way. Its methods may be called from any goroutine. The
// caller always calls Close. A Result is shared by all who ask for it and by the end
// event: nobody may change it.
type Run interface {
	// ID is unique in this process, and is not the agent's session id.
	ID() string
	// Updates yields the session's updates as they come and ends when the turn has
	// ended; breaking out of it discards the rest. A slow reader slows the agent
	// and loses nothing, unless the run is cancelled. Until it is called for the first time up to 8 MiB are kept,
	// the newest ones. It is for one reader at a time.
	Updates() iter.Seq[client.Update]
	// Done is closed when the outcome has settled, which is when the turn ends.
	Done() <-chan struct{}
	// Wait returns the outcome once it has settled. The error is ctx's own, and wraps
	// its cause, if that ends first; what the agent does is never an error here.
	Wait(ctx context.Context) (*Result, error)
	// Cancel ends the turn as if the context given to Start had been cancelled. It
	// does not wait.
	Cancel()
	// Close cancels the turn if it is still open, ends whatever the run started,
	// waits for all of it and returns the final result: the outcome, and what can
	// be known only now. Calling it again, from anywhere, returns the same result.
	Close() *Result
}
