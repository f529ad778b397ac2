package subagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/errand-acp/errand/client"
)

// Task is a request and the provider that is to carry it out.
type Task struct {
	Provider Provider
	Request  Request
}

const (
	// DefaultFanOutLimit is how many runs of a fan-out there are at once where
	// FanOutOptions.Limit is 0.
	DefaultFanOutLimit = 8
	// NoLimit as FanOutOptions.Limit lets all tasks run at once.
	NoLimit = -1
)

// FanOutOptions say how tasks are carried out. The zero value, or nil, is the default:
// all of them, eight at once.
type FanOutOptions struct {
	// Limit is how many runs there may be at once; 0 means DefaultFanOutLimit, NoLimit
	// that there is none.
	Limit int
	// Limits, if set, bound the runs as well, together with whatever else is under them.
	// It makes no difference whether the providers are under them already.
	Limits *Limits
	// Want is how many runs have to complete: once so many have, the rest are cancelled.
	// 1 is a race, more a quorum, and 0, like more than there are tasks, lets all of them run.
	Want int
	// Counts, if set, says which results Want counts, by the outcome, as Run.Wait has it; nil
	// means those that are completed. It is called once for each run that was started, from
	// several goroutines. A panic is a no.
	Counts func(*Result) bool
}

// The causes with which a fan-out cancels its runs.
var (
	errEnough  = errors.New("enough other tasks had completed")
	errFanOver = errors.New("nobody waits for the results")
)

// FanOut carries out the tasks and yields each one's index and result, in the order in
// which they end. Each range over it starts them anew.
//
// Every task comes to exactly one result, never nil, also one that was cancelled, refused or
// could not be started: its RunID may be empty then, and what there is of an error, see
// Error.Partial, is in it. No task's failure, not even a panic in its provider, keeps another
// from its result. Tasks take their turn in order, except that one that waits for its own
// provider (LimitOptions.PerProvider) lets those of others pass.
//
// When ctx ends, the runs that are under way are cancelled and what has not started is not:
// their results still come, soon, after those that were there. Leaving the loop, by a panic
// too, cancels the rest, and goes on only when all of it is closed.
//
// The runs do not wait for the body of the loop; results that it has not come to are kept.
// Nobody reads the updates of the runs: what happens in one its Request.Events tells.
func FanOut(ctx context.Context, tasks []Task, o *FanOutOptions) iter.Seq2[int, *Result] {
	return func(yield func(int, *Result) bool) {
		f := fanOut(ctx, tasks, o)
		defer f.end()
		for range tasks {
			if r := <-f.results; !yield(r.index, r.result) {
				return
			}
		}
	}
}

// Gather carries out the tasks as FanOut does, waits for all of them, and returns their
// results in the order of the tasks.
func Gather(ctx context.Context, tasks []Task, o *FanOutOptions) []*Result {
	results := make([]*Result, len(tasks))
	for i, res := range FanOut(ctx, tasks, o) {
		results[i] = res
	}
	return results
}

// fan is a fan-out under way.
type fan struct {
	ctx    context.Context // of its runs
	cancel context.CancelCauseFunc
	limits *Limits

	group     sync.WaitGroup // the tasks' goroutines
	want      int
	counts    func(*Result) bool
	completed atomic.Int64
	results   chan fanResult // has room for all of them: nobody waits to send
}

type fanResult struct {
	index  int
	result *Result
}

// fanOut begins a fan-out. Whoever does so calls end.
func fanOut(ctx context.Context, tasks []Task, o *FanOutOptions) *fan {
	if o == nil {
		o = &FanOutOptions{}
	}
	f := &fan{limits: o.Limits, want: o.Want, counts: o.Counts, results: make(chan fanResult, len(tasks))}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	if f.limits == nil {
		f.limits = &Limits{}
	}
	if f.counts == nil {
		f.counts = func(res *Result) bool { return res.Stop.Success() }
	}
	var own []*slots
	if limit := cmp.Or(o.Limit, DefaultFanOutLimit); limit > 0 {
		own = append(own, &slots{size: limit})
	}
	for i, task := range tasks {
		t := &fanTask{fan: f, index: i, Task: task}
		if err := t.enter(own); err != nil {
			t.done(t.notStarted(err))
			continue
		}
		// Ends with the run, and thus soon after f.ctx; end waits for it.
		f.group.Go(t.carryOut)
	}
	return f
}

// end cancels what is still under way and waits until it has ended.
func (f *fan) end() {
	f.cancel(errFanOver)
	f.group.Wait()
}

// settled takes an outcome.
func (f *fan) settled(res *Result) {
	if f.counted(res) && f.completed.Add(1) == int64(f.want) {
		f.cancel(errEnough)
	}
}

func (f *fan) counted(res *Result) (yes bool) {
	defer func() { _ = recover() }() // the run is still to be closed
	return f.counts(res)
}

// fanTask is a task of a fan-out.
type fanTask struct {
	*fan
	index int
	Task
	name  string // the provider's
	place *limitedPlace
}

// enter takes the task's place in the queue.
func (t *fanTask) enter(own []*slots) (err error) {
	defer func() {
		if p := recover(); p != nil { // by a provider that is a nil pointer, say
			err = panicked(p)
		}
	}()
	if t.Provider == nil {
		return configError("task %d has no provider", t.index)
	}
	t.name = t.Provider.Name()
	t.Provider = t.limits.Provider(t.Provider)
	if p, ok := t.Provider.(*limitedProvider); ok && p.limits == t.limits {
		t.Provider = p.Provider // the place is for both
	}
	t.place, err = t.limits.enter(t.Provider, own...)
	return err
}

func (t *fanTask) notStarted(err error) *Result {
	return notStarted(t.name, &t.Request, err)
}

func (t *fanTask) done(res *Result) { t.results <- fanResult{t.index, res} }

// carryOut carries the task out, on its own goroutine.
func (t *fanTask) carryOut() {
	var outcome, res *Result
	defer func() {
		if res == nil {
			res = t.broken(panicked(recover()), outcome)
		}
		t.place.leave()
		t.done(res)
	}()
	run, err := t.place.start(t.ctx, t.Provider, t.Request)
	if err != nil {
		res = t.notStarted(err)
		return
	}
	res = finish(run, func(res *Result) {
		outcome = res
		t.settled(res)
	})
}

// broken returns the result of a task whose provider let us down: with an outcome it had
// come to that.
func (t *fanTask) broken(err *Error, outcome *Result) *Result {
	if outcome == nil {
		return t.notStarted(err)
	}
	res := *outcome
	res.Warnings = append(slices.Clone(res.Warnings), err.Message+" when it was closed")
	return &res
}

// panicked is the error of a provider that panicked with p, or where that is nil ended
// the goroutine it was called on.
func panicked(p any) *Error {
	e := &Error{Kind: client.KindAgent, Step: client.StepSpawn, Message: "the provider ended its goroutine"}
	if p != nil {
		e.Message = "the provider panicked"
		e.Err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
	return e
}
