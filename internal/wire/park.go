package wire

import (
	"context"
	"time"
)

// parkedPerPlace is how many requests of a kind can be parked for each that
// Options.MaxRequests lets be served.
const parkedPerPlace = 2

// parked are the requests that are served and have given up their place, guarded by
// Conn.mu.
type parked struct {
	kinds map[string]int
	all   int
	bytes int64         // what they cost the queue before
	left  chan struct{} // closed when one has ended; nil where nobody waits for that
}

// Park is called by a handler before it waits for the world: a person, a command, a disk.
// Its request takes nobody's place any more, and however large it is and however long it
// takes, what the peer writes meanwhile is read. ctx is the request's, and kind what it is
// counted among; it is not empty.
//
// Where too many of that kind are parked, or too much, Park waits in its place until
// others have ended. It returns false, and the handler had better not wait, if that is
// nobody's end for as long as patience, or if ctx ends.
func Park(ctx context.Context, kind string, patience time.Duration) bool {
	r, ok := ctx.Value(requestKey{}).(*Request)
	if !ok {
		return true // it has no place
	}
	for {
		left := r.c.park(r, kind)
		if left == nil {
			return true
		}
		timer := time.NewTimer(patience)
		select {
		case <-left:
			timer.Stop()
		case <-timer.C:
			return false
		case <-ctx.Done():
			timer.Stop()
			return false
		}
	}
}

// park parks a request or, where there is no room, returns what is closed when there may
// be some.
func (c *Conn) park(r *Request, kind string) (left <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.parked
	if r.parked != "" {
		return nil
	}
	// The one that is parked first may have any size that can be read.
	most := int64(c.opts.MaxQueueBytes) + int64(c.opts.MaxMessageBytes)
	if p.kinds[kind] >= parkedPerPlace*c.opts.MaxRequests || p.all > 0 && p.bytes+r.cost > most {
		if p.left == nil {
			p.left = make(chan struct{})
		}
		return p.left
	}
	if p.kinds == nil {
		p.kinds = map[string]int{}
	}
	r.parked = kind
	p.kinds[kind]++
	p.all++
	p.bytes += r.cost
	c.leave(r)
	return nil
}

// unpark is the end of a request that was parked; with mu held.
func (c *Conn) unpark(r *Request) {
	p := &c.parked
	if p.kinds[r.parked]--; p.kinds[r.parked] == 0 {
		delete(p.kinds, r.parked)
	}
	p.all--
	p.bytes -= r.cost
	if p.left != nil {
		close(p.left)
		p.left = nil
	}
}
