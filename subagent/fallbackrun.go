package subagent

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// fallbackRun is the run that a fallback came to, or a try of one. Its events are kept until
// it is known which.
type fallbackRun struct {
	Run      // of the provider that took it; not changed after open
	provider string
	attempts []Attempt // like Run

	settled, closed sync.Once
	outcome, final  *Result // set by them

	full chan struct{} // closed when no more can be kept

	mu     sync.Mutex // held while to runs: one event at a time; guards what is below
	to     func(Event)
	kept   []Event
	bytes  int
	over   bool // full is closed
	opened bool

	panicked atomic.Pointer[EventType] // at which event to has panicked first
}

func newFallbackRun(provider string, to func(Event)) *fallbackRun {
	return &fallbackRun{provider: provider, to: to, full: make(chan struct{})}
}

// event takes an event of the provider's run.
func (r *fallbackRun) event(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.opened {
		r.call(e)
		return
	}
	r.kept = append(r.kept, e)
	if r.bytes += e.size(); r.bytes > keepEarly && !r.over {
		r.over = true
		close(r.full)
	}
}

// open says that this is the run, and tells what was kept. Run and attempts are set.
func (r *fallbackRun) open() {
	left := true
	defer func() {
		if left {
			// The listener has ended the goroutine that starts the run: nobody gets it, and
			// so nobody will close it.
			r.Close()
		}
	}()
	r.tell()
	left = false
}

func (r *fallbackRun) tell() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opened = true
	for _, e := range r.kept {
		r.call(e)
	}
	r.kept = nil
}

// drop says that this came to nothing.
func (r *fallbackRun) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opened, r.kept, r.to = true, nil, func(Event) {}
}

// call tells of e, as one of this run. mu is held.
func (r *fallbackRun) call(e Event) {
	if e.Start != nil {
		start := *e.Start
		start.Provider = r.provider
		e.Start = &start
	}
	if e.Result != nil {
		e.Result = r.settle(e.Result)
	}
	defer func() {
		if recover() != nil {
			r.panicked.CompareAndSwap(nil, &e.Type)
		}
	}()
	r.to(e)
}

func (r *fallbackRun) unwrap() Run { return r.Run }

func (r *fallbackRun) tried() []Attempt { return r.attempts }

func (r *fallbackRun) Wait(ctx context.Context) (*Result, error) {
	res, err := r.Run.Wait(ctx)
	if err != nil {
		return nil, err
	}
	return r.settle(res), nil
}

func (r *fallbackRun) Close() *Result {
	res := r.Run.Close()
	r.closed.Do(func() {
		r.final = r.own(res)
		if at := r.panicked.Load(); at != nil {
			r.final.Warnings = append(slices.Clone(r.final.Warnings), "Request.Events panicked at a "+string(*at)+" event")
		}
	})
	return r.final
}

// settle makes the outcome of the provider's run that of this one.
func (r *fallbackRun) settle(res *Result) *Result {
	r.settled.Do(func() { r.outcome = r.own(res) })
	return r.outcome
}

// own returns the result of the provider's run as one of this run.
func (r *fallbackRun) own(res *Result) *Result {
	own := *res
	own.Provider, own.Attempts = r.provider, r.attempts
	return &own
}
