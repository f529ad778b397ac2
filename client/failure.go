package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coder/acp-go-sdk"
)

// failure says why a step failed that ended with err. ctx is the step's own. It
// gathers what helps to understand it: how the process ended, the end of its stderr,
// what it wrote that was no frame.
func (a *Agent) failure(ctx context.Context, step Step, err error) *Error {
	var e *Error
	if known, ok := errors.AsType[*Error](err); ok {
		c := *known
		e = &c
	} else {
		e = a.classify(ctx, step, err)
	}
	if e.Step == "" {
		e.Step = step
	}
	a.describe(e)
	return e
}

// describe puts what is known of the process into e.
func (a *Agent) describe(e *Error) {
	e.StderrTail, e.StderrTruncated = a.proc.StderrTail()
	e.Noise = a.Noise()
	e.WithheldEnv, e.MissingEnv = a.WithheldEnv(), slices.Clone(a.missing)
	e.Command, e.Path = a.Command(), a.redact.String(a.Path())
}

// classify gives the error of a call its kind.
func (a *Agent) classify(ctx context.Context, step Step, err error) *Error {
	if answer, ok := errors.AsType[*acp.RequestError](err); ok {
		return a.answered(step, answer)
	}
	e := &Error{Step: step, Err: err}
	tooLarge, isTooLarge := errors.AsType[*TooLargeError](err)
	echo, isEcho := errors.AsType[*EchoError](err)
	_, isClosed := errors.AsType[*ClosedError](err)
	broken, isBroken := errors.AsType[*WriteError](err)
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		e.Kind, e.Message = ctxKind(ctx), a.endedBy(ctx, step)
		if n := a.conn.Stats().StrayAnswers; n > 0 {
			e.Message += fmt.Sprintf("; %s (%d): the ids are not ours", strayAnswers, n)
		}
	case isTooLarge:
		e.Kind, e.Message = KindTooLarge, tooLarge.Error()
	case isEcho:
		e.Kind = KindProtocol
		e.Message = echo.Error() + ": this is no ACP agent, or one that needs another argument to speak ACP"
	case isClosed || isBroken:
		a.awaitExit()
		e.Exit = a.exit()
		switch {
		case a.closing.Load():
			e.Kind, e.Message = KindCancelled, errShutdown.Error()
		case e.Exit != nil:
			e.Kind, e.Message = KindExit, "the agent ended before it had answered"
		case isClosed:
			e.Kind, e.Message = KindTransport, "the agent closed its stdout before it had answered, and lives on"
		default:
			e.Kind, e.Message = KindTransport, broken.Error()
		}
	case errors.Is(err, ErrTurnActive), errors.Is(err, ErrCallbackContext):
		e.Kind, e.Message = KindConfig, a.redact.String(err.Error())
	default:
		e.Kind, e.Message = KindProtocol, a.redact.String(err.Error())
	}
	return e
}

// ctxKind is the kind of error for what the end of ctx has ended.
func ctxKind(ctx context.Context) ErrorKind {
	switch {
	case errors.Is(context.Cause(ctx), errStartup):
		return KindStartupTimeout
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return KindTimeout
	}
	return KindCancelled
}

// endedBy says that the end of ctx came before the answer to a step.
func (a *Agent) endedBy(ctx context.Context, step Step) string {
	text := "no answer to " + string(step)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errStartup):
		return fmt.Sprintf("%s within the startup deadline of %v", text, a.opts.StartTimeout)
	case cause != ctx.Err():
		return text + " when it was ended: " + a.redact.String(cause.Error())
	case errors.Is(cause, context.DeadlineExceeded):
		return text + " within the caller's deadline"
	}
	return text + " when it was cancelled"
}

// exitWait is how long the end of a process is waited for once its stdout has ended,
// where the system cannot tell whether it is on its way out; exitingWait where it is.
const (
	exitWait    = 100 * time.Millisecond
	exitingWait = 10 * time.Second
)

// awaitExit waits, for a moment only, until the process has ended: the system closes
// its stdout a moment before it reports its end.
func (a *Agent) awaitExit() {
	wait := exitWait
	if a.proc.Exiting() {
		wait = exitingWait
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-a.proc.Exited():
	case <-timer.C:
	}
}

// exit returns how the process ended by itself, nil while it lives.
func (a *Agent) exit() *Exit {
	if !a.gone() {
		return nil
	}
	e := newExit(a.proc.Exit(), RungExit)
	return &e
}

// quote makes what the agent sent fit for an error's message.
func (a *Agent) quote(raw []byte) string {
	return clip(oneLine(a.redact.String(string(raw))), quoteRoom)
}
