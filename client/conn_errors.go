package client

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/internal/wire"
)

// CallError says why a call or a notification of a [Conn] has no answer of the agent.
// It wraps the error of the context (errors.Is knows context.Canceled and
// DeadlineExceeded), a [TooLargeError], [TooComplexError], [EchoError], [ClosedError] or
// [WriteError], or one of [ErrTurnActive], [ErrCallbackContext] and [ErrBacklog].
//
// An error that the agent itself answered with is an *acp.RequestError instead; data of
// more than 1 MiB, or that nests deeper than 100, is left out of it.
type CallError struct {
	Method string
	// Sent is false if nothing of the frame was written.
	Sent bool
	Err  error
}

func (e *CallError) Error() string { return e.Method + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }

// TooLargeError is an answer of the agent that is longer than
// ConnOptions.MaxMessageBytes. The connection goes on.
type TooLargeError struct {
	Method string
	Limit  int // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the answer to %s is larger than the limit of %d bytes", e.Method, e.Limit)
}

// TooComplexError is an answer of the agent that nests deeper than 10,000 levels, which
// no reader of JSON is sure to take, or holds more than 1,048,576 values, which take far
// more memory than their text, and that means nothing without what makes it so. An optional
// field that does costs that field only, see ConnStats.ReducedFrames. The connection goes
// on.
type TooComplexError struct{ Method string }

func (e *TooComplexError) Error() string {
	return "the answer to " + e.Method + " nests too deep, or holds too many values"
}

// EchoError is a peer that sends our own requests back: a terminal, or a program like
// cat, but no agent.
type EchoError struct{ Method string }

func (e *EchoError) Error() string {
	return fmt.Sprintf("the other side echoes our own frames (%s came back)", e.Method)
}

// ClosedError is the end of the agent's output, or of the connection.
type ClosedError struct {
	// Cause is io.EOF, the error of a read, or why we ended the connection.
	Cause error
}

func (e *ClosedError) Error() string { return "connection closed: " + e.Cause.Error() }

// Unwrap returns the cause.
func (e *ClosedError) Unwrap() error { return e.Cause }

// WriteError is a connection that cannot be written to any more. Answers may still be
// read from it.
type WriteError struct{ Cause error }

func (e *WriteError) Error() string { return "cannot write to the agent: " + e.Cause.Error() }

// Unwrap returns the cause.
func (e *WriteError) Unwrap() error { return e.Cause }

var (
	// ErrTurnActive refuses a prompt on a session that has one in flight. Nothing was
	// sent.
	ErrTurnActive = errors.New("the session has a prompt turn in flight")

	// ErrCallbackContext refuses a prompt or a load with the context of a callback of
	// the same connection: what it leads to would wait for that callback. Nothing was
	// sent.
	ErrCallbackContext = errors.New("called with the context of a callback, which it would wait for")

	// ErrBacklog ends a call made with a callback's own context when more waits behind
	// that callback than ConnOptions.MaxQueueBytes and MaxMessageBytes together.
	ErrBacklog = wire.ErrBacklog
)

// callError says in this package's words why a call failed.
func callError(err error) error {
	if answer, ok := errors.AsType[*wire.Error](err); ok {
		e := &acp.RequestError{Code: answer.Code, Message: answer.Message}
		switch {
		case answer.Data == nil:
		case !repeatable(answer.Data):
			e.Data = fmt.Sprintf("left out: %d bytes, or what nests too deep", len(answer.Data))
		default: // it is JSON already: wire has checked it
			json.Unmarshal(answer.Data, &e.Data)
		}
		return e
	}
	call, ok := errors.AsType[*wire.CallError](err)
	if !ok {
		return err
	}
	cause := call.Err
	switch e := call.Err.(type) {
	case *wire.TooLargeError:
		cause = &TooLargeError{Method: call.Method, Limit: e.Limit}
	case *wire.TooComplexError:
		cause = &TooComplexError{Method: call.Method}
	case *wire.EchoError:
		cause = &EchoError{Method: call.Method}
	case *wire.ClosedError:
		cause = &ClosedError{Cause: e.Cause}
	case *wire.WriteError:
		cause = &WriteError{Cause: e.Cause}
	}
	return &CallError{Method: call.Method, Sent: call.Sent, Err: cause}
}

// answerError says in wire's words what a request of the agent is answered with. What
// is no *acp.RequestError becomes a fixed text: it may hold anything.
func answerError(err error) error {
	e, ok := errors.AsType[*acp.RequestError](err)
	if !ok || e == nil {
		return err
	}
	answer := &wire.Error{Code: e.Code, Message: e.Message}
	if e.Data != nil {
		answer.Data, _ = json.Marshal(e.Data)
	}
	return answer
}
