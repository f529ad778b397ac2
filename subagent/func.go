package subagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
)

// Turn carries out one prompt turn: it does what was asked, reports on the way by
// calling update, and returns the stop reason. When ctx ends it should return soon;
// the run is then aborted, whatever it returns. An error, or a panic, makes a result
// with stop error; an *acp.RequestError keeps its code and data. update may be called
// from any goroutine until Turn returns, and does nothing afterwards.
type Turn func(ctx context.Context, update func(acp.SessionUpdate)) (acp.StopReason, error)

// Session is a run's session as a provider's open function makes it.
type Session struct {
	// ID is the agent's own id for the session; empty if it has none.
	ID string
	// Agent is what is known of the program that runs.
	Agent Agent
	// Turn is called once, on the run's own goroutine.
	Turn Turn
	// Close ends whatever was opened, waits for it, and may fill in what can be
	// known only then. It is called once, after Turn has returned. nil: there is
	// nothing to end.
	Close func(final *Result)
}

// NewProvider returns a provider whose runs are sessions that open makes. It is how
// something that is not ACP comes under the same rules: request, directory and
// capabilities are checked before open is called (req.Dir is then the directory to
// use), and outcome, events, updates and closing are those of every run.
//
// open returns once the session exists, or cleans up and returns an error; ctx is
// the run's life. capabilities lists what the provider heeds beyond prompt and
// directory.
func NewProvider(name string, open func(ctx context.Context, req Request) (*Session, error), capabilities ...Capability) (Provider, error) {
	if name == "" || open == nil {
		return nil, configError("a provider needs a name and a function that opens a session")
	}
	return &openProvider{name: name, open: open, capabilities: slices.Clone(capabilities)}, nil
}

// NewFunc returns a provider whose runs are calls of fn in this process.
func NewFunc(name string, fn func(ctx context.Context, req Request, update func(acp.SessionUpdate)) (acp.StopReason, error), capabilities ...Capability) (Provider, error) {
	if fn == nil {
		return nil, configError("a function provider needs a function")
	}
	return NewProvider(name, func(_ context.Context, req Request) (*Session, error) {
		return &Session{Turn: func(ctx context.Context, update func(acp.SessionUpdate)) (acp.StopReason, error) {
			return fn(ctx, req, update)
		}}, nil
	}, capabilities...)
}

type openProvider struct {
	name         string
	open         func(context.Context, Request) (*Session, error)
	capabilities []Capability
}

func (p *openProvider) Name() string { return p.name }

func (p *openProvider) Capabilities() []Capability { return slices.Clone(p.capabilities) }

func (p *openProvider) Start(ctx context.Context, req Request) (Run, error) {
	dir, err := prepare(ctx, p, &req, "")
	if err != nil {
		return nil, err
	}
	req.Dir = dir
	r := newRun(ctx, p.name, req)
	s, err := p.open(r.ctx, req)
	if err == nil && (s == nil || s.Turn == nil) {
		err = errors.New("the provider opened no session to take a turn in")
	}
	if err != nil {
		err = named(p, startError(r.ctx, err))
		r.cancel(errClosed)
		return nil, err
	}
	base := r.newResult(dir)
	base.Agent = s.Agent
	base.Agent.Command = append([]string{}, s.Agent.Command...)
	if s.ID != "" {
		base.SessionID = &s.ID
	}
	r.collect.setSession(s.ID)
	r.begin(base, driver{
		turn:  func(ctx context.Context) turnEnd { return r.callTurn(ctx, s) },
		close: s.Close,
	})
	return r, nil
}

// startError gives the error of a session that did not open a kind, if it has none
// of ours.
func startError(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	kind := client.KindSpawn
	if ctx.Err() != nil {
		kind = contextKind(ctx)
		if !errors.Is(err, ctx.Err()) {
			err = fmt.Errorf("%w: %w", contextError(ctx), err)
		}
	}
	return &Error{Kind: kind, Step: client.StepNewSession, Message: err.Error(), Err: err}
}

// callTurn calls a session's Turn and reads its answer.
func (r *run) callTurn(ctx context.Context, s *Session) turnEnd {
	r.promptSent()
	var one sync.Mutex // held while an update is reported; guards over
	over := false
	defer func() {
		one.Lock()
		defer one.Unlock()
		over = true
	}()
	reason, err := s.Turn(ctx, func(u acp.SessionUpdate) {
		one.Lock()
		defer one.Unlock()
		if over {
			return
		}
		raw, err := json.Marshal(u)
		if err != nil {
			r.warn(fmt.Sprintf("an update of the provider could not be encoded: %v", err))
			return
		}
		// It takes the way that an ACP agent's update does, so that both mean the same.
		decoded := client.DecodeUpdate(acp.SessionId(s.ID), raw)
		r.collect.update(&decoded)
		r.update(decoded)
	})
	end := turnEnd{cancelled: ctx.Err() != nil}
	if reason != "" {
		end.stopReason = (*string)(&reason)
	}
	if err != nil {
		end.err = &Error{Kind: client.KindAgent, Step: client.StepPrompt, Message: err.Error(), Err: err}
		if re, ok := errors.AsType[*acp.RequestError](err); ok {
			end.err.setAgentError(re)
		}
	}
	return end
}
