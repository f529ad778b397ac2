package wire

import (
	"encoding/json"
	"errors"
	"fmt"
)

// JSON-RPC's codes for what is no proper request, and for one that could not be served
// (https://www.jsonrpc.org/specification#error_object).
const (
	codeInvalid  = -32600
	codeInternal = -32603
)

// Error is the error that a peer answers a request with. A [Handler] returns one to
// choose the answer; any other error of a handler becomes a fixed text.
type Error struct {
	Code    int
	Message string
	Data    json.RawMessage // nil where there is none
}

func (e *Error) Error() string { return fmt.Sprintf("error %d: %s", e.Code, e.Message) }

// CallError says why a call or notification has no answer of the peer. What it wraps
// is the error of the context, a [TooLargeError], [TooComplexError], [EchoError],
// [ClosedError] or [WriteError], or [ErrBacklog].
type CallError struct {
	Method string
	// Sent is false if nothing of the frame was written.
	Sent bool
	Err  error
}

func (e *CallError) Error() string { return e.Method + ": " + e.Err.Error() }
func (e *CallError) Unwrap() error { return e.Err }

// TooLargeError is a frame that is longer than Options.MaxMessageBytes.
type TooLargeError struct{ Limit int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the frame is larger than the limit of %d bytes", e.Limit)
}

// TooComplexError is a frame that nests deeper, or holds more values, than this package
// reads.
type TooComplexError struct{}

func (e *TooComplexError) Error() string {
	return fmt.Sprintf("the frame nests deeper than %d levels or holds more than %d values", maxDepth, maxValues)
}

// EchoError is a peer that sends our own requests back.
type EchoError struct{}

func (e *EchoError) Error() string { return "the peer echoes our own frames" }

// ClosedError is the end of what the peer writes, or of the connection.
type ClosedError struct {
	// Cause is io.EOF, the error of a read, or what was given to Shut.
	Cause error
}

func (e *ClosedError) Error() string { return fmt.Sprintf("connection closed: %v", e.Cause) }
func (e *ClosedError) Unwrap() error { return e.Cause }

// WriteError is a connection that cannot be written to any more.
type WriteError struct{ Cause error }

func (e *WriteError) Error() string { return fmt.Sprintf("cannot write to the peer: %v", e.Cause) }
func (e *WriteError) Unwrap() error { return e.Cause }

// ErrBacklog ends a call that was made with a callback's own context: more waits behind
// that callback than Options.MaxQueueBytes and MaxMessageBytes together.
var ErrBacklog = errors.New("too much waits behind the callback that made the call")

var (
	errInvalid  = &Error{Code: codeInvalid, Message: "Invalid request"}
	errInternal = &Error{Code: codeInternal, Message: "Internal error"}
)
