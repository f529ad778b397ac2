package subagent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
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
	if req.MaxDepth != nil && *req.MaxDepth < 0 {
		return "", named(p, configError("MaxDepth is negative: %d", *req.MaxDepth))
	}
	if leavesWorktree(ctx, req, override) {
		return "", named(p, errOwnDir(override))
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

// newResult returns a result of r with everything set that is the same in all of them.
func (r *run) newResult(dir string) Result {
	res := newResult(r.provider, &r.req)
	res.RunID, res.StartedAt, res.Dir = r.id, r.started, dir
	return res
}

// newResult returns a result of a request to a provider, with no list of it nil.
func newResult(provider string, req *Request) Result {
	labels := maps.Clone(req.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	return Result{
		SchemaVersion: SchemaVersion,
		Provider:      provider, StartedAt: time.Now(), Labels: labels,
		Client:   client.Self(),
		Agent:    Agent{Command: []string{}},
		Messages: []Message{}, ToolCalls: []ToolCall{}, Permissions: []permission.Record{},
		Noise: Noise{First: []string{}}, WithheldEnv: []string{}, Warnings: []string{},
	}
}

// notStarted returns the result of a run that did not start, for those who get nothing
// but a result.
func notStarted(provider string, req *Request, err error) *Result {
	e := asError(err)
	if e.Partial != nil {
		return e.Partial
	}
	res := newResult(provider, req)
	res.Dir, _ = req.directory("") // empty where there is none: that may be what is wrong
	res.Empty = true
	res.Stop = stopreason.Error
	switch e.Kind {
	case client.KindCancelled:
		res.Stop = stopreason.Aborted
		res.Warnings = append(res.Warnings, e.Message)
		return &res
	case client.KindTimeout:
		res.Stop = stopreason.Aborted
	}
	res.Error = e
	return &res
}
