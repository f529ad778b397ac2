package subagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
)

// Error is why a run did not start, or did not complete. Its JSON is the result's
// "error" and a contract.
type Error struct {
	Kind    client.ErrorKind `json:"kind"`
	Step    client.Step      `json:"step"`
	Message string           `json:"message"`
	// Code and Data are those of the agent's JSON-RPC error, null where it did not
	// answer with one.
	Code *int            `json:"code"`
	Data json.RawMessage `json:"data"`
	// Retryable is set only where nothing of the prompt was written and the next
	// try could go better.
	Retryable bool `json:"retryable"`

	// Provider is the provider's name, Capability what it lacks (kind capability).
	Provider   string     `json:"-"`
	Capability Capability `json:"-"`
	// Partial is what is known of a run that did not start: the process's exit,
	// stderr, noise, and the variables that were held back. It is nil where nothing
	// was started, and in the Error of a Result.
	Partial *Result `json:"-"`
	// Err is the cause.
	Err error `json:"-"`
}

// Error is the step and the message, with the provider's name where it is known.
func (e *Error) Error() string {
	if e.Provider == "" || e.Kind == client.KindCapability {
		return fmt.Sprintf("%s: %s", e.Step, e.Message)
	}
	return fmt.Sprintf("%s: %s: %s", e.Provider, e.Step, e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// setAgentError takes over the error that an agent answered with.
func (e *Error) setAgentError(re *acp.RequestError) {
	e.Message = re.Message
	e.Code = &re.Code
	if re.Data != nil {
		e.Data, _ = json.Marshal(re.Data) // it was decoded from JSON
	}
}

// describe adds to an error of the turn that is no *client.Error, which has that already,
// what is known of the process that the turn was of.
func (e *Error) describe(res *Result) {
	if _, ok := errors.AsType[*client.Error](e.Err); ok {
		return
	}
	e.Message = (&client.Error{
		Kind: e.Kind, Step: e.Step, Message: e.Message,
		StderrTail: res.StderrTail, Noise: client.Noise{Lines: int64(res.Noise.Lines), First: res.Noise.First},
	}).Detail()
}

// configError is for input that is refused before anything is started.
func configError(format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: client.KindConfig, Step: client.StepConfig, Message: err.Error(), Err: errors.Unwrap(err)}
}

// clip shortens what an agent wrote for use within a message.
func clip(text string) string {
	const room = 300 // bytes
	if len(text) <= room {
		return text
	}
	return strings.ToValidUTF8(text[:room], "") + "…"
}
