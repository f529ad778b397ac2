package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// Call is a request of ours that the peer has not answered yet, or has.
type Call struct {
	c       *Conn
	id      int64
	method  string
	onReply func(result []byte, err error)
	frame   *outgoing
	ctx     context.Context // the caller's, to ask whether it has ended
	// from is where it was made. One that comes from a callback does not wait for its
	// turn in the order, which would be to wait for that callback.
	from place
	read chan struct{} // closed when the reply was read and its hook has run
	done chan struct{}

	// Guarded by Conn.mu:
	replying bool  // taken from Conn.calls by the reader
	begun    int64 // Conn.begun at that time
	over     bool  // done is closed
	unwanted bool  // it was lost when its context had ended

	// Set before read or done is closed:
	result []byte
	err    error
}

// Start sends a request. onSent, if not nil, is called on the writer when the first of it
// was written; onReply, if not nil, on the reader when the reply is read, before any later
// frame is looked at. Neither may block. A context that is already done sends nothing;
// otherwise ctx only says whether a callback calls, and is what [Call.Unwanted] goes by.
func (c *Conn) Start(ctx context.Context, method string, params any, onSent func(), onReply func(result []byte, err error)) (*Call, error) {
	if err := ctx.Err(); err != nil {
		return nil, &CallError{Method: method, Err: ContextError(ctx)}
	}
	raw, err := encode(params)
	if err != nil {
		return nil, &CallError{Method: method, Err: fmt.Errorf("params: %w", err)}
	}
	k := &Call{
		c: c, method: method, onReply: onReply, ctx: ctx, from: c.place(ctx),
		read: make(chan struct{}), done: make(chan struct{}),
	}
	if err := c.enlist(k, raw, onSent); err != nil {
		return nil, &CallError{Method: method, Err: err}
	}
	c.log("sent", method, k.rawID(), len(k.frame.text))
	return k, nil
}

// enlist gives the call its id and queues its frame.
func (c *Conn) enlist(k *Call, params []byte, onSent func()) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil {
		return c.ended
	}
	c.nextID++
	k.id = c.nextID
	k.frame, err = c.post(&outgoing{text: frameText(k.method, k.rawID(), params), call: k, onSent: onSent})
	if err != nil {
		return err
	}
	c.calls[k.id] = k
	if k.from != outside {
		c.direct[k] = struct{}{}
		c.room.Broadcast()
		c.beginUpcoming()
	}
	return nil
}

func (k *Call) rawID() []byte { return strconv.AppendInt(nil, k.id, 10) }

// Call sends a request and waits for the reply, whose raw result it returns. onReply is
// as for Start. If ctx ends first the frame is taken back or, where it has been
// written, the request is withdrawn with $/cancel_request; the error is then a
// *CallError that wraps the error of ctx and its cause.
func (c *Conn) Call(ctx context.Context, method string, params any, onReply func(result []byte, err error)) ([]byte, error) {
	k, err := c.Start(ctx, method, params, nil, onReply)
	if err != nil {
		return nil, err
	}
	select {
	case <-k.done:
	case <-ctx.Done():
		if k.Abandon(ContextError(ctx)) {
			c.Post(cancelMethod, json.RawMessage(fmt.Sprintf(`{"requestId":%d}`, k.id)))
		}
	}
	return k.Reply()
}

// Done is closed when the call has its reply, in its turn, or has failed.
func (k *Call) Done() <-chan struct{} { return k.done }

// Replied is closed when the reply has been read, though its turn may not have come.
func (k *Call) Replied() <-chan struct{} { return k.read }

// Reply returns what the call ended with; only after Done or Abandon.
func (k *Call) Reply() (result []byte, err error) { return k.result, k.err }

// Answered reports whether the reply has been read, though its hook may not have run,
// or the call has failed: there is nothing left to be cancelled.
func (k *Call) Answered() bool {
	k.c.mu.Lock()
	defer k.c.mu.Unlock()
	return k.replying || k.over
}

// Unwanted reports whether the peer was lost after the context of the call had ended. Who
// waits for both may learn of them in either order.
func (k *Call) Unwanted() bool {
	k.c.mu.Lock()
	defer k.c.mu.Unlock()
	return k.unwanted
}

// Withdraw ends the call with a *CallError that wraps err if nothing of its frame has
// been written, and reports whether it did.
func (k *Call) Withdraw(err error) bool {
	c := k.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.replying || k.over || !c.takeBack(k.frame) {
		return false
	}
	c.fail(k, err)
	return true
}

// Abandon ends the call, with its reply if that has been read, else with a *CallError
// that wraps err. It reports whether the peer may still be at work on it.
func (k *Call) Abandon(err error) bool {
	c := k.c
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case k.over:
		return false
	case k.replying:
		// The hook does not block.
		c.mu.Unlock()
		<-k.read
		c.mu.Lock()
		c.deliver(k)
		return false
	}
	sent := !c.takeBack(k.frame)
	c.fail(k, err)
	if sent && len(c.abandoned) < maxAbandoned {
		c.abandoned[k.id] = struct{}{}
	}
	return sent
}

// maxAbandoned bounds for how many calls a late reply is known as one.
const maxAbandoned = 4096

// deliver lets the caller go on; with mu held.
func (c *Conn) deliver(k *Call) {
	delete(c.undelivered, k)
	if !k.over {
		k.over = true
		close(k.done)
	}
}

// fail ends a call that has no reply; with mu held.
func (c *Conn) fail(k *Call, err error) {
	if k.replying || k.over {
		return
	}
	delete(c.calls, k.id)
	delete(c.direct, k)
	k.err = &CallError{Method: k.method, Sent: k.frame.begun, Err: err}
	c.deliver(k)
}

// lose is fail for a call that nobody gave up; with mu held.
func (c *Conn) lose(k *Call, err error) {
	if k.replying || k.over {
		return
	}
	k.unwanted = k.ctx.Err() != nil
	c.fail(k, err)
}

// failCalls ends all calls that have no reply; with mu held.
func (c *Conn) failCalls(err error) {
	for _, k := range c.calls {
		c.lose(k, err)
	}
}

// ContextError returns the error of a context that has ended, and its cause.
func ContextError(ctx context.Context) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); cause != nil && cause != err {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// encode returns params as JSON on one line, nil for none. A RawMessage is taken as
// it is.
func encode(params any) ([]byte, error) {
	switch params := params.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		s := NewScan(params)
		if s.Skip() == nil || !s.End() {
			return nil, errors.New("not JSON")
		}
		// A line break would end the frame.
		if bytes.ContainsAny(params, "\r\n") {
			var b bytes.Buffer
			err := json.Compact(&b, params)
			return b.Bytes(), err
		}
		return params, nil
	}
	return json.Marshal(params)
}

// frameText returns the line of a request, or of a notification if id is nil.
func frameText(method string, id, params []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(method) + len(params) + 64)
	b.WriteString(`{"jsonrpc":` + version)
	if id != nil {
		b.WriteString(`,"id":`)
		b.Write(id)
	}
	b.WriteString(`,"method":`)
	name, _ := json.Marshal(method)
	b.Write(name)
	if params != nil {
		b.WriteString(`,"params":`)
		b.Write(params)
	}
	b.WriteString("}\n")
	return b.Bytes()
}
