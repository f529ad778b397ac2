package wire

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Options of a [Conn]. The zero value of each field is its default.
type Options struct {
	// MaxMessageBytes bounds one line of the peer; 0 means 64 MiB. Longer ones are
	// dropped without being kept: a notification is counted, a reply fails its call,
	// a request is answered.
	MaxMessageBytes int
	// MaxQueueBytes bounds what has been read and waits for a callback; 0 means
	// 8 MiB. Beyond it the reader waits, and so in the end does the peer.
	MaxQueueBytes int
	// MaxRequests bounds how many requests of the peer are handled at once; 0 means
	// 64. The others wait in the queue. MaxQueueBytes bounds what those are in bytes.
	// Twice as many of each kind can be parked beside them, see Park.
	MaxRequests int
	// Logger gets one record a frame (direction, method, id, bytes; never its
	// content) at level Debug, and panics at level Error. Nil is silent.
	Logger *slog.Logger
	// Redact is applied to noise before it is cut and kept, and to the methods and
	// ids of the peer and what was panicked with before the Logger gets them. Nil
	// keeps them as they are.
	Redact func(string) string
}

// DefaultMaxMessageBytes is Options.MaxMessageBytes where it is 0.
const DefaultMaxMessageBytes = 64 << 20

// DefaultMaxRequests is Options.MaxRequests where it is 0.
const DefaultMaxRequests = 64

// Class is how frames with a method are treated.
type Class int

const (
	// ClassUnknown is a method the handler knows nothing of. Requests still reach
	// Serve; without a jsonrpc member the frame is noise.
	ClassUnknown Class = iota
	// ClassRequest is a request that the handler serves.
	ClassRequest
	// ClassNotification is a notification of the peer, even with an id (which is
	// then answered null).
	ClassNotification
	// ClassPeer is a request that only the peer serves: from it, one is an echo.
	ClassPeer
)

// Handler is what a [Conn] tells of the peer's frames. Classify, Parse, Notification and
// Receive run on the reader, in wire order, and must not block; Run and Serve run off it
// and may.
type Handler interface {
	Classify(method string) Class
	// Parse is offered the params of what looks like a notification, at the cursor,
	// while it is not known yet whether the frame is whole. It passes them and returns
	// what Notification needs; or nil, and they are passed over.
	Parse(method string, s *Scan) any
	// Notification is called with each notification. params are raw JSON, nil where
	// there are none, and valid during the call only; parsed is what Parse returned.
	// What is returned is given to Run later; nil is not.
	Notification(method string, params []byte, parsed any) any
	// Run is called with what Notification returned and Defer was given, one after the
	// other.
	Run(ctx context.Context, deferred any)
	// Receive is called with each request as it is read; it may answer it already.
	Receive(r *Request)
	// Serve is called with each request that has not been answered, concurrently,
	// and its results are the answer.
	Serve(r *Request) (result any, err error)
}

// Conn is one side of a JSON-RPC connection. Its methods may be called from any
// goroutine.
type Conn struct {
	opts  Options
	h     Handler
	w     io.Writer
	lines lines
	// ctx is what callbacks get; reqCtx, its child, what handlers of requests get.
	ctx, reqCtx       context.Context
	cancel, cancelReq context.CancelCauseFunc
	done              chan struct{}

	// The reader's own.
	batch      []item
	batchBytes int64
	method     string // the last one, to spare its allocation
	scan       Scan   // likewise

	frames, sent atomic.Int64
	// queued is how many bytes were read and wait for a callback, a handler or the
	// writing of an answer. held is true while the reader waits for it to shrink.
	queued atomic.Int64
	held   atomic.Bool
	shut   atomic.Bool // set by Shut

	// mu guards everything below, and the fields of Call, Request and outgoing that
	// say so. It is never held while user code runs.
	mu   sync.Mutex
	room sync.Cond // on mu: what hold looks at has changed

	queue, spare []item
	dispatching  bool

	out      []*outgoing
	writing  bool
	writeErr error
	begun    int64 // how many frames were begun to be written

	nextID      int64
	calls       map[int64]*Call
	direct      map[*Call]struct{} // the pending ones made with a callback's context
	undelivered map[*Call]struct{} // those with a reply whose turn has not come
	abandoned   map[int64]struct{}
	unbound     bool
	lifted      int // how often Lift was called and not undone
	// ended is why the reader stopped or will be ignored; nil as long as it reads.
	ended    error
	requests map[string]*Request // the unanswered ones by idKey
	open     int                 // how many requests are unanswered
	upcoming []*Request          // those whose turn in the order has not come
	waiting  []*Request          // those whose turn has come and that have no slot
	serving  int
	// servingBytes is what the requests that are served cost the queue before.
	servingBytes int64
	parked       parked

	stats Stats
}

// callbackKey marks the contexts that the callbacks of a Conn get: its value is a place.
type callbackKey struct{ c *Conn }

// requestKey marks the contexts of requests: its value is the *Request.
type requestKey struct{}

// place is whose context one is.
type place int

const (
	outside place = iota
	inRun         // Handler.Run's, which all that is queued waits for
	inServe       // Handler.Serve's
)

func (c *Conn) place(ctx context.Context) place {
	p, _ := ctx.Value(callbackKey{c}).(place)
	return p
}

// drainGrace is how long callbacks may go on after the peer has gone before their
// context ends.
const drainGrace = 5 * time.Second

// New makes a connection that reads from r and writes to w; o may be nil. Nothing is
// read before Listen. Closing r and w is up to the caller.
func New(r io.Reader, w io.Writer, h Handler, o *Options) *Conn {
	c := &Conn{
		h: h, w: w,
		done:        make(chan struct{}),
		calls:       map[int64]*Call{},
		direct:      map[*Call]struct{}{},
		undelivered: map[*Call]struct{}{},
		abandoned:   map[int64]struct{}{},
		requests:    map[string]*Request{},
	}
	if o != nil {
		c.opts = *o
	}
	setDefault(&c.opts.MaxMessageBytes, DefaultMaxMessageBytes)
	setDefault(&c.opts.MaxQueueBytes, 8<<20)
	setDefault(&c.opts.MaxRequests, DefaultMaxRequests)
	c.room.L = &c.mu
	c.ctx, c.cancel = context.WithCancelCause(context.WithValue(context.Background(), callbackKey{c}, inRun))
	c.reqCtx, c.cancelReq = context.WithCancelCause(context.WithValue(c.ctx, callbackKey{c}, inServe))
	c.lines = lines{r: r, max: c.opts.MaxMessageBytes, before: c.flush}
	return c
}

// Listen starts to read, once. It comes before the first call.
func (c *Conn) Listen() {
	// The reader: owned by the Conn, ends with r.
	go c.read()
}

func setDefault(field *int, value int) {
	if *field <= 0 {
		*field = value
	}
}

// Done is closed when the peer's output has ended. What was read before is still
// being delivered then.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns nil as long as the connection reads, then a *ClosedError.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// Shut ends the connection from our side: pending calls that have
// no reply fail with cause, later ones too, nothing more is written, contexts of callbacks end, and what is still read is
// thrown away. It does not wait for callbacks, and does not close r and w.
func (c *Conn) Shut(cause error) {
	closed := &ClosedError{Cause: cause}
	c.mu.Lock()
	c.shut.Store(true)
	if c.ended == nil {
		c.ended = closed
	}
	// A callback may wait for a reply whose turn comes after it.
	for k := range c.undelivered {
		c.deliver(k)
	}
	c.failCalls(closed)
	c.breakWriting(closed)
	c.room.Broadcast()
	c.mu.Unlock()
	c.cancel(closed)
}

// InCallback reports whether ctx is the context of a callback or handler of this
// connection, or comes from one.
func (c *Conn) InCallback(ctx context.Context) bool { return c.place(ctx) != outside }

// Lift lifts the bound of the queue by Options.MaxMessageBytes until restore is called,
// once.
func (c *Conn) Lift() (restore func()) {
	add := func(n int) {
		c.mu.Lock()
		c.lifted += n
		c.room.Broadcast()
		c.mu.Unlock()
	}
	add(1)
	return func() { add(-1) }
}

// Unbind takes the bound of the queue away, for a peer that has gone: what it left
// behind is no more than a pipe holds.
func (c *Conn) Unbind() {
	c.mu.Lock()
	c.unbound = true
	c.room.Broadcast()
	c.mu.Unlock()
}

// log tells the Logger of a frame. Method and id may be the peer's words.
func (c *Conn) log(msg, method string, id []byte, bytes int) {
	if c.opts.Logger == nil {
		return
	}
	defer c.hush()
	if c.opts.Logger.Enabled(c.ctx, slog.LevelDebug) {
		c.opts.Logger.LogAttrs(c.ctx, slog.LevelDebug, msg,
			slog.String("method", c.excerpt([]byte(method))), slog.String("id", c.excerpt(id)), slog.Int("bytes", bytes))
	}
}
