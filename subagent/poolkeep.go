package subagent

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

// shelf holds the spares for one kind of request.
type shelf struct {
	key   poolKey
	fixed bool // it is there as long as the pool
	ctx   context.Context
	stop  context.CancelFunc // takes it away

	// Guarded by the pool's mu.
	used   time.Time // when the last run was started from it
	spares []*spare  // those that are ready, the oldest first
}

const (
	// young is how long a spare must live for its death to be no sign that the next one
	// will die as well.
	young = 10 * time.Second
	// Where spares fail one after the other, the next is made after firstBackoff, and
	// after twice as long each time, up to lastBackoff.
	firstBackoff = 250 * time.Millisecond
	lastBackoff  = time.Minute
)

// backoff is the wait after so many failures in a row.
func backoff(failures int) time.Duration {
	if failures == 0 {
		return 0
	}
	return min(firstBackoff<<min(failures-1, 16), lastBackoff)
}

// keep sees to it that one spare more is on the shelf, as long as there is the shelf. Its
// goroutine makes the spare, and if that is not taken it ends it.
func (p *Pool) keep(s *shelf) {
	for failures := 0; enter(s.ctx, p.room); {
		failed := p.keepOne(s)
		<-p.room
		if !failed {
			failures = 0
			continue
		}
		failures++
		select {
		case <-time.After(backoff(failures)):
		case <-s.ctx.Done():
		}
	}
}

// keepOne makes a spare, puts it on the shelf, and comes back when it is a run's, or is no
// more. It reports whether that was a failure.
func (p *Pool) keepOne(s *shelf) (failed bool) {
	spare, err := p.make(s)
	if err != nil {
		p.log("no spare agent", s, slog.String("error", err.Error()))
		return true
	}
	p.mu.Lock()
	s.spares = append(s.spares, spare)
	p.mu.Unlock()

	age := time.NewTimer(p.opts.MaxAge)
	defer age.Stop()
	agent := spare.run.agent
	select {
	case <-spare.left:
	case <-agent.Exited():
		failed = true
	case <-agent.Conn().Done():
		failed = true
	case <-age.C:
		p.retire(s)
	case <-s.ctx.Done():
	}
	if p.withdraw(s, spare) {
		return false
	}
	spare.discard()
	if failed {
		p.log("a spare agent has ended", s, slog.String("exit", spare.run.known.Exit.String()))
	}
	return failed && time.Since(spare.born) < young
}

// make makes a spare.
func (p *Pool) make(s *shelf) (*spare, error) {
	if !enter(s.ctx, p.making) {
		return nil, s.ctx.Err()
	}
	defer func() { <-p.making }()
	p.mu.Lock()
	ctx := context.WithValue(s.ctx, gateKey{}, p.gate)
	p.mu.Unlock()
	return p.acp.spare(ctx, s.key)
}

// withdraw takes a spare off the shelf, if it is still there, and reports whether it was
// taken by a run.
func (p *Pool) withdraw(s *shelf, of *spare) (taken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.spares = slices.DeleteFunc(s.spares, func(one *spare) bool { return one == of })
	return of.taken
}

// retire takes a shelf away that nobody has come to for the life of a spare.
func (p *Pool) retire(s *shelf) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !s.fixed && time.Since(s.used) >= p.opts.MaxAge {
		p.forget(s)
	}
}

// enter puts an element into places and reports whether there was room for it before ctx
// ended.
func enter(ctx context.Context, places chan struct{}) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case places <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *Pool) log(msg string, s *shelf, why slog.Attr) {
	if p.acp.opts.Logger != nil && s.ctx.Err() == nil {
		// A handler that panics must not end this program.
		defer func() { _ = recover() }()
		p.acp.opts.Logger.LogAttrs(context.Background(), slog.LevelDebug, msg, slog.String("dir", s.key.dir), why)
	}
}
