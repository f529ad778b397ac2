package subagent

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/errand-acp/errand/client"
)

// PoolOptions are what a Pool may be told. The zero value, or nil, is the default.
type PoolOptions struct {
	// Spares is how many are kept ready for each directory; 0 means 1.
	Spares int
	// Dirs are directories that spares are kept ready for from the beginning to the end.
	// They are checked now. Command.Dir is one, and then the only one.
	Dirs []string
	// Recent is how many other directories spares are kept ready for: those that runs were
	// started in last. 0 means 2, less than 0 none. A request with a MaxDepth counts as
	// one for another directory.
	Recent int
	// MaxAge is how long a spare waits for its run before another takes its place; 0 means
	// 10 minutes. A directory that is not one of Dirs and that no run was started in for
	// so long is not kept ready any more.
	MaxAge time.Duration
}

const (
	defaultRecent = 2
	defaultMaxAge = 10 * time.Minute
)

// Pool is a Provider of ACP agents that keeps spares: processes that have been started, have
// answered initialize and have made a session, and wait. Each is for one run and never for
// another. A run that finds no spare is started as any other.
//
// A spare is only used if an agent that is started now would be the same: by the directory
// (which has not been removed meanwhile, and made again), this process's environment, the
// file that runs, and what the request says of depth. What else an agent reads at its start
// (settings, files of the project) is as it was then, MaxAge ago at most.
//
// The bound of spares is Spares for each of Dirs and of Recent. They are started one at a
// time. One that dies is replaced; where they die, or do not start, again and again that is
// tried less and less often, once a minute in the end. ACPOptions.Logger is told why.
//
// What an agent says and asks before it has a run is kept for that, within bounds: updates,
// permission requests and what was decided. A run and its times begin with Start all the
// same.
//
// Its methods may be called from any goroutine. Whoever made it closes it.
type Pool struct {
	acp  *acpProvider
	opts PoolOptions
	ctx  context.Context // the life of the spares
	stop context.CancelFunc
	// stopKill takes ACPOptions.Kill's hand off them.
	stopKill func() bool

	making  chan struct{}  // holds one element while a spare is being made
	room    chan struct{}  // holds one element for each spare there is
	keepers sync.WaitGroup // mu is held to add to it

	mu      sync.Mutex // guards what is below
	closed  bool
	shelves map[poolKey]*shelf
	gate    *gate // that the last start had to pass; so have spares
}

// poolKey is what of a request makes an agent another one.
type poolKey struct {
	dir    string
	levels int // MaxDepth; -1 without
}

// NewPool returns a pool of agents that NewACP would start, and begins to make spares for
// the directories it is told. An error is a *Error of kind config.
func NewPool(name string, cmd client.Command, o *ACPOptions, po *PoolOptions) (*Pool, error) {
	made, err := NewACP(name, cmd, o)
	if err != nil {
		return nil, err
	}
	p := &Pool{acp: made.(*acpProvider), shelves: map[poolKey]*shelf{}}
	if po != nil {
		p.opts = *po
	}
	if err := p.check(); err != nil {
		return nil, named(p, err)
	}
	size := p.opts.Spares * (len(p.opts.Dirs) + p.opts.Recent)
	p.making, p.room = make(chan struct{}, 1), make(chan struct{}, size)
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.stopKill = func() bool { return true }
	if kill := p.acp.opts.Kill; kill != nil {
		p.stopKill = context.AfterFunc(kill, p.stop)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, dir := range p.opts.Dirs {
		p.add(poolKey{dir, -1}, true)
	}
	return p, nil
}

// check completes the options.
func (p *Pool) check() error {
	o := &p.opts
	if o.Spares < 0 {
		return configError("Spares is negative: %d", o.Spares)
	}
	if err := client.CheckDuration("MaxAge", o.MaxAge); err != nil {
		return err
	}
	var dirs []string
	for _, dir := range o.Dirs {
		dir, err := client.AbsDir(dir)
		if err != nil {
			return err
		}
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	if own := p.acp.cmd.Dir; own != "" {
		if len(dirs) > 0 && !slices.Equal(dirs, []string{own}) {
			return configError("Dirs are beside Command.Dir, which is the directory of every run")
		}
		dirs = []string{own}
	}
	o.Dirs = dirs
	if o.Spares == 0 {
		o.Spares = 1
	}
	if o.MaxAge == 0 {
		o.MaxAge = defaultMaxAge
	}
	switch {
	case o.Recent == 0:
		o.Recent = defaultRecent
	case o.Recent < 0 && len(dirs) == 0:
		return configError("no directory to keep spares ready for: neither Dirs nor Recent")
	}
	o.Recent = max(o.Recent, 0)
	return nil
}

// Name implements Provider.
func (p *Pool) Name() string { return p.acp.Name() }

// Capabilities implements Provider.
func (p *Pool) Capabilities() []Capability { return p.acp.Capabilities() }

// Spares is how many agents are ready at the moment, and wait for a run.
func (p *Pool) Spares() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, s := range p.shelves {
		n += len(s.spares)
	}
	return n
}

// Start implements Provider: the run is a spare's where there is one for the request. A pool
// that is closed refuses.
func (p *Pool) Start(ctx context.Context, req Request) (Run, error) {
	dir, d, err := p.acp.prepare(ctx, &req)
	if err != nil {
		return nil, err
	}
	key := poolKey{dir, -1}
	if req.MaxDepth != nil {
		key.levels = *req.MaxDepth
	}
	spare, err := p.take(ctx, key, req.Transcript != nil)
	if err != nil {
		return nil, named(p, err)
	}
	if spare != nil {
		return spare.begin(ctx, req)
	}
	return p.acp.start(ctx, req, dir, d)
}

// Close ends all spares and waits for that. Runs that were handed out go on. Calling it again
// waits as well.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stopKill()
	p.stop()
	p.keepers.Wait()
}

// take returns a spare for a run, nil if there is none. Either way there are some more for
// the next run like it soon, unless that cannot come. There is none for a run that is
// recorded.
func (p *Pool) take(ctx context.Context, key poolKey, recorded bool) (*spare, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, configError("the pool is closed")
	}
	if inWorktree(ctx) {
		return nil, nil // spares know nothing of the tree, and nobody comes to it again
	}
	if recorded {
		return nil, nil // the beginning of what a spare has said is over
	}
	p.gate, _ = ctx.Value(gateKey{}).(*gate)
	s := p.shelves[key]
	if s == nil {
		if p.opts.Recent > 0 {
			p.makeRoom()
			p.add(key, false)
		}
		return nil, nil
	}
	s.used = time.Now()
	for len(s.spares) > 0 {
		spare := s.spares[0]
		s.spares = s.spares[1:]
		spare.taken = spare.fresh()
		close(spare.left)
		if spare.taken {
			return spare, nil
		}
	}
	return nil, nil
}

// makeRoom takes away the directory that was used longest ago if there are as many recent
// ones as there may be. mu is held.
func (p *Pool) makeRoom() {
	recent := 0
	var oldest *shelf
	for _, s := range p.shelves {
		if s.fixed {
			continue
		}
		if recent++; oldest == nil || s.used.Before(oldest.used) {
			oldest = s
		}
	}
	if recent >= p.opts.Recent {
		p.forget(oldest)
	}
}

// add makes a shelf and has it filled. mu is held.
func (p *Pool) add(key poolKey, fixed bool) {
	s := &shelf{key: key, fixed: fixed, used: time.Now()}
	s.ctx, s.stop = context.WithCancel(p.ctx)
	p.shelves[key] = s
	for range p.opts.Spares {
		// Ends with the shelf, at the latest with the pool, whose Close waits for it.
		p.keepers.Go(func() { p.keep(s) })
	}
}

// forget takes a shelf away. mu is held.
func (p *Pool) forget(s *shelf) {
	s.stop()
	if p.shelves[s.key] == s {
		delete(p.shelves, s.key)
	}
}
