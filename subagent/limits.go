package subagent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/errand-acp/errand/client"
)

// LimitOptions are what Limits hold to. A zero is no limit.
type LimitOptions struct {
	// Runs is how many runs there may be at once, over all providers.
	Runs int
	// PerProvider is how many there may be at once of each provider, by its name.
	// Providers says otherwise for some of them; 0 there is no limit for that one.
	PerProvider int
	Providers   map[string]int
	// Total is how many runs there may be in all, for as long as the Limits are used; one
	// more is refused with an error of kind limit. A run that is refused, or cancelled in the
	// queue, before anything was started does not count.
	Total int
	// Starts is how many agents of one command (client.Command.Path) may be starting at
	// once, up to their session: two starts by npx race each other's cache. It bounds
	// the runs of this package's own ACP providers, also where they are wrapped.
	Starts int
}

// Limits bound the runs of the providers that are put under them, all together. The zero
// value bounds nothing. Its methods may be called from any goroutine.
//
// A run has its slots from its start until Close has returned, and a start that fails, or
// panics, gives them back. Where there is none the start waits, first come, first served;
// a run that waits for its provider holds no slot of another sort, and does not keep those
// of other providers waiting. No slot is kept free for a run that needs another one as well:
// one whose fan-out is at its own limit is passed by others of its provider.
//
// A run that itself starts runs under the same Limits holds its own slot meanwhile, and
// where all are held by such runs none of them gets on. Give what is below Limits of its own.
type Limits struct {
	opts  LimitOptions
	queue queue
	runs  slots

	mu        sync.Mutex // guards what is below, not the slots; taken before queue.mu
	providers map[string]*slots
	starts    map[string]*semaphore.Weighted // by command
	begun     int                            // runs that count for opts.Total, or may yet
}

// NewLimits returns limits under which nothing runs yet. A negative number is an error of
// kind config.
func NewLimits(o LimitOptions) (*Limits, error) {
	for name, n := range map[string]int{"Runs": o.Runs, "PerProvider": o.PerProvider, "Total": o.Total, "Starts": o.Starts} {
		if n < 0 {
			return nil, configError("LimitOptions.%s is negative: %d", name, n)
		}
	}
	for name, n := range o.Providers {
		if n < 0 {
			return nil, configError("LimitOptions.Providers[%q] is negative: %d", name, n)
		}
	}
	o.Providers = maps.Clone(o.Providers)
	return &Limits{
		opts: o, runs: slots{size: o.Runs},
		providers: map[string]*slots{}, starts: map[string]*semaphore.Weighted{},
	}, nil
}

// Provider returns p under l: its Start waits for a slot, or until its context ends, and
// Close of its runs gives it back. A provider that is under l already is not put under it
// again. Where one of a Fallback's is, the others are put under it, and not the Fallback:
// what holds a slot must not wait for another one. It does not see what is within a provider
// of another package.
func (l *Limits) Provider(p Provider) Provider {
	if l.covers(p) {
		return p.(wrapping).put(l)
	}
	return &limitedProvider{Provider: p, limits: l}
}

// wrapping is a provider around others, which may be under limits.
type wrapping interface {
	under(*Limits) bool   // whether any of the others is, or it is itself
	put(*Limits) Provider // for one that is: the same with all of the others under them
}

// covers reports whether runs of p have their slots from l already, or some of them.
func (l *Limits) covers(p Provider) bool {
	w, ok := p.(wrapping)
	return ok && w.under(l)
}

// limitedProvider is a provider under limits.
type limitedProvider struct {
	Provider
	limits *Limits
}

func (p *limitedProvider) under(l *Limits) bool { return p.limits == l || l.covers(p.Provider) }

func (p *limitedProvider) put(l *Limits) Provider {
	if p.limits == l {
		return p
	}
	return &limitedProvider{Provider: l.Provider(p.Provider), limits: p.limits}
}

func (p *limitedProvider) Start(ctx context.Context, req Request) (Run, error) {
	// What needs no slot to be refused is not kept waiting for one.
	if err := CheckCapabilities(p, &req); err != nil {
		return nil, err
	}
	if err := req.validatePrompt(); err != nil {
		return nil, named(p, err)
	}
	if err := notDone(ctx, p); err != nil {
		return nil, err
	}
	place, err := p.limits.enter(p.Provider)
	if err != nil {
		return nil, err
	}
	started := false
	defer func() {
		if !started { // also where Start panics
			place.leave()
		}
	}()
	run, err := place.start(ctx, p.Provider, req)
	if err != nil {
		return nil, err
	}
	started = true
	return &limitedRun{Run: run, place: place}, nil
}

// limitedRun is a run that has slots.
type limitedRun struct {
	Run
	place *limitedPlace
}

func (r *limitedRun) unwrap() Run { return r.Run }

func (r *limitedRun) Close() *Result {
	defer r.place.leave()
	return r.Run.Close()
}

// limitedPlace is that of a run under limits. start is for one goroutine, leave for any.
type limitedPlace struct {
	*place
	limits *Limits // nil: the provider sees to them
	counts bool    // for LimitOptions.Total, also when the place is left
	once   sync.Once
}

// enter takes a place in the queue for a run of p: for the slots that l says, unless p is
// under l, and one of each of more.
func (l *Limits) enter(p Provider, more ...*slots) (*limitedPlace, error) {
	if l.covers(p) {
		return &limitedPlace{place: l.queue.join(more...)}, nil
	}
	name := p.Name()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opts.Total > 0 && l.begun >= l.opts.Total {
		return nil, &Error{
			Kind: client.KindLimit, Step: client.StepConfig, Provider: name,
			Message: fmt.Sprintf("not started: the limit of %d runs in all is reached", l.opts.Total),
		}
	}
	needs := slices.Clone(more)
	if own := l.of(name); own != nil {
		needs = append(needs, own)
	}
	if l.opts.Runs > 0 {
		needs = append(needs, &l.runs)
	}
	l.begun++
	return &limitedPlace{place: l.queue.join(needs...), limits: l}, nil
}

// of returns the slots of a provider's runs, nil where there is no limit. mu is held.
func (l *Limits) of(provider string) *slots {
	size, ok := l.opts.Providers[provider]
	if !ok {
		size = l.opts.PerProvider
	}
	if size == 0 {
		return nil
	}
	if l.providers[provider] == nil {
		l.providers[provider] = &slots{size: size}
	}
	return l.providers[provider]
}

// start waits for the slots and starts a run with them.
func (p *limitedPlace) start(ctx context.Context, of Provider, req Request) (Run, error) {
	if p.wait(ctx) != nil {
		return nil, notDone(ctx, of)
	}
	if p.limits == nil {
		return start(ctx, of, req)
	}
	p.counts = true
	run, err := start(p.limits.gated(ctx), of, req)
	if e, ok := errors.AsType[*Error](err); ok && e.Partial == nil {
		p.counts = false
	}
	return run, err
}

// leave gives the slots back. Only the first call does anything.
func (p *limitedPlace) leave() {
	p.once.Do(func() {
		p.place.leave()
		if p.limits != nil && !p.counts {
			p.limits.mu.Lock()
			defer p.limits.mu.Unlock()
			p.limits.begun--
		}
	})
}
