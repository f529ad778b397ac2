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
	return finish(run, nil), nil
}

// finish waits for a run's outcome and closes it. Its context is the run's life: it ends
// this wait too. settled, if set, is told of the outcome.
func finish(run Run, settled func(*Result)) *Result {
	if r, ok := runAs[interface{ discardUpdates() }](run); ok {
		r.discardUpdates() // nobody can come for them: do not keep any
	}
	<-run.Done()
	if settled != nil {
		if res, err := run.Wait(context.Background()); err == nil {
			settled(res)
		}
	}
	return run.Close()
}

// runAs returns r, or the run within it that is one, as a T.
func runAs[T any](r Run) (as T, ok bool) {
	for {
		if as, ok = r.(T); ok {
			return as, true
		}
		outer, wraps := r.(interface{ unwrap() Run })
		if !wraps {
			return as, false
		}
		r = outer.unwrap()
	}
}
