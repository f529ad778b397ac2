package subagent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/errand-acp/errand/client"
)

// FallbackOptions say how the providers of a Fallback are tried. The zero value, or nil, is
// the default: each once.
type FallbackOptions struct {
	// Retries is how often a provider is tried again before the next one is, as long as its
	// error is Retryable.
	Retries int
	// Backoff is the wait before the first of these, and doubles with each, up to a
	// minute; 0 means 500 ms. There is none before the next provider.
	Backoff time.Duration
}

const (
	defaultBackoff = 500 * time.Millisecond
	maxBackoff     = time.Minute
)

// Fallback returns a provider that hands a request to the first of several, and where that
// fails before anything of the prompt was written to the next one. What an agent may have
// begun to work on is never handed to another. What was tried is in Result.Attempts, and
// where nothing came of any of it in that of Error.Partial; the error is that of the last.
//
// A provider fails so if its Start does, by a fault of the agent: it is not there, did not
// answer in time, crashed, is not logged in, does not take the prompt. A request that is
// wrong in itself, a limit of ours (kinds config and limit), and the end of the context, are
// none. A run that has started fails so if its error is Retryable. For this package's
// providers Start waits until something of the prompt was written, and events are told from
// then on, of the run that came of it; Timing is that run's too.
//
// A request may ask for what all the providers offer.
func Fallback(name string, o *FallbackOptions, providers ...Provider) (Provider, error) {
	if o == nil {
		o = &FallbackOptions{}
	}
	if name == "" || len(providers) == 0 || slices.Contains(providers, nil) {
		return nil, configError("a fallback needs a name and providers")
	}
	if o.Retries < 0 {
		return nil, configError("FallbackOptions.Retries is negative: %d", o.Retries)
	}
	if err := client.CheckDuration("Backoff", o.Backoff); err != nil {
		return nil, asError(err)
	}
	p := &fallback{name: name, opts: *o, providers: slices.Clone(providers), offered: slices.Clone(providers[0].Capabilities())}
	for _, inner := range providers[1:] {
		others := inner.Capabilities()
		p.offered = slices.DeleteFunc(p.offered, func(c Capability) bool { return !slices.Contains(others, c) })
	}
	return p, nil
}

type fallback struct {
	name      string
	opts      FallbackOptions
	providers []Provider
	offered   []Capability
}

func (p *fallback) Name() string { return p.name }

func (p *fallback) Capabilities() []Capability { return slices.Clone(p.offered) }

func (p *fallback) under(l *Limits) bool {
	return slices.ContainsFunc(p.providers, l.covers)
}

func (p *fallback) put(l *Limits) Provider {
	all := *p
	all.providers = make([]Provider, len(p.providers))
	for i, inner := range p.providers {
		all.providers[i] = l.Provider(inner)
	}
	return &all
}

func (p *fallback) Start(ctx context.Context, req Request) (Run, error) {
	if err := CheckCapabilities(p, &req); err != nil {
		return nil, err
	}
	if err := notDone(ctx, p); err != nil {
		return nil, err
	}
	t := &tries{fallback: p, ctx: ctx, req: req}
	var err *Error
	for _, inner := range p.providers {
		wait := cmp.Or(p.opts.Backoff, defaultBackoff)
		for retries := p.opts.Retries; ; retries-- {
			var run Run
			if run, err = t.try(inner); err == nil {
				return run, nil
			}
			if ctx.Err() != nil || !anotherMay(err.Kind) {
				return nil, t.failed(err, t.done[:len(t.done)-1])
			}
			if retries == 0 || !err.Retryable {
				break
			}
			if !sleep(ctx, wait) {
				return nil, t.failed(asError(notDone(ctx, p)), t.done)
			}
			wait = max(wait, min(2*wait, maxBackoff))
		}
	}
	return nil, t.failed(err, t.done[:len(t.done)-1])
}

// anotherMay reports whether another provider may do better than one that has failed like
// this before anything of a prompt was written.
func anotherMay(kind client.ErrorKind) bool {
	switch kind {
	case client.KindConfig, client.KindLimit, client.KindCancelled, client.KindTimeout:
		return false
	}
	return true
}

// sleep waits, and reports whether it did for so long: ctx may end before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// tries are those of one request.
type tries struct {
	*fallback
	ctx  context.Context
	req  Request
	done []Attempt
}

// try is one try. An error means that nothing of the prompt was written, and nothing was
// left behind.
func (t *tries) try(p Provider) (Run, *Error) {
	attempt := Attempt{Provider: p.Name(), StartedAt: time.Now()}
	r := newFallbackRun(t.name, t.req.Events)
	req := t.req
	if req.Events != nil {
		req.Events = r.event
	}
	run, err := start(t.ctx, p, req)
	if err != nil {
		return nil, t.fail(attempt, asError(err))
	}
	id := run.ID()
	attempt.RunID = &id
	if err := t.unsent(run, r.full); err != nil {
		r.drop()
		return nil, t.fail(attempt, err)
	}
	r.Run = run
	attempt.Ms = ms(time.Since(attempt.StartedAt))
	r.attempts = append(slices.Clone(t.done), attempt)
	if inner, ok := runAs[interface{ tried() []Attempt }](run); ok {
		r.attempts = append(slices.Clone(t.done), inner.tried()...)
	}
	r.open()
	return r, nil
}

// unsent waits until something of the run's prompt was written, or so much has come before
// that it cannot be kept. It returns an error, and the run is closed, if nothing was and
// another try may go better.
func (t *tries) unsent(run Run, full <-chan struct{}) *Error {
	r, ok := runAs[interface{ prompted() <-chan struct{} }](run)
	if !ok {
		return nil
	}
	select {
	case <-r.prompted():
		return nil
	case <-full:
		return nil
	case <-run.Done():
	}
	res, err := run.Wait(context.Background())
	if err != nil || res.Error == nil || !res.Error.Retryable || t.ctx.Err() != nil {
		return nil
	}
	e := *res.Error
	e.Partial = run.Close()
	return &e
}

// fail notes a try that came to nothing.
func (t *tries) fail(a Attempt, e *Error) *Error {
	a.Ms = ms(time.Since(a.StartedAt))
	if e.Kind != client.KindCancelled {
		in := *e
		in.Partial = nil
		a.Error = &in
	}
	switch p := e.Partial; {
	case p == nil:
	case len(p.Attempts) > 0:
		t.done = append(t.done, p.Attempts...)
		return e
	case p.RunID != "":
		a.RunID = &p.RunID
	}
	t.done = append(t.done, a)
	return e
}

// failed returns the error of all tries, where last is that of the last one, or why there was
// no other; before are those before it.
func (t *tries) failed(last *Error, before []Attempt) *Error {
	e := *last
	e.Provider, e.Err = t.name, last
	if len(t.done) == 1 && last.Kind == client.KindConfig {
		return &e // there was nothing to try
	}
	if last.Provider != t.name {
		e.Message = last.Provider + ": " + e.Message
	}
	for _, a := range before {
		if a.Error != nil {
			e.Message += fmt.Sprintf("; before that %s: %s", a.Provider, clip(a.Error.Message))
		}
		e.Retryable = e.Retryable || a.Error != nil && a.Error.Retryable
	}
	partial := *notStarted(t.name, &t.req, last)
	partial.Provider, partial.Attempts = t.name, t.done
	if partial.Error != nil {
		in := e
		in.Partial = nil
		partial.Error = &in
	}
	e.Partial = &partial
	return &e
}
