package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coder/acp-go-sdk"
)

// exitWait is how long the end of a process is waited for once its stdout has ended:
// the kernel closes the one a moment before it reports the other.
const exitWait = 100 * time.Millisecond

// failure says why a step failed that ended with err. ctx is the step's own. It
// gathers what helps to understand it: how the process ended, the end of its stderr,
// what it wrote that was no frame.
func (a *Agent) failure(ctx context.Context, step Step, err error) *Error {
	e, ok := errors.AsType[*Error](err)
	if ok {
		c := *e
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
	e.WithheldEnv, e.Command = a.WithheldEnv(), a.Command()
}

func (a *Agent) classify(ctx context.Context, step Step, err error) *Error {
	if re, ok := errors.AsType[*acp.RequestError](err); ok {
		return a.answered(step, re)
	}
	e := &Error{Step: step, Err: err}
	tooLarge, isTooLarge := errors.AsType[*TooLargeError](err)
	echo, isEcho := errors.AsType[*EchoError](err)
	closed, isClosed := errors.AsType[*ClosedError](err)
	broken, isBroken := errors.AsType[*WriteError](err)
	switch {
	case errors.Is(context.Cause(ctx), errStartup) && errors.Is(err, context.DeadlineExceeded):
		e.Kind = KindStartupTimeout
		e.Message = fmt.Sprintf("no answer to %s within the startup deadline of %v", step, a.startTimeout())
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		e.Kind = ctxKind(ctx)
		e.Message = context.Cause(ctx).Error()
	case isTooLarge:
		e.Kind, e.Message = KindTooLarge, tooLarge.Error()
	case isEcho:
		e.Kind = KindProtocol
		e.Message = echo.Error() + ": this is no ACP agent, or one that needs another argument to speak ACP"
	case isClosed || isBroken:
		a.awaitExit()
		if exit := a.exit(); exit != nil {
			e.Kind, e.Exit = KindExit, exit
			e.Message = "the agent ended before it had answered"
			break
		}
		e.Kind = KindTransport
		if isClosed {
			e.Message = "the agent closed its stdout and lives on: " + closed.Error()
		} else {
			e.Message = "the agent does not take what is written to it: " + broken.Error()
		}
	default:
		e.Kind, e.Message = KindProtocol, a.redact.String(err.Error())
	}
	return e
}

// awaitExit waits, for a moment only, until the process has ended.
func (a *Agent) awaitExit() {
	timer := time.NewTimer(exitWait)
	defer timer.Stop()
	select {
	case <-a.proc.Exited():
	case <-timer.C:
	}
}

// authRequired is the code of an agent that wants an authentication first.
// See https://agentclientprotocol.com/protocol/authentication.
const authRequired = -32000

// answered is the failure of a step that the agent answered with an error.
func (a *Agent) answered(step Step, re *acp.RequestError) *Error {
	e := &Error{Kind: KindAgent, Step: step, Code: &re.Code, Message: a.redact.String(re.Message)}
	if re.Data != nil {
		if data, err := json.Marshal(re.Data); err == nil && !bytes.Equal(data, []byte("null")) {
			e.Data = json.RawMessage(a.redact.String(string(data)))
		}
	}
	// The cause is a copy: what the agent sent back may hold a secret.
	e.Err = &acp.RequestError{Code: re.Code, Message: e.Message, Data: e.Data}
	methods := a.authMethods(re)
	// Agents use the code for other things too; what makes it this one is that
	// there is something to authenticate with, or the word.
	if re.Code == authRequired && (len(methods) > 0 || strings.Contains(strings.ToLower(re.Message), "auth")) {
		e.Kind = KindAuthRequired
		e.Message = fmt.Sprintf("the agent wants an authentication first (%s)", e.Message)
		if len(methods) > 0 {
			e.Message = fmt.Sprintf("the agent wants an authentication first; it offers %s (%s)", strings.Join(methods, ", "), a.redact.String(re.Message))
		}
	}
	return e
}

// authMethods lists the ways to authenticate that the agent named in its answer to
// initialize or in the error's data.
func (a *Agent) authMethods(re *acp.RequestError) []string {
	var ids []string
	for _, m := range a.info.AuthMethods {
		ids = append(ids, m.ID)
	}
	if data, err := json.Marshal(re.Data); err == nil {
		var in struct {
			AuthMethods json.RawMessage `json:"authMethods"`
		}
		if json.Unmarshal(data, &in) == nil {
			for _, m := range readAuthMethods(in.AuthMethods) {
				if !slices.Contains(ids, m.ID) {
					ids = append(ids, m.ID)
				}
			}
		}
	}
	return ids
}

// abort closes the agent after a failed start and adds to e what only its end told.
// It takes the ladder like any other end: what the agent still has to write, it may.
func (a *Agent) abort(e *Error) *Error {
	report := a.Close()
	if e.Exit != nil {
		e.Exit = &report.Exit
	}
	a.describe(e)
	return e
}
