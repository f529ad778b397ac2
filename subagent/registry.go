package subagent

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// The causes of a Registry's errors, for errors.Is.
var (
	ErrDuplicateProvider = errors.New("a provider of this name is registered already")
	ErrUnknownProvider   = errors.New("no provider of this name is registered")
)

// Registry holds providers by name. The zero value is empty and ready to use. Its
// methods may be called from any goroutine.
type Registry struct {
	mu        sync.Mutex // guards providers
	providers map[string]Provider
}

// NewRegistry returns a registry of the given providers. It returns an error if two
// of them have the same name.
func NewRegistry(providers ...Provider) (*Registry, error) {
	r := &Registry{}
	for _, p := range providers {
		if err := r.Add(p); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Add registers p. A name that is taken is an error that wraps
// ErrDuplicateProvider; a nil provider or an empty name is refused too.
func (r *Registry) Add(p Provider) error {
	if p == nil || p.Name() == "" {
		return configError("a provider needs a name")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.providers[p.Name()]; ok {
		return configError("provider %q: %w", p.Name(), ErrDuplicateProvider)
	}
	if r.providers == nil {
		r.providers = make(map[string]Provider)
	}
	r.providers[p.Name()] = p
	return nil
}

// Remove takes the provider of that name out and reports whether there was one. It
// stops new starts; runs that were handed out go on.
func (r *Registry) Remove(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.providers[name]
	delete(r.providers, name)
	return ok
}

// Get returns the provider of that name, or an error that wraps ErrUnknownProvider
// and lists the names there are.
func (r *Registry) Get(name string) (Provider, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p, ok := r.providers[name]; ok {
		return p, nil
	}
	return nil, configError("provider %q (there are %q): %w", name, r.names(), ErrUnknownProvider)
}

// Names returns the registered names, sorted.
func (r *Registry) Names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.names()
}

func (r *Registry) names() []string {
	names := make([]string, 0, len(r.providers))
	for name := range r.providers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Start begins a run of the named provider. See Provider.Start.
func (r *Registry) Start(ctx context.Context, name string, req Request) (Run, error) {
	p, err := r.Get(name)
	if err != nil {
		return nil, err
	}
	return start(ctx, p, req)
}

// start is what every way to a run goes through: what can be refused for any
// provider is refused here, so that one that forgets to cannot accept and ignore.
func start(ctx context.Context, p Provider, req Request) (Run, error) {
	if err := CheckCapabilities(p, &req); err != nil {
		return nil, err
	}
	if err := notDone(ctx, p); err != nil {
		return nil, err
	}
	run, err := p.Start(ctx, req)
	if err == nil && run == nil {
		err = errors.New("the provider started no run")
	}
	if err != nil {
		return nil, named(p, startError(ctx, err))
	}
	return run, nil
}
