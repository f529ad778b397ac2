package subagent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/envscrub"
	"github.com/errand-acp/errand/internal/home"
)

// acpRun is what an ACP run has beside its run: the agent and its session.
type acpRun struct {
	*run
	provider *acpProvider
	known    Result // of the run, before it begins
	home     *home.Home
	agent    *client.Agent
	session  *client.Session
	hosted   *hosted
}

// open makes the session and puts what is known by then into base.
func (a *acpRun) open(ctx context.Context) error {
	base := &a.known
	info := a.agent.Info()
	base.ProtocolVersion = &info.ProtocolVersion
	base.Agent.Name, base.Agent.Version = nonEmpty(a.redact(info.Name)), nonEmpty(a.redact(info.Version))
	base.Agent.Command, base.Agent.Path = a.agent.Command(), nonEmpty(a.redact(a.agent.Path()))
	base.WithheldEnv = append(base.WithheldEnv, a.agent.WithheldEnv()...)

	if exposed := a.agent.ExposedEnv(); a.provider.cmd.Inherit.Mode == envscrub.None && len(exposed) > 0 {
		a.warn("the environment is passed on as it is, with what looks like credentials in it: " + strings.Join(exposed, ", "))
	}

	// A block that the agent does not take is refused before there is a session.
	if !a.waiting {
		if err := a.agent.CheckPrompt(a.req.Prompt); err != nil {
			return err
		}
	}
	session, err := a.agent.NewSession(ctx, &client.SessionOptions{
		OnReply: func(id string, result json.RawMessage) {
			a.collect.setSession(id)
			a.collect.newSession(result)
		},
	})
	if err != nil {
		return err
	}
	a.session = session
	id := string(session.ID())
	base.SessionID = &id
	model, mode := a.collect.modelAndMode()
	base.Model, base.Mode = redactPtr(model, a.redact), redactPtr(mode, a.redact)
	return nil
}

// begin lets the run go.
func (a *acpRun) begin() Run {
	a.audit.begin(&a.known)
	a.run.begin(a.known, driver{turn: a.turn, look: a.look, close: func(final *Result) {
		a.close(final)
		a.audit.end(final)
	}})
	return a.run
}

// amend adds to the error of a session that could not be made what the agent told until
// its end: stderr comes by another way than the answer.
func (a *acpRun) amend(err error, exit *client.Exit) {
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		return
	}
	e.StderrTail, e.StderrTruncated = a.agent.Stderr()
	e.Noise = a.agent.Noise()
	if e.Exit == nil {
		e.Exit = exit
	}
}

// turn carries out the prompt turn.
func (a *acpRun) turn(ctx context.Context) turnEnd {
	answer, err := a.prompt(ctx)
	if a.provider.opts.SettleTime > 0 && err == nil {
		a.settleTime(ctx)
	}
	a.endTurn()
	a.noteMissing()
	end := turnEnd{cancelled: answer.Cancelled, stopReason: answer.StopReason, meta: answer.Meta}
	end.usage = readUsage(readFields(answer.Usage))
	if err != nil {
		end.err = asError(err)
		switch end.err.Kind {
		case client.KindCancelled, client.KindTimeout:
			// The prompt was taken back before any of it had left.
			end.cancelled = true
		}
		end.err.Retryable = !answer.Sent && retryable(end.err.Kind)
	}
	return end
}

// prompt sends the prompt and waits for its answer, for as long as the agent is not
// idle.
func (a *acpRun) prompt(ctx context.Context) (client.Answer, error) {
	if limit := a.provider.opts.IdleTimeout; limit > 0 {
		watch, stop := context.WithCancel(ctx)
		defer stop()
		// Ends with the prompt, at the latest when stop is called.
		go watchIdle(watch, limit, a.activity, func() {
			a.cancel(&idleError{limit})
		})
	}
	return a.session.Prompt(ctx, a.req.Prompt, &client.PromptOptions{OnSent: a.promptSent, OnReply: func() {
		// From here on updates are late, unless there is a settle time for them.
		if a.provider.opts.SettleTime == 0 {
			a.endTurn()
		}
	}})
}

func (a *acpRun) endTurn() {
	a.collect.asked(int(a.agent.Conn().Stats().PermissionRequests))
	a.collect.endTurn()
}

// settleTime waits for what comes after the answer to the prompt.
func (a *acpRun) settleTime(ctx context.Context) {
	timer := time.NewTimer(a.provider.opts.SettleTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-a.agent.Conn().Done():
	case <-ctx.Done():
	}
}

// activity is what the idle clock goes by. A reader that is slow holds the agent back:
// then it waits for us as well.
func (a *acpRun) activity() activity {
	s := a.agent.Conn().Stats()
	return activity{
		frames: s.Received, waiting: s.OpenRequests > 0 || a.delivering.Load() > 0, openCall: a.collect.openCalls(),
	}
}

// look fills in what the agent wrote so far beside its frames.
func (a *acpRun) look(res *Result) {
	res.StderrTail, res.StderrTruncated = a.agent.Stderr()
	noise := a.agent.Noise()
	res.Noise = Noise{Lines: int(noise.Lines), First: append([]string{}, noise.First...)}
	dropped := int(a.agent.Conn().Stats().DroppedUpdates)
	res.Counts.Dropped += dropped
	res.Truncated = res.Truncated || dropped > 0 // it may have been text
	a.hosted.fill(res)
}

// close shuts the agent down and adds what is known only then.
func (a *acpRun) close(final *Result) {
	report := a.agent.Close()
	final.Exit = &report.Exit
	a.collect.fillLate(final)
	a.look(final)
	if s := a.agent.Conn().Stats(); s.DuplicateAnswers+s.StrayAnswers > 0 {
		final.Warnings = append(final.Warnings, fmt.Sprintf(
			"answers of the agent were ignored: %d to requests that it had answered, %d to requests that were never made", s.DuplicateAnswers, s.StrayAnswers))
	}
	a.removeHome(final)
	if report.StderrErr != nil {
		final.Warnings = append(final.Warnings, a.redact("not all of stderr was passed on: "+report.StderrErr.Error()))
	}
	a.noteTranscript(final)
	if len(report.Unsure) > 0 {
		final.Warnings = append(final.Warnings, a.redact("may have been left behind: "+strings.Join(report.Unsure, "; ")))
	}
	if len(report.Leftover) > 0 {
		text := a.redact("left behind, and could not be ended: " + strings.Join(report.Leftover, "; "))
		final.Warnings = append(final.Warnings, text)
		if final.Error == nil {
			final.Error = &Error{Kind: client.KindLeftover, Step: client.StepShutdown, Message: text}
		}
	}
}

// noteTranscript warns of what is missing in the transcript.
func (a *acpRun) noteTranscript(final *Result) {
	if t := a.req.Transcript; t != nil && t.Err() != nil {
		final.Warnings = append(final.Warnings, a.redact("the transcript is not complete: "+t.Err().Error()))
	}
}

// removeHome removes the run's own home, if it has one, once its processes have ended.
func (a *acpRun) removeHome(final *Result) {
	if a.home == nil {
		return
	}
	if err := a.home.Remove(); err != nil {
		final.Warnings = append(final.Warnings, a.redact("the home of the run is left behind: "+err.Error()))
	}
}

// fillFailed puts what err tells of a process that could not be started, or that did
// not come to a session, into r.
func (r *Result) fillFailed(err error) {
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		return
	}
	r.Exit, r.StderrTail, r.StderrTruncated = e.Exit, e.StderrTail, e.StderrTruncated
	r.Noise = Noise{Lines: int(e.Noise.Lines), First: append([]string{}, e.Noise.First...)}
	r.WithheldEnv = append([]string{}, e.WithheldEnv...)
	r.Agent.Command, r.Agent.Path = append([]string{}, e.Command...), nonEmpty(e.Path)
}

// noteMissing warns of what of the agent's was not taken.
func (a *acpRun) noteMissing() {
	s := a.agent.Conn().Stats()
	if n := s.DroppedUpdates - s.ComplexUpdates; n > 0 {
		a.note(tooLarge(n, a.provider.opts.MaxMessageBytes))
	}
	const complex = " too deep or held too many values"
	if n := s.ComplexUpdates; n > 0 {
		a.note(fmt.Sprintf("updates of the agent that nested%s are missing: %d; the output may not be complete", complex, n))
	}
	if n := s.ReducedFrames; n > 0 {
		a.note(fmt.Sprintf("fields that nested%s were left out of updates or answers of the agent: of %d", complex, n))
	}
}

// tooLarge says that n updates were dropped because each was larger than limit, 0 for
// the connection's own.
func tooLarge(n int64, limit int) string {
	const mebibyte = 1 << 20
	limit = cmp.Or(limit, 64*mebibyte)
	room := fmt.Sprintf("%d bytes", limit)
	if limit%mebibyte == 0 {
		room = fmt.Sprintf("%d MiB", limit/mebibyte)
	}
	what := "1 update of the agent was larger than the limit of %s and is missing"
	if n != 1 {
		what = fmt.Sprint(n) + " updates of the agent were larger than the limit of %s and are missing"
	}
	return fmt.Sprintf(what+"; the output may not be complete", room)
}

func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
