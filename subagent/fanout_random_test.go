package subagent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/stopreason"
)

// moody is a provider that does, in its own time, what chance says: its starts fail or
// panic, its runs complete, fail, panic or go on until they are cancelled.
type moody struct {
	Provider
	seed                    uint64
	running, most, finished atomic.Int64
}

func newMoody(t *testing.T, name string, seed uint64) *moody {
	m := &moody{seed: seed}
	p, err := NewProvider(name, m.open)
	if err != nil {
		t.Fatal(err)
	}
	m.Provider = p
	return m
}

func (m *moody) open(ctx context.Context, req Request) (*Session, error) {
	r := rand.New(rand.NewPCG(m.seed, uint64(len(req.Prompt[0].Text.Text))))
	n := m.running.Add(1)
	m.most.Store(max(m.most.Load(), n)) // near enough: it is looked at against a bound
	mood := r.IntN(10)
	wait := time.Duration(r.Int64N(int64(time.Second))) // no two things happen at once
	if mood == 0 {
		defer m.running.Add(-1)
		panic("a bad day")
	}
	select {
	case <-time.After(wait / 10):
	case <-ctx.Done():
	}
	if mood == 1 || ctx.Err() != nil {
		m.running.Add(-1)
		return nil, errors.Join(ctx.Err(), errors.New("not today"))
	}
	return &Session{
		Turn: func(ctx context.Context, update func(acp.SessionUpdate)) (acp.StopReason, error) {
			if mood == 2 {
				<-ctx.Done()
				return acp.StopReasonCancelled, nil
			}
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return acp.StopReasonCancelled, nil
			}
			switch mood {
			case 3:
				panic("a bad turn")
			case 4:
				return "", errors.New("a bad turn")
			}
			m.finished.Add(1)
			return acp.StopReasonEndTurn, nil
		},
		Close: func(*Result) {
			m.running.Add(-1)
			if mood == 5 {
				panic("a bad end")
			}
		},
	}, nil
}

// Whenever a fan-out is cancelled, left, or has enough: each task has had one result or the
// loop was left, no limit was passed, nothing runs on, and every slot is back.
func TestFanOutsAtRandom(t *testing.T) {
	dir := t.TempDir()
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 2))
			limits, err := NewLimits(LimitOptions{Runs: 1 + r.IntN(6), PerProvider: r.IntN(4), Total: r.IntN(2) * 15, Starts: r.IntN(3)})
			if err != nil {
				t.Fatal(err)
			}
			a, b := newMoody(t, "a", seed), newMoody(t, "b", seed+1)
			var either Provider
			if either, err = Fallback("either", &FallbackOptions{Retries: r.IntN(2)}, a, limits.Provider(b)); err != nil {
				t.Fatal(err)
			}
			tasks := make([]Task, 1+r.IntN(30))
			text := ""
			for i := range tasks {
				text += "x"
				tasks[i] = Task{Provider: []Provider{a, b, limits.Provider(a)}[r.IntN(3)], Request: Request{Dir: dir, Prompt: Text(text)}}
			}
			if seed%4 == 0 {
				tasks[0].Provider = either
			}
			o := &FanOutOptions{Limit: []int{NoLimit, 0, 1, 3}[r.IntN(4)], Limits: limits, Want: r.IntN(3)}
			// A run that hangs has to be ended by somebody.
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.Int64N(int64(5*time.Second))))
			defer cancel()
			leaveAt := -1
			if r.IntN(4) == 0 {
				leaveAt = r.IntN(len(tasks))
			}
			seen := map[int]*Result{}
			for i, res := range FanOut(ctx, tasks, o) {
				if res == nil || seen[i] != nil {
					t.Fatalf("seed %d: result %d: %v after %v", seed, i, res, seen[i])
				}
				seen[i] = res
				if len(seen) == leaveAt {
					break
				}
			}
			if leaveAt <= 0 && len(seen) != len(tasks) {
				t.Errorf("seed %d: %d results of %d tasks", seed, len(seen), len(tasks))
			}
			completed := int64(0)
			for _, res := range seen {
				if res.Stop == stopreason.Completed {
					completed++
				}
			}
			if finished := a.finished.Load() + b.finished.Load(); leaveAt <= 0 && completed != finished {
				t.Errorf("seed %d: %d runs have finished, %d results say so", seed, finished, completed)
			}
			if n := a.running.Load() + b.running.Load(); n != 0 {
				t.Errorf("seed %d: %d run on", seed, n)
			}
			if err := limits.free(); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			if n := limits.opts.PerProvider; n > 0 && max(a.most.Load(), b.most.Load()) > int64(n) {
				t.Errorf("seed %d: %d and %d at once, %d may be", seed, a.most.Load(), b.most.Load(), n)
			}
		})
	}
}

// free returns an error if anybody has a slot of l, or waits for one.
func (l *Limits) free() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue.mu.Lock()
	defer l.queue.mu.Unlock()
	if n := l.queue.waiting.Len(); n > 0 {
		return fmt.Errorf("%d wait", n)
	}
	if l.runs.used > 0 {
		return fmt.Errorf("%d slots are in use", l.runs.used)
	}
	for name, p := range l.providers {
		if p.used > 0 {
			return fmt.Errorf("%d slots of %s are in use", p.used, name)
		}
	}
	for name, s := range l.starts {
		if !s.TryAcquire(int64(l.opts.Starts)) {
			return fmt.Errorf("somebody starts %s", name)
		}
		s.Release(int64(l.opts.Starts))
	}
	return nil
}
