package subagent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
)

// errClosed is the cause with which Close cancels a turn that is still open.
var errClosed = errors.New("the run was closed")

// run is the Run that this package's providers hand out. A provider makes one,
// reports to it what happens while the session is being made, and then lets it go
// with begin; or, if the start failed, drops it.
type run struct {
	id       string
	provider string
	req      Request
	born     time.Time // when its agent was started
	started  time.Time // when it was asked for
	collect  *collector
	updates  *updateQueue
	audit    *auditRun // nil without one
	// delivering counts the updates that are being handed to readers at the moment.
	delivering atomic.Int32

	// ctx is the run's life. It ends with the context given to Start, by Cancel, or
	// by Close.
	ctx    context.Context
	cancel context.CancelCauseFunc

	driver driver
	base   Result // what was known when the session existed; not changed after begin
	// How long the parts took; set before done is closed.
	startTook, promptTook time.Duration
	outcome               *Result
	done                  chan struct{} // closed when outcome is set
	ended                 chan struct{} // closed when the end event was told
	sent                  chan struct{} // closed when something of the prompt was written
	sentOnce              sync.Once

	closeOnce sync.Once
	final     *Result // set by closeOnce

	tell sync.Mutex // held while Events runs: one event at a time; guards what is below
	// early holds the events that came before the start event; begun and over say
	// that the start and the end were told, waiting that there is no request yet: req
	// comes with it.
	early                []Event
	earlyBytes           int
	waiting, begun, over bool

	muted atomic.Bool   // no event is told any more
	grace time.Duration // listenerGrace; not changed after begin

	mu             sync.Mutex          // guards what is below
	secrets        func(string) string // replaces them; nil until they are known
	warnings       []string
	untold         []string // those of them that are to be told when there is an outcome
	settled        int      // how many of them are in outcome
	listenerFailed bool
}

// driver is the part of a run that differs from provider to provider.
type driver struct {
	// turn carries out the prompt turn: it reports updates to the run and returns
	// when the turn has ended, at the latest soon after ctx has. It is called once,
	// on the run's own goroutine.
	turn func(ctx context.Context) turnEnd
	// look fills in what is known of the program by now. It is called when the turn
	// has ended. nil: there is nothing to look at.
	look func(*Result)
	// close ends whatever the run started and fills in what can be known only then.
	// It is called once, after turn has returned. nil: there is nothing to end.
	close func(*Result)
}

// turnEnd is how a prompt turn ended.
type turnEnd struct {
	stopReason *string // the agent's own word; nil without one
	meta       map[string]any
	usage      *Usage
	// cancelled is set where the turn was told to end before its answer was there:
	// then the run is aborted, whatever the answer says.
	cancelled bool
	err       *Error
}

// newRun returns a run that has not begun. ctx is the one given to Start.
func newRun(ctx context.Context, provider string, req Request) *run {
	r := newWaiting(provider)
	r.accept(ctx, req)
	return r
}

// newWaiting returns a run that has not even a request. What happens until it accepts one
// is kept for whoever made that.
func newWaiting(provider string) *run {
	return &run{
		id: newRunID(), provider: provider, waiting: true, born: time.Now(),
		collect: newCollector(), updates: newUpdateQueue(),
		done: make(chan struct{}), ended: make(chan struct{}), sent: make(chan struct{}), grace: listenerGrace,
	}
}

// accept gives the run its request. From here on it counts as started.
func (r *run) accept(ctx context.Context, req Request) {
	r.started = time.Now()
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.tell.Lock()
	defer r.tell.Unlock()
	r.req, r.waiting = req, false
	if req.Events == nil {
		r.early = nil
	}
}

// begin lets the run go once its session exists. base holds what is known by then.
func (r *run) begin(base Result, d driver) {
	r.base, r.driver = base, d
	r.startTook = time.Since(r.started)
	r.base.Timing.StartMs = ms(r.startTook)
	session := ""
	if base.SessionID != nil {
		session = *base.SessionID
	}
	r.updates.only(session)
	abandoned := true
	defer func() {
		// The turn's goroutine ends when the end event was told, which is soon after
		// the turn has ended; Close waits for it.
		go r.life()
		if abandoned {
			// Events has ended the goroutine that starts the run, as a test's FailNow
			// does: nobody gets the run, and so nobody will close it.
			r.Close()
		}
	}()
	r.tellStart()
	abandoned = false
}

// life is the run from its prompt to its outcome.
func (r *run) life() {
	defer close(r.ended)
	// A reader must not keep a turn from ending that is being cancelled.
	stop := context.AfterFunc(r.ctx, r.updates.release)
	promptStart := time.Now()
	r.turn(func(end turnEnd) {
		stop()
		r.promptTook = time.Since(promptStart)
		r.outcome = r.settle(end)
		r.updates.close()
		close(r.done)
		r.tellNoted()
		r.event(Event{Type: EventEnd, Result: r.outcome})
	})
}

// turn runs the driver's turn and then calls over, whatever becomes of it. A panic in
// it is a bug of ours or of a function provider, and so is a goroutine that it ends: they
// must not end the program that delegates, nor leave it waiting.
func (r *run) turn(over func(turnEnd)) {
	end := turnEnd{err: &Error{Kind: client.KindAgent, Step: client.StepPrompt, Message: "the provider ended its goroutine"}}
	returned := false
	defer func() {
		if p := recover(); p != nil {
			end.err.Message = "the provider panicked"
			end.err.Err = errors.New(r.redact(fmt.Sprintf("panic: %v\n%s", p, debug.Stack())))
		}
		if !returned {
			end.cancelled = r.ctx.Err() != nil
		}
		over(end)
	}()
	end = r.driver.turn(r.ctx)
	returned = true
}

// promptSent says that something of the prompt was written: the agent may be at work on it.
func (r *run) promptSent() { r.sentOnce.Do(func() { close(r.sent) }) }

// prompted is closed once promptSent was called.
func (r *run) prompted() <-chan struct{} { return r.sent }

// settle makes the outcome.
func (r *run) settle(end turnEnd) *Result {
	res := r.base
	r.collect.fill(&res, end.cancelled, r.redact)
	if r.driver.look != nil {
		r.driver.look(&res)
	}
	res.StopReason, res.Meta = redactPtr(end.stopReason, r.redact), redactMeta(end.meta, r.redact)
	res.Usage = mergeUsage(end.usage, res.Usage)
	res.Error = end.err
	res.Stop = r.stop(&end, &res)
	r.mu.Lock()
	res.Warnings = append(slices.Clone(res.Warnings), r.warnings...)
	r.settled = len(r.warnings)
	r.mu.Unlock()
	if res.Error != nil {
		res.Error.describe(&res)
		res.Error.Provider, res.Error.Message = r.provider, r.redact(res.Error.Message)
	}
	res.Timing.PromptMs = ms(r.promptTook)
	res.Timing.TotalMs = ms(r.startTook, r.promptTook)
	return &res
}

// stop decides the outcome, and the error and warning that go with it.
func (r *run) stop(end *turnEnd, res *Result) stopreason.Outcome {
	if end.cancelled {
		// We ended the turn. Which clock it was is the error; a plain cancel is none,
		// and neither is what the agent then made of it.
		res.Error = r.abortCause()
		return stopreason.Aborted
	}
	if res.Error != nil {
		return stopreason.Error
	}
	reason := ""
	if end.stopReason != nil {
		reason = *end.stopReason
	}
	o := stopreason.Of(reason)
	switch {
	case o == stopreason.Aborted:
		r.note("the agent ended the turn as cancelled although nobody had cancelled it")
	case reason == stopreason.MaxTurnRequests:
		res.Error = &Error{Kind: client.KindRemoteLimit, Step: client.StepPrompt, Message: "the agent stopped at its limit of requests per turn"}
	case o == stopreason.Error:
		res.Error = &Error{Kind: client.KindProtocol, Step: client.StepPrompt, Message: fmt.Sprintf("the agent ended the turn with the unknown stop reason %q", clip(r.redact(reason)))}
		if end.stopReason == nil {
			res.Error.Message = "the agent ended the turn without a stop reason"
		}
	}
	return o
}

// idleError is the cause with which the idle clock ends a turn.
type idleError struct{ limit time.Duration }

func (e *idleError) Error() string { return fmt.Sprintf("nothing came from the agent for %v", e.limit) }

// abortCause returns the error of a turn that a clock ended, nil for a plain cancel.
// Only a clock of this run counts: the cause that a caller cancels with may be the
// error, or the deadline, of another run.
func (r *run) abortCause() *Error {
	if idle, ok := context.Cause(r.ctx).(*idleError); ok {
		return &Error{Kind: client.KindIdleTimeout, Step: client.StepPrompt, Message: idle.Error(), Err: idle}
	}
	if errors.Is(r.ctx.Err(), context.DeadlineExceeded) {
		return &Error{Kind: client.KindTimeout, Step: client.StepPrompt, Message: "the caller's deadline passed", Err: contextError(r.ctx)}
	}
	return nil
}

// redact replaces the secrets of the run's program in text.
func (r *run) redact(text string) string {
	r.mu.Lock()
	secrets := r.secrets
	r.mu.Unlock()
	if secrets == nil {
		return text
	}
	return secrets(text)
}

// knowsSecrets reports whether redact replaces any.
func (r *run) knowsSecrets() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.secrets != nil
}

// setSecrets says how secrets are replaced from now on.
func (r *run) setSecrets(replace func(string) string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets = replace
}

// maxWarnings bounds what an agent can make us warn of.
const maxWarnings = 100

// warn adds a warning to the result and tells of it. That waits for the listener: on the
// way to the outcome it is note.
func (r *run) warn(text string) {
	if text, ok := r.keepWarning(text); ok {
		r.event(Event{Type: EventWarning, Warning: text})
	}
}

// note adds a warning to the result that is told of once there is an outcome: a listener
// that is at work, or that closes the run, must not keep it from that.
func (r *run) note(text string) {
	if text, ok := r.keepWarning(text); ok {
		r.mu.Lock()
		r.untold = append(r.untold, text)
		r.mu.Unlock()
	}
}

// tellNoted tells of what was noted.
func (r *run) tellNoted() {
	r.mu.Lock()
	untold := r.untold
	r.untold = nil
	r.mu.Unlock()
	for _, text := range untold {
		r.event(Event{Type: EventWarning, Warning: text})
	}
}

// keepWarning adds a warning to the result and returns it as it is to be told; false
// where there are too many.
func (r *run) keepWarning(text string) (string, bool) {
	text = r.redact(text)
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.warnings)
	if n > maxWarnings {
		return "", false
	}
	if n == maxWarnings {
		text = "there was more to warn of than is kept"
	}
	r.warnings = append(r.warnings, text)
	return text, true
}

// permission tells of a decision; the collector has it already.
func (r *run) permission(rec permission.Record) {
	r.event(Event{Type: EventPermission, Permission: &rec})
	if rec.Ambiguous {
		r.warn(fmt.Sprintf("the permission for tool call %q was not given: the agent offers several options of one kind, and the policy does not say which to take", clip(r.redact(rec.ToolCallID))))
	}
}

// update hands u to the readers; the collector has seen it already. u is not used
// by anybody else afterwards. Events tell of every session, Updates of the run's own.
func (r *run) update(u client.Update) {
	r.delivering.Add(1)
	defer r.delivering.Add(-1)
	defer r.updates.push(u) // also where the listener ends its goroutine
	r.event(Event{Type: EventUpdate, SessionID: string(u.SessionID), Update: u.Raw})
}

func (r *run) ID() string { return r.id }

func (r *run) Updates() iter.Seq[client.Update] { return r.updates.all() }

func (r *run) discardUpdates() { r.updates.drop() }

func (r *run) Done() <-chan struct{} { return r.done }

func (r *run) Wait(ctx context.Context) (*Result, error) {
	select {
	case <-r.done:
		return r.outcome, nil
	default:
	}
	select {
	case <-r.done:
		return r.outcome, nil
	case <-ctx.Done():
		return nil, contextError(ctx)
	}
}

func (r *run) Cancel() { r.cancel(context.Canceled) }

// listenerGrace is how long Close waits for a Request.Events that is at work when
// everything else has ended.
const listenerGrace = 10 * time.Second

func (r *run) Close() *Result {
	r.closeOnce.Do(func() {
		r.cancel(errClosed)
		<-r.done
		closing := time.Now()
		final := *r.outcome
		r.final = &final
		final.Warnings = slices.Clone(final.Warnings)
		r.shut(&final)
		took := time.Since(closing)
		final.Timing.CloseMs = ms(took)
		final.Timing.TotalMs = ms(r.startTook, r.promptTook, took)
		select {
		case <-r.ended:
		case <-time.After(r.grace):
			r.muted.Store(true)
			final.Warnings = append(final.Warnings, "Request.Events has not returned; it is told of nothing more")
		}
		r.mu.Lock()
		final.Warnings = append(final.Warnings, r.warnings[r.settled:]...)
		r.mu.Unlock()
	})
	return r.final
}

// shut ends what the driver started. A panic in a provider's function is contained.
func (r *run) shut(final *Result) {
	defer func() {
		if p := recover(); p != nil {
			final.Warnings = append(final.Warnings, "the provider panicked when it was closed: "+clip(r.redact(fmt.Sprint(p))))
		}
	}()
	if r.driver.close != nil {
		r.driver.close(final)
	}
}

// ms gives durations added up in milliseconds, to the microsecond.
func ms(parts ...time.Duration) float64 {
	var sum time.Duration
	for _, d := range parts {
		sum += d
	}
	return float64(sum.Microseconds()) / 1000
}

// contextError is why ctx has ended: its own error, for errors.Is, and with it the
// cause that the caller gave, if it is another one.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// contextKind is the kind of error for a start that ctx ended.
func contextKind(ctx context.Context) client.ErrorKind {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return client.KindTimeout
	}
	return client.KindCancelled
}
