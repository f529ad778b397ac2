package wire

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

// outgoing is a frame on its way to the peer.
type outgoing struct {
	text []byte
	call *Call // whose request it is, or nil
	// onSent, if not nil, is called when the first bytes were written.
	onSent func()
	cost   int64 // on the queue's account until it is done
	done   chan struct{}

	// Guarded by Conn.mu; err is set before done is closed.
	begun bool  // something of it was written, or may be yet
	seq   int64 // of the frames that were begun
	err   error
}

// writeGrace is how long a call whose frame could not be written waits for a reply
// all the same: the peer may have answered and closed its input before it had read
// everything, and its reply may still be on the way.
const writeGrace = 500 * time.Millisecond

// post queues a frame; with mu held.
func (c *Conn) post(o *outgoing) (*outgoing, error) {
	o.done = make(chan struct{})
	if c.writeErr != nil {
		o.err = c.writeErr
		close(o.done)
		return o, o.err
	}
	c.out = append(c.out, o)
	c.queued.Add(o.cost)
	if !c.writing {
		c.writing = true
		// The writer: owned by the Conn, ends when no frame is left or the
		// connection is broken.
		go c.write()
	}
	return o, nil
}

// takeBack removes a frame of which nothing has been written; with mu held.
func (c *Conn) takeBack(o *outgoing) bool {
	i := slices.Index(c.out, o)
	if i < 0 {
		return false
	}
	c.out = slices.Delete(c.out, i, i+1)
	c.written(o, context.Canceled)
	return true
}

// written says that a frame is done with; with mu held.
func (c *Conn) written(o *outgoing, err error) {
	o.err = err
	close(o.done)
	c.releaseLocked(o.cost)
}

// write writes the queued frames, each as a whole.
func (c *Conn) write() {
	for {
		c.mu.Lock()
		if len(c.out) == 0 {
			c.writing, c.out = false, nil
			c.mu.Unlock()
			return
		}
		o := c.out[0]
		c.out[0] = nil
		c.out = c.out[1:]
		c.begun++
		o.begun, o.seq = true, c.begun
		c.mu.Unlock()

		n, err := c.send(o)

		c.mu.Lock()
		if err != nil {
			o.begun = n > 0
			err = &WriteError{Cause: err}
			c.breakWriting(err)
			if k := o.call; k != nil {
				time.AfterFunc(writeGrace, func() {
					c.mu.Lock()
					c.lose(k, err)
					c.mu.Unlock()
				})
			}
		} else {
			c.sent.Add(1)
		}
		c.written(o, err)
		c.mu.Unlock()
	}
}

// beginning is how much of a frame is written apart, in bytes, where it is to be told that
// something was: a peer that reads slowly takes the rest when it likes.
const beginning = 4 << 10

// send writes a frame and returns how much of it was.
func (c *Conn) send(o *outgoing) (n int, err error) {
	if o.onSent == nil {
		return c.sendAll(o.text)
	}
	head := min(beginning, len(o.text))
	n, err = c.sendAll(o.text[:head])
	if n > 0 {
		o.onSent()
	}
	if err == nil && head < len(o.text) {
		var rest int
		rest, err = c.sendAll(o.text[head:])
		n += rest
	}
	return n, err
}

func (c *Conn) sendAll(text []byte) (n int, err error) {
	n, err = c.w.Write(text)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	return n, err
}

// breakWriting ends all frames that have not been begun, and the calls they belong to;
// with mu held.
func (c *Conn) breakWriting(err error) {
	if c.writeErr == nil {
		c.writeErr = err
	}
	out := c.out
	c.out = nil
	for _, o := range out {
		c.written(o, err)
		if o.call != nil {
			c.lose(o.call, err)
		}
	}
}

// Posted is a notification on its way.
type Posted struct {
	c      *Conn
	method string
	frame  *outgoing
	err    error
}

// Post queues a notification behind the frames queued so far and returns at once.
func (c *Conn) Post(method string, params any) *Posted {
	p := &Posted{c: c, method: method}
	raw, err := encode(params)
	if err != nil {
		p.err = fmt.Errorf("params: %w", err)
		return p
	}
	text := frameText(method, nil, raw)
	c.mu.Lock()
	p.frame, p.err = c.post(&outgoing{text: text})
	c.mu.Unlock()
	c.log("sent", method, nil, len(text))
	return p
}

// After reports whether the reply to k was read before anything of the notification was
// written.
func (p *Posted) After(k *Call) bool {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	return k.replying && !(p.frame != nil && p.frame.begun && p.frame.seq <= k.begun)
}

// Wait waits until the notification is written, cannot be, or ctx ends. In the last
// case it is written all the same once the peer reads on.
func (p *Posted) Wait(ctx context.Context) error {
	return p.wait(ctx, false)
}

// Notify sends a notification and waits until it is written. If ctx ends before any
// of it was, it is taken back; what has been begun is finished all the same.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	if ctx.Err() != nil {
		return &CallError{Method: method, Err: ContextError(ctx)}
	}
	p := c.Post(method, params)
	return p.wait(ctx, true)
}

func (p *Posted) wait(ctx context.Context, takeBack bool) error {
	if p.err != nil {
		return &CallError{Method: p.method, Err: p.err}
	}
	select {
	case <-p.frame.done:
		if p.frame.err != nil {
			return &CallError{Method: p.method, Sent: p.frame.begun, Err: p.frame.err}
		}
		return nil
	case <-ctx.Done():
		p.c.mu.Lock()
		defer p.c.mu.Unlock()
		if takeBack {
			p.c.takeBack(p.frame)
		}
		return &CallError{Method: p.method, Sent: p.frame.begun, Err: ContextError(ctx)}
	}
}
