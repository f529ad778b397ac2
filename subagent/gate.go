package subagent

import (
	"context"
	"fmt"

	"golang.org/x/sync/semaphore"

	"github.com/errand-acp/errand/client"
)

// gateKey is the context key of a gate. Only the provider that starts a command knows
// which it is, so the gate goes to it with the context of its Start.
type gateKey struct{}

// gate is what a start has to pass: that of limits, after those around it.
type gate struct {
	limits *Limits
	outer  *gate // nil: there is none
}

// gated returns the context to start a run under l with.
func (l *Limits) gated(ctx context.Context) context.Context {
	if l.opts.Starts == 0 {
		return ctx
	}
	outer, _ := ctx.Value(gateKey{}).(*gate)
	for g := outer; g != nil; g = g.outer {
		if g.limits == l {
			return ctx // it would wait for itself
		}
	}
	return context.WithValue(ctx, gateKey{}, &gate{limits: l, outer: outer})
}

// gateStart waits until an agent of that command may be started under the Limits that ctx
// has come through, if any. release must be called once the start is over, whatever came
// of it. An error is a *Error: ctx has ended.
func gateStart(ctx context.Context, command string) (release func(), err error) {
	g, _ := ctx.Value(gateKey{}).(*gate)
	return g.pass(ctx, command)
}

func (g *gate) pass(ctx context.Context, command string) (release func(), err error) {
	if g == nil {
		return func() {}, nil
	}
	outer, err := g.outer.pass(ctx, command)
	if err != nil {
		return nil, err
	}
	starts := g.limits.startsOf(command)
	if starts.Acquire(ctx, 1) != nil {
		outer()
		return nil, &Error{
			Kind: contextKind(ctx), Step: client.StepSpawn, Err: contextError(ctx),
			Message: fmt.Sprintf("not started: %v, while it waited for other starts of %s", context.Cause(ctx), command),
		}
	}
	return func() {
		starts.Release(1)
		outer()
	}, nil
}

// startsOf returns the slots for starts of a command.
func (l *Limits) startsOf(command string) *semaphore.Weighted {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.starts[command] == nil {
		l.starts[command] = semaphore.NewWeighted(int64(l.opts.Starts))
	}
	return l.starts[command]
}
