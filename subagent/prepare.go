package subagent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
)

// prepare refuses what can be refused before anything is started, and returns the
// directory to work in.
func prepare(ctx context.Context, p Provider, req *Request, override string) (dir string, err error) {
	if err := CheckCapabilities(p, req); err != nil {
		return "", err
	}
	if err := req.validatePrompt(); err != nil {
		return "", named(p, err)
	}
	if dir, err = req.directory(override); err != nil {
		return "", named(p, err)
	}
	if err := notDone(ctx, p); err != nil {
		return "", err
	}
	// It is sent after Start has returned, and the caller may go on with its own.
	req.Prompt = slices.Clone(req.Prompt)
	return dir, nil
}

// notDone returns an error if ctx has ended already.
func notDone(ctx context.Context, p Provider) error {
	if ctx.Err() == nil {
		return nil
	}
	return &Error{
		Kind: contextKind(ctx), Step: client.StepConfig, Provider: p.Name(),
		Message: fmt.Sprintf("not started: %v", context.Cause(ctx)), Err: contextError(ctx),
	}
}

// named turns err into an Error of p.
func named(p Provider, err error) *Error {
	e := asError(err)
	e.Provider = p.Name()
	return e
}

// asError gives err as an Error. What is none of ours and has no better kind is an
// error of the connection.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		copy := *e
		return &copy
	}
	if e, ok := errors.AsType[*client.Error](err); ok {
		return &Error{Kind: e.Kind, Step: e.Step, Message: e.Detail(), Code: e.Code, Data: e.Data, Err: err}
	}
	return &Error{Kind: client.KindTransport, Step: client.StepPrompt, Message: err.Error(), Err: err}
}

// newResult returns a result of r with everything set that is the same in all of
// them, and no list of it nil.
func (r *run) newResult(dir string) Result {
	labels := maps.Clone(r.req.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	return Result{
		SchemaVersion: SchemaVersion,
		RunID:         r.id, Provider: r.provider, Dir: dir, StartedAt: r.started, Labels: labels,
		Client:   client.Self(),
		Agent:    Agent{Command: []string{}},
		Messages: []Message{}, ToolCalls: []ToolCall{}, Permissions: []permission.Record{},
		Noise: Noise{First: []string{}}, WithheldEnv: []string{}, Warnings: []string{},
	}
}
