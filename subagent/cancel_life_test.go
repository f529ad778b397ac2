//go:build unix

package subagent_test

import (
	"context"
	"sync"
)

// life is a context whose deadline passes when a test says so.
type life struct {
	context.Context
	done chan struct{}

	mu    sync.Mutex // guards what is below
	over  bool
	after []func()
}

func newLife(parent context.Context) *life { return &life{Context: parent, done: make(chan struct{})} }

func (l *life) Done() <-chan struct{} { return l.done }

func (l *life) Err() error {
	select {
	case <-l.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// AfterFunc is how its children are told, when they are told at once: of any other context
// that is not its own, package context hears by a goroutine of its own, some time later.
func (l *life) AfterFunc(f func()) (stop func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		go f()
		return func() bool { return false }
	}
	l.after = append(l.after, f)
	return func() bool { return false } // a child that has ended takes no harm
}

func (l *life) pass() {
	l.mu.Lock()
	after := l.after
	l.after = nil
	if !l.over {
		l.over = true
		close(l.done)
	}
	l.mu.Unlock()
	for _, f := range after {
		f()
	}
}
