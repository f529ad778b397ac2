package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/internal/wire"
)

// Conn is the client's side of an ACP connection over any reader and writer. It
// stands in for acp.ClientSideConnection, of which it has every call that an agent may
// serve, and differs from it where that one loses data or time. Its methods may be
// called from any goroutine.
//
// Updates are applied in the order in which they came, before a later answer is
// delivered and before a later request is handled. A context bounds the writing
// as well as the waiting of a call. What an agent sends in an odd shape costs that
// field, not the call.
//
// See https://agentclientprotocol.com/protocol/overview.
type Conn struct {
	wire      *wire.Conn
	client    acp.Client
	opts      ConnOptions
	admission admission
	// What of client is used beside acp.Client's own methods; nil where it is not
	// there.
	updates UpdateHandler
	methods MethodHandler
	typed   bool // SessionUpdate is to be called

	// The reader's own.
	observed Update
	pattern  textPattern

	unknown, asked atomic.Int64

	// mu guards sessions, own and what is in them. It makes a decision on a permission
	// request and the queueing of its answer one step, as against session/cancel.
	mu       sync.Mutex
	sessions map[acp.SessionId]*turnState
	own      []*turnState // those of sessions that are ours: the agent can make up any number of others
}

var (
	_ acp.Agent       = (*Conn)(nil)
	_ acp.AgentLoader = (*Conn)(nil)
)

// ConnOptions are the options of [NewConn]. The zero value of each field is its
// default.
type ConnOptions struct {
	// MaxMessageBytes bounds one line of the agent; 0 means 64 MiB. A longer update
	// is dropped and counted, a longer answer fails its call with a *TooLargeError, a
	// longer request is answered with an error.
	MaxMessageBytes int
	// MaxQueueBytes bounds what has been read and waits for a callback; 0 means
	// 8 MiB. Beyond it the connection reads no further, and so the agent waits.
	MaxQueueBytes int
	// MaxRequests bounds how many of the agent's requests for a method are handled at
	// once; 0 means 64. Twice as many can be open and keep nothing that the agent
	// writes from being read, however long the client takes, if all that are open are
	// together no larger than MaxQueueBytes and MaxMessageBytes. What is beyond that holds
	// the agent back; if meanwhile no other has ended for a second it is refused: with an
	// error, or where a permission is asked for with the outcome `cancelled`.
	MaxRequests int
	// CancelGrace is how long Prompt waits, once its context has ended and
	// session/cancel was sent, for the agent's own answer; 0 means 3 s.
	CancelGrace time.Duration
	// Observe, if set, sees every update in wire order on the connection's reader,
	// before anything else does. It must not block, must not call the connection, and
	// must not keep the Update beyond the call (Clone does).
	Observe func(*Update)
	// Logger is told of each frame (direction, method, id, bytes; never its content)
	// at level Debug and of panics at level Error. Nil is silent.
	Logger *slog.Logger
	// Redact is applied to lines that are kept as noise and to what the Logger gets of
	// the agent's words: methods, ids, and what a callback panicked with. Nil keeps them
	// as they came.
	Redact func(string) string

	// desk, if set, answers permission requests in the client's place.
	desk permissionDesk
	// recorder, if set, records the frames.
	recorder *recorder
	// patience is how long a request waits for others to end before it is refused; 0
	// means defaultPatience.
	patience time.Duration
}

// DefaultCancelGrace is ConnOptions.CancelGrace where it is 0.
const DefaultCancelGrace = 3 * time.Second

// NewConn starts a connection to the agent that reads from peerInput and writes to
// peerOutput. What the agent asks is put to c; nil refuses everything. Beside
// acp.Client, c may be an [UpdateHandler], a [MethodHandler] or an
// acp.ExtensionMethodHandler, and have the methods of acp.ClientExperimental. o may be nil.
//
// The connection ends with peerOutput. Closing both pipes is up to the caller.
func NewConn(c acp.Client, peerInput io.Writer, peerOutput io.Reader, o *ConnOptions) *Conn {
	conn := &Conn{client: c, typed: true, sessions: map[acp.SessionId]*turnState{}}
	if c == nil {
		conn.client = &Handlers{}
	}
	conn.updates, _ = conn.client.(UpdateHandler)
	conn.methods, _ = conn.client.(MethodHandler)
	if h, ok := conn.client.(*Handlers); ok && h.OnUpdate == nil {
		// Spare what only OnUpdate needs.
		conn.updates, conn.typed = nil, h.OnSessionUpdate != nil
	}
	if o != nil {
		conn.opts = *o
	}
	if conn.opts.CancelGrace <= 0 {
		conn.opts.CancelGrace = DefaultCancelGrace
	}
	conn.admission = newAdmission(conn.opts.MaxRequests, conn.opts.patience)
	conn.wire = wire.New(peerOutput, peerInput, (*handler)(conn), &wire.Options{
		MaxMessageBytes: conn.opts.MaxMessageBytes,
		MaxQueueBytes:   conn.opts.MaxQueueBytes,
		MaxRequests:     conn.opts.MaxRequests,
		Logger:          conn.opts.Logger,
		Redact:          conn.opts.Redact,
	})
	conn.wire.Listen()
	return conn
}

// Done is closed when the agent's output has ended. What was read before may still
// be on its way to callbacks then.
func (c *Conn) Done() <-chan struct{} { return c.wire.Done() }

// Call sends any request by name and reads the result into result: a pointer, as for
// encoding/json, or nil to ignore it. The typed methods are better where there is one:
// a prompt sent by name is no turn to this connection. When ctx ends first the
// request is withdrawn with $/cancel_request.
//
// See https://agentclientprotocol.com/protocol/extensibility.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	raw, err := c.call(ctx, method, params, nil)
	if err != nil || result == nil {
		return err
	}
	if len(raw) == 0 {
		raw = []byte("null")
	}
	if err := json.Unmarshal(raw, result); err != nil {
		return &CallError{Method: method, Sent: true, Err: fmt.Errorf("the result: %w", err)}
	}
	return nil
}

// Notify sends any notification by name and returns when it has been written. If ctx
// ends before any of it was written, none of it is.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	if err := c.wire.Notify(ctx, method, params); err != nil {
		return callError(err)
	}
	return nil
}

// CallExtension sends an extension request, whose name begins with an underscore, and
// returns the raw result.
//
// See https://agentclientprotocol.com/protocol/extensibility#custom-requests.
func (c *Conn) CallExtension(ctx context.Context, method string, params any) (json.RawMessage, error) {
	if err := checkExtension(method); err != nil {
		return nil, err
	}
	return c.call(ctx, method, params, nil)
}

// NotifyExtension sends an extension notification, whose name begins with an
// underscore.
//
// See https://agentclientprotocol.com/protocol/extensibility#custom-notifications.
func (c *Conn) NotifyExtension(ctx context.Context, method string, params any) error {
	if err := checkExtension(method); err != nil {
		return err
	}
	return c.Notify(ctx, method, params)
}

func checkExtension(method string) error {
	if !strings.HasPrefix(method, "_") {
		return fmt.Errorf("the name of an extension begins with an underscore, %q does not", method)
	}
	return nil
}

// call sends a request and returns the raw result. onReply, if not nil, is called on
// the reader when the answer is read, before any later update is looked at; what it is
// given is its own to keep.
func (c *Conn) call(ctx context.Context, method string, params any, onReply func(raw []byte, err error)) (json.RawMessage, error) {
	if err := c.checkContext(ctx, method); err != nil {
		return nil, err
	}
	raw, err := c.wire.Call(ctx, method, params, onReply)
	if err != nil {
		return nil, callError(err)
	}
	return raw, nil
}

// checkContext refuses what would wait for the callback that it is called from.
func (c *Conn) checkContext(ctx context.Context, method string) error {
	switch method {
	case acp.AgentMethodSessionPrompt, acp.AgentMethodSessionLoad:
		if c.wire.InCallback(ctx) {
			return &CallError{Method: method, Err: ErrCallbackContext}
		}
	}
	return nil
}

// typedCall sends a request and reads as much of the result as can be read.
func typedCall[R any](ctx context.Context, c *Conn, method string, params any) (R, error) {
	var result R
	raw, err := c.call(ctx, method, params, nil)
	if err == nil {
		decode(raw, &result)
	}
	return result, err
}

// Shut ends the connection from our side: pending and later calls fail with a
// *ClosedError that wraps cause, contexts of callbacks end, nothing more is written, and
// what is still read is thrown away. It neither waits nor closes the pipes.
func (c *Conn) Shut(cause error) { c.wire.Shut(cause) }

// ConnStats is what a [Conn] has counted so far.
type ConnStats struct {
	// Received and Sent count frames.
	Received, Sent int64
	Noise          Noise
	// UnknownUpdates counts updates of a kind that is not in the schema, or without
	// one.
	UnknownUpdates int64
	// DroppedUpdates counts updates larger than MaxMessageBytes or too complex,
	// ComplexUpdates those of them that were too complex: they nest deeper, or hold more
	// values, than is read ([TooComplexError]).
	DroppedUpdates, ComplexUpdates int64
	// ReducedFrames counts updates and answers that would have been too complex and were
	// read without the optional fields that made them so: there null takes their place.
	ReducedFrames int64
	// LateAnswers came to calls that had been given up, DuplicateAnswers to calls that
	// had been answered, StrayAnswers to calls that never were.
	LateAnswers, DuplicateAnswers, StrayAnswers int64
	// Panics counts callbacks that panicked or called runtime.Goexit, the Logger
	// among them, and frames that made the reading of them panic.
	Panics int64
	// OpenRequests is how many requests of the agent wait for an answer of ours now.
	OpenRequests int
	// PermissionRequests counts the agent's permission requests, as they are read.
	PermissionRequests int64
}

// Noise is what came from the agent that was no frame.
type Noise struct {
	Lines int64
	// First has the first few lines, cut and redacted.
	First []string
}

// Stats returns the counts of this moment.
func (c *Conn) Stats() ConnStats {
	s := c.wire.Stats()
	return ConnStats{
		Received: s.Received, Sent: s.Sent,
		Noise:          Noise{Lines: s.NoiseLines, First: s.Noise},
		UnknownUpdates: c.unknown.Load(),
		DroppedUpdates: s.Dropped, ComplexUpdates: s.Complex, ReducedFrames: s.Reduced,
		LateAnswers: s.Late, DuplicateAnswers: s.Duplicate, StrayAnswers: s.Stray,
		Panics:             s.Panics,
		OpenRequests:       s.Open,
		PermissionRequests: c.asked.Load(),
	}
}
