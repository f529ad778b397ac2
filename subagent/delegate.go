package subagent

import "context"

// Delegate hands one task to p and returns its result: it starts a run, waits for
// its outcome and closes it. An error is a *Error and means that the run never
// started and nothing was left behind; whatever the agent does after that is in the
// result, also when ctx ends, which cancels the run.
func Delegate(ctx context.Context, p Provider, req Request) (*Result, error) {
	run, err := start(ctx, p, req)
	if err != nil {
		return nil, err
	}
	if r, ok := run.(interface{ discardUpdates() }); ok {
		r.discardUpdates() // nobody can come for them: do not keep any
	}
	<-run.Done() // ctx is the run's life: it ends this wait too
	return run.Close(), nil
}
