package subagent

import (
	"iter"
	"slices"
	"sync"

	"github.com/errand-acp/errand/client"
)

const (
	// keepUnread is how much is kept for a reader that may still come, in bytes.
	keepUnread = 8 << 20
	// holdBack is where a reader that has come but is slow begins to slow the agent.
	// It is small, because the connection has a bounded queue of its own behind it.
	holdBack = 1 << 20
)

// updateQueue carries a run's updates to the reader of Run.Updates. Its zero value
// is ready to use.
type updateQueue struct {
	mu       sync.Mutex // guards everything below
	changed  sync.Cond  // on mu: told of every change
	session  *string    // whose updates are carried; nil: it is not known yet
	items    []client.Update
	bytes    int
	attached bool // a reader has come: hold the agent back rather than drop
	released bool // the turn is being ended: hold nobody back
	discard  bool // no reader will come any more
	closed   bool
}

func newUpdateQueue() *updateQueue {
	q := &updateQueue{}
	q.changed.L = &q.mu
	return q
}

// push adds u, which must not be changed any more. While a reader is attached and
// slow it waits; without a reader the oldest updates make room.
func (q *updateQueue) push(u client.Update) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.attached && q.bytes >= holdBack && !q.released && !q.discard && !q.closed {
		q.changed.Wait()
	}
	if q.discard || q.closed || q.session != nil && string(u.SessionID) != *q.session {
		return
	}
	q.items = append(q.items, u)
	q.bytes += updateSize(&u)
	for !q.attached && q.bytes > keepUnread && len(q.items) > 1 {
		q.bytes -= updateSize(&q.items[0])
		q.items[0] = client.Update{}
		q.items = q.items[1:]
	}
	q.changed.Broadcast()
}

// updateSize is what u is counted with: the frame's bytes and what a decoded update
// takes beside them, so that a flood of tiny ones is bounded too.
func updateSize(u *client.Update) int { return len(u.Raw) + 256 }

// set changes the queue's state by f and wakes who waits on it.
func (q *updateQueue) set(f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	f()
	q.changed.Broadcast()
}

// only says whose updates are carried. Those of others that are in the queue go.
func (q *updateQueue) only(session string) {
	q.set(func() {
		q.session = &session
		q.items = slices.DeleteFunc(q.items, func(u client.Update) bool {
			foreign := string(u.SessionID) != session
			if foreign {
				q.bytes -= updateSize(&u)
			}
			return foreign
		})
	})
}

// release lets push wait no longer: the turn is being ended, and what comes from
// now on must not depend on a reader.
func (q *updateQueue) release() { q.set(func() { q.released = true }) }

// drop says that no reader will come.
func (q *updateQueue) drop() {
	q.set(func() { q.discard, q.items, q.bytes = true, nil, 0 })
}

// close ends the queue. A reader still gets what is in it.
func (q *updateQueue) close() { q.set(func() { q.closed = true }) }

// all yields what is pushed until the queue is closed and empty.
func (q *updateQueue) all() iter.Seq[client.Update] {
	return func(yield func(client.Update) bool) {
		left := true // by a break, a panic or the end of its goroutine
		defer func() {
			if left {
				q.drop()
			}
		}()
		for {
			batch := q.take()
			if batch == nil {
				left = false
				return
			}
			for _, u := range batch {
				if !yield(u) {
					return
				}
			}
		}
	}
}

// take waits for updates and returns all there are; nil means the end.
func (q *updateQueue) take() []client.Update {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.attached = true
	for len(q.items) == 0 && !q.closed && !q.discard {
		q.changed.Wait()
	}
	batch := q.items
	q.items, q.bytes = nil, 0
	q.changed.Broadcast()
	if len(batch) == 0 {
		return nil
	}
	return batch
}
