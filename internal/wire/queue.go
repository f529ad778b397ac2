package wire

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// item is one thing to be done in wire order: a *Call to be delivered, a *Request to
// be started, an endOfStream, or something for Handler.Run.
type item struct {
	what any
	cost int64
}

// endOfStream is what the stream ended with.
type endOfStream struct{ cause error }

// itemCost is what an item costs beyond the bytes of its frame, roughly.
const itemCost = 128

// push adds an item on the reader and returns its cost. It is handed over with others,
// before the reader may block.
func (c *Conn) push(what any, size int) (cost int64) {
	cost = int64(size) + itemCost
	c.batch = append(c.batch, item{what, cost})
	c.batchBytes += cost
	return cost
}

// flush hands over what the reader has and waits as long as too much is queued.
func (c *Conn) flush() {
	c.hand()
	if c.queued.Load() > int64(c.opts.MaxQueueBytes) {
		c.hold()
	}
}

// relieve is flush within a line, where very many small frames take far more than
// their bytes.
func (c *Conn) relieve() {
	if c.queued.Load()+c.batchBytes > int64(c.opts.MaxQueueBytes) {
		c.flush()
	}
}

// hand gives the reader's items to the dispatcher.
func (c *Conn) hand() {
	if len(c.batch) == 0 {
		return
	}
	c.queued.Add(c.batchBytes)
	c.mu.Lock()
	c.queue = append(c.queue, c.batch...)
	c.startDispatcher()
	c.mu.Unlock()
	clear(c.batch)
	c.batch, c.batchBytes = keep(c.batch), 0
}

// Defer gives v to Handler.Run, after what was handed over before. It may be called
// from any goroutine.
func (c *Conn) Defer(v any) {
	c.queued.Add(itemCost)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, item{v, itemCost})
	c.startDispatcher()
}

// maxKept is how many items a slice may have room for and still be kept by an idle
// connection: about as many as the frames in what is read at once from a peer that writes
// fast, so that a flood is passed on without allocating for it.
const maxKept = 1024

// keep returns a slice of cleared items for use again, or nil if it is too long for that.
func keep(items []item) []item {
	if cap(items) > maxKept {
		return nil
	}
	return items[:0]
}

// hold is the back pressure: the reader waits until half of the queue is done. While a
// callback waits for a reply, or the bound is lifted, it reads on within a larger one.
func (c *Conn) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held.Store(true)
	defer c.held.Store(false)
	low := int64(c.opts.MaxQueueBytes) / 2
	high := int64(c.opts.MaxQueueBytes) + int64(c.opts.MaxMessageBytes)
	for {
		queued := c.queued.Load()
		switch {
		case queued <= low || c.unbound || c.shut.Load():
			return
		case queued <= high && (c.lifted > 0 || len(c.direct) > 0):
			return
		}
		for k := range c.direct {
			c.fail(k, ErrBacklog)
		}
		c.room.Wait()
	}
}

// release takes cost off the queue.
func (c *Conn) release(cost int64) {
	if left := c.queued.Add(-cost); c.belowBound(left) {
		c.mu.Lock()
		c.room.Broadcast()
		c.mu.Unlock()
	}
}

// releaseLocked is release with mu held.
func (c *Conn) releaseLocked(cost int64) {
	if left := c.queued.Add(-cost); c.belowBound(left) {
		c.room.Broadcast()
	}
}

// belowBound reports whether the reader waits and need not, with so much in the queue.
func (c *Conn) belowBound(left int64) bool {
	return c.held.Load() && left <= int64(c.opts.MaxQueueBytes)/2
}

// startDispatcher is called with mu held.
func (c *Conn) startDispatcher() {
	if !c.dispatching {
		c.dispatching = true
		// The dispatcher: owned by the Conn, ends when the queue is empty.
		go c.dispatch()
	}
}

// dispatch does what is queued, in order.
func (c *Conn) dispatch() {
	var items []item
	// A callback that ends its goroutine must not take the queue with it.
	left := func() {
		if len(items) > 0 {
			c.panicked(goexit)
			c.mu.Lock()
			c.queue = append(items[1:], c.queue...)
			c.dispatching = false
			c.startDispatcher()
			c.mu.Unlock()
			c.release(items[0].cost)
		}
	}
	defer left()
	for {
		c.mu.Lock()
		if len(c.queue) == 0 {
			c.dispatching = false
			c.queue, c.spare = keep(c.queue), nil
			c.mu.Unlock()
			return
		}
		taken := c.queue
		c.queue, c.spare = c.spare[:0], nil
		c.mu.Unlock()
		for items = taken; len(items) > 0; items = items[1:] {
			c.do(items[0])
			items[0].what = nil
		}
		c.mu.Lock()
		c.spare = taken
		c.mu.Unlock()
	}
}

func (c *Conn) do(it item) {
	switch what := it.what.(type) {
	case *Call:
		c.mu.Lock()
		c.deliver(what)
		c.mu.Unlock()
	case *Request:
		// A request is on the queue's account until it is handled.
		c.start(what)
		return
	case endOfStream:
		c.mu.Lock()
		c.failCalls(what.cause)
		c.mu.Unlock()
		c.cancel(what.cause)
	default:
		c.run(what)
	}
	c.release(it.cost)
}

func (c *Conn) run(deferred any) {
	defer c.Contain()
	c.h.Run(c.ctx, deferred)
}

// goexit stands for what was panicked with where user code called runtime.Goexit.
const goexit = "runtime.Goexit was called"

// Contain is deferred around user code: a panic in it is counted and reported.
func (c *Conn) Contain() { c.panicked(recover()) }

// panicked takes what was recovered and reports whether it was a panic.
func (c *Conn) panicked(v any) bool {
	if v == nil {
		return false
	}
	c.count(&c.stats.Panics)
	if c.opts.Logger != nil {
		defer c.hush()
		c.opts.Logger.LogAttrs(c.ctx, slog.LevelError, "panic",
			slog.String("panic", c.excerpt([]byte(fmt.Sprint(v)))), slog.String("stack", string(debug.Stack())))
	}
	return true
}

// hush is Contain around what a panic would be told with.
func (c *Conn) hush() {
	if recover() != nil {
		c.count(&c.stats.Panics)
	}
}
