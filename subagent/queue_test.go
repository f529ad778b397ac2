package subagent

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// served reports whether a place has its slots.
func served(p *place) bool {
	select {
	case <-p.ready:
		return true
	default:
		return false
	}
}

// Whatever comes and goes: no slot is used twice, what is in use is what is held, nobody
// waits who could be served, and of those that need the same the first is served first.
func TestQueueHolds(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		q := &queue{}
		sorts := make([]*slots, 1+r.IntN(4))
		for i := range sorts {
			sorts[i] = &slots{size: 1 + r.IntN(3)}
		}
		var places []*place // those that were not left, in the order of their coming
		check := func() {
			held := map[*slots]int{}
			for _, p := range places {
				if served(p) {
					for _, s := range p.needs {
						held[s]++
					}
				}
			}
			for i, s := range sorts {
				if s.used != held[s] || s.used > s.size {
					t.Fatalf("seed %d: sort %d of %d has %d in use, %d held", seed, i, s.size, s.used, held[s])
				}
			}
			for i, p := range places {
				if served(p) {
					continue
				}
				if !slices.ContainsFunc(p.needs, (*slots).full) {
					t.Fatalf("seed %d: one waits that could be served", seed)
				}
				for _, later := range places[i+1:] {
					if served(later) && slices.Equal(later.needs, p.needs) {
						t.Fatalf("seed %d: one was served before another that had come first", seed)
					}
				}
			}
		}
		for range 300 {
			if len(places) == 0 || r.IntN(2) == 0 {
				var need []*slots
				for _, s := range sorts {
					if r.IntN(2) == 0 {
						need = append(need, s)
					}
				}
				places = append(places, q.join(need...))
			} else {
				i := r.IntN(len(places))
				p := places[i]
				places = slices.Delete(places, i, i+1)
				p.leave()
				p.leave() // only the first counts
			}
			check()
		}
		for _, p := range places {
			p.leave()
		}
		places = nil
		check()
		if q.waiting.Len() > 0 {
			t.Fatalf("seed %d: %d still wait", seed, q.waiting.Len())
		}
	}
}

// Slots that are given while a context ends, and places that are left from several sides at
// once, are not lost.
func TestQueueRace(t *testing.T) {
	q, a, b := &queue{}, &slots{size: 2}, &slots{size: 3}
	var group sync.WaitGroup
	for i := range 400 {
		group.Go(func() {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Duration(rand.IntN(2000))*time.Microsecond, errors.New("too long"))
			defer cancel()
			p := q.join([][]*slots{{a}, {b}, {a, b}, {}}[i%4]...)
			if p.wait(ctx) == nil {
				time.Sleep(time.Duration(rand.IntN(100)) * time.Microsecond)
			}
			var leaves sync.WaitGroup
			leaves.Go(p.leave)
			leaves.Go(p.leave)
			leaves.Wait()
		})
	}
	group.Wait()
	if a.used != 0 || b.used != 0 || q.waiting.Len() != 0 {
		t.Errorf("in use: %d and %d, waiting: %d", a.used, b.used, q.waiting.Len())
	}
}

func TestQueueWait(t *testing.T) {
	q, one := &queue{}, &slots{size: 1}
	first := q.join(one)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("no more")
	cancel(cause)
	if err := q.join(one).wait(ctx); !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
		t.Errorf("in the queue: %v", err)
	}
	// Who has a slot, but no time any more, gives it back.
	if err := first.wait(ctx); !errors.Is(err, cause) {
		t.Errorf("with a slot: %v", err)
	}
	if one.used != 0 || q.waiting.Len() != 0 {
		t.Errorf("in use: %d, waiting: %d", one.used, q.waiting.Len())
	}
}
