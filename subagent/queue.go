package subagent

import (
	"container/list"
	"context"
	"sync"
)

// slots are those of one sort: of a provider, say. Guarded by the queue's mu.
type slots struct{ size, used int }

func (s *slots) full() bool { return s.used >= s.size }

// queue hands out slots, to each run one of every sort that it needs, all at once: who
// waits for one of them holds none of the others. First come, first served among those
// that need the same; who has to wait for its provider is passed by the others. Nothing is
// kept free for anybody: who needs two slots that are never free at the same moment is passed
// by those that need only one of them.
//
// It holds that nobody waits who could be served.
type queue struct {
	mu      sync.Mutex // guards what is below, and the slots and places; held for moments only
	waiting list.List  // of *place
}

// place is that of one run: in the queue, then with its slots, then nowhere.
type place struct {
	queue *queue
	needs []*slots      // one of each
	waits *list.Element // in queue.waiting; nil where it does not wait
	ready chan struct{} // closed when it has its slots
	left  bool
}

// join takes the next place in the queue, for a slot of each of needs. Whoever has a place
// leaves it.
func (q *queue) join(needs ...*slots) *place {
	p := &place{queue: q, needs: needs, ready: make(chan struct{})}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !p.take() {
		p.waits = q.waiting.PushBack(p)
	}
	return p
}

// take takes the slots, if all of them are free. queue.mu is held.
func (p *place) take() bool {
	for _, s := range p.needs {
		if s.full() {
			return false
		}
	}
	for _, s := range p.needs {
		s.used++
	}
	close(p.ready)
	return true
}

// wait waits for the slots. Where ctx ends first the place is left, and the error is ctx's.
func (p *place) wait(ctx context.Context) error {
	select {
	case <-p.ready:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		p.leave()
		return contextError(ctx)
	}
	return nil
}

// leave gives the slots back, or the place in the queue up. Only the first call does
// anything.
func (p *place) leave() {
	q := p.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if p.left {
		return
	}
	p.left = true
	if p.waits != nil {
		q.waiting.Remove(p.waits)
		return
	}
	for _, s := range p.needs {
		s.used--
	}
	q.serve(p.needs)
}

// serve hands on the slots that have come free among freed. queue.mu is held.
func (q *queue) serve(freed []*slots) {
	room := func() bool {
		for _, s := range freed {
			if !s.full() {
				return true
			}
		}
		return false
	}
	for e := q.waiting.Front(); e != nil && room(); {
		p, next := e.Value.(*place), e.Next()
		if p.take() {
			q.waiting.Remove(e)
			p.waits = nil
		}
		e = next
	}
}
