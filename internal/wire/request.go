package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
)

// Request is a request of the peer.
type Request struct {
	Method string
	// Params are raw JSON, nil where there are none.
	Params []byte
	// Unread says why the params are not there, though the request may have some: a
	// *TooLargeError or *TooComplexError. Nil where they are.
	Unread error
	// State is the handler's own: what Receive leaves there for Serve.
	State any

	c      *Conn
	id     []byte
	key    string
	ctx    context.Context
	cancel context.CancelCauseFunc
	// answer is closed when the answer has been queued.
	answer chan struct{}

	cost int64 // on the queue's account until it is served

	// Guarded by Conn.mu:
	begun  bool      // its turn has come
	waits  bool      // is one of Conn.waiting
	parked string    // the kind it is parked as; empty while it is not
	frame  *outgoing // the answer; nil before
}

// Context ends when the peer withdraws the request or goes, and once it has been
// answered.
func (r *Request) Context() context.Context { return r.ctx }

// errWithdrawn is the cause of a context whose request was withdrawn.
var errWithdrawn = errors.New("the request was withdrawn by the peer")

// receive takes a request on the reader.
func (c *Conn) receive(f *frame, method string, size int, unread error) {
	r := &Request{
		Method: method, Params: slices.Clone(f.params), Unread: unread,
		c: c, id: slices.Clone(f.id), key: idKey(f.id), answer: make(chan struct{}),
	}
	r.ctx, r.cancel = context.WithCancelCause(context.WithValue(c.reqCtx, requestKey{}, r))
	c.mu.Lock()
	c.requests[r.key] = r
	c.open++
	c.mu.Unlock()
	c.hand() // what Receive defers comes after what was read before
	// Whatever Receive does, there is an answer.
	defer func() {
		r.cost = c.push(r, size)
		c.mu.Lock()
		c.upcoming = append(c.upcoming, r)
		c.beginUpcoming()
		c.mu.Unlock()
	}()
	c.h.Receive(r)
}

// withdrawn takes $/cancel_request, at once.
func (c *Conn) withdrawn(params []byte) {
	s := NewScan(params)
	s.Object()
	for name, ok := s.Key(); ok; name, ok = s.Key() {
		value := s.Skip()
		if string(name) != "requestId" || value == nil {
			continue
		}
		c.mu.Lock()
		r := c.requests[idKey(value)]
		c.mu.Unlock()
		if r != nil {
			r.cancel(errWithdrawn)
		}
	}
}

// start is the turn of a request in the order.
func (c *Conn) start(r *Request) {
	c.mu.Lock()
	c.begin(r)
	c.mu.Unlock()
}

// beginUpcoming has requests served before their turn while Handler.Run waits for the
// reply to a call of its own: the peer may need them answered before it replies; with mu
// held.
func (c *Conn) beginUpcoming() {
	for k := range c.direct {
		if k.from == inRun {
			for len(c.upcoming) > 0 {
				c.begin(c.upcoming[0])
			}
			return
		}
	}
}

// begin serves a request or has it wait for others to end; with mu held.
func (c *Conn) begin(r *Request) {
	if r.begun {
		return
	}
	r.begun = true
	// They begin in the order in which they came: it is the first.
	c.upcoming[0] = nil
	if c.upcoming = c.upcoming[1:]; len(c.upcoming) == 0 {
		c.upcoming = nil
	}
	if r.frame != nil {
		c.releaseLocked(r.cost)
		return
	}
	r.waits = true
	c.waiting = append(c.waiting, r)
	c.startWaiting()
}

// startWaiting begins to serve what waits, in order, as far as the bounds have it; with
// mu held. One request is served whatever its size.
func (c *Conn) startWaiting() {
	for len(c.waiting) > 0 {
		r := c.waiting[0]
		if r.waits {
			if c.serving == c.opts.MaxRequests || c.serving > 0 && c.servingBytes+r.cost > int64(c.opts.MaxQueueBytes) {
				return
			}
			r.waits = false
			c.serving++
			c.servingBytes += r.cost
			// The server of a request: owned by the Conn, ends when the answer has been
			// written or cannot be.
			go c.serve(r)
		}
		c.waiting[0] = nil
		c.waiting = c.waiting[1:]
	}
	c.waiting = nil
}

func (c *Conn) serve(r *Request) {
	// Deferred: a handler that ended its goroutine must not leave the others waiting.
	defer func() {
		c.mu.Lock()
		if r.parked != "" {
			c.unpark(r)
		} else {
			c.leave(r)
		}
		c.mu.Unlock()
	}()
	c.release(r.cost)
	if !r.answered() {
		c.ask(r)
	}
	<-r.answer
	<-r.frame.done
}

// leave gives the place of a request that is served to another; with mu held.
func (c *Conn) leave(r *Request) {
	c.serving--
	c.servingBytes -= r.cost
	c.startWaiting()
}

// ask lets the handler answer. Whatever it does, there is an answer.
func (c *Conn) ask(r *Request) {
	text := answerText(r.id, nil, errInternal)
	defer func() { r.queue(text) }()
	left := any(goexit)
	defer func() {
		if v := recover(); v != nil {
			left = v
		}
		c.panicked(left)
	}()
	result, err := c.h.Serve(r)
	text = answerText(r.id, result, err)
	left = nil
}

func (r *Request) answered() bool {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	return r.frame != nil
}

// Answer queues the answer, behind the frames queued so far, and returns at once. Only
// the first one counts. An *Error is sent as it is; any other error, and a result that
// cannot be encoded, as a fixed text.
func (r *Request) Answer(result any, err error) { r.queue(answerText(r.id, result, err)) }

func (r *Request) queue(text []byte) {
	c := r.c
	c.mu.Lock()
	if r.frame != nil {
		c.mu.Unlock()
		return
	}
	// Where it cannot be written there is nobody to tell.
	r.frame, _ = c.post(&outgoing{text: text, cost: int64(len(text)) + itemCost})
	if c.requests[r.key] == r {
		delete(c.requests, r.key)
	}
	c.open--
	var freed int64
	if r.waits {
		// Nobody will look at it, which may be long before its turn comes.
		r.waits, freed, r.Params, r.State = false, r.cost, nil, nil
	}
	c.mu.Unlock()
	c.release(freed)
	close(r.answer)
	r.cancel(nil)
	c.log("answered", r.Method, r.id, len(text))
}

// answerAtOnce answers what is no request but came with an id.
func (c *Conn) answerAtOnce(id []byte, method string, err error) {
	text := answerText(id, nil, err)
	c.mu.Lock()
	c.post(&outgoing{text: text, cost: int64(len(text)) + itemCost})
	c.mu.Unlock()
	c.log("answered", method, id, len(text))
}

func answerText(id []byte, result any, err error) []byte {
	var e *Error
	var value []byte
	if err != nil && !errors.As(err, &e) {
		e = errInternal
	}
	if e == nil {
		var failed error
		if value, failed = json.Marshal(result); failed != nil {
			e = errInternal
		}
	}
	var b bytes.Buffer
	b.WriteString(`{"jsonrpc":` + version + `,"id":`)
	b.Write(id)
	if e == nil {
		b.WriteString(`,"result":`)
		b.Write(value)
	} else {
		value, _ = json.Marshal(struct {
			Code    int             `json:"code"`
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data,omitempty"`
		}{e.Code, e.Message, e.Data})
		b.WriteString(`,"error":`)
		b.Write(value)
	}
	b.WriteString("}\n")
	return b.Bytes()
}
