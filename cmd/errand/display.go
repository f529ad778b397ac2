package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/visible"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// display is the run as this program shows it: on stdout in its format, and beside it,
// for people, on the screen.
type display struct {
	format format
	out    *output
	screen *screen
	agent  choice      // what is known of the agent, with warnings of our own
	at     client.Step // at which its start was cancelled; empty where it was not
	over   atomic.Bool // the end was shown: a killed run may still have events
}

// event shows an event. The end is left to the end: only then the result is whole.
func (s *display) event(e subagent.Event) {
	if s.over.Load() {
		return
	}
	if s.format != eventsFormat {
		s.screen.event(e)
		return
	}
	if e.Type == subagent.EventEnd {
		return
	}
	s.out.out(encode(e))
	if e.Type == subagent.EventStart {
		for _, note := range s.agent.notes {
			s.out.out(encode(subagent.Event{Type: subagent.EventWarning, RunID: e.RunID, Time: e.Time, Warning: note}))
		}
	}
}

// errUnread is why a cancelled run's output is incomplete.
var errUnread = errors.New("the output was not read")

// end shows the result and returns the exit status. ctx is the one that this program
// cancels its run by; hint says that a denied permission is to be explained.
func (s *display) end(res *subagent.Result, ctx context.Context, hint bool) int {
	s.over.Store(true)
	streamed := s.screen.end()
	if n := s.out.dropped(); n > 0 {
		res.Warnings = append(res.Warnings, fmt.Sprintf("%d pieces of the output are missing: nobody read them while the run was ended", n))
	}
	err := s.out.deliver(s.format.result(res, streamed), func(warning string) string {
		told := *res
		told.Warnings = append(slices.Clone(res.Warnings), warning)
		return s.format.result(&told, false)
	})
	s.screen.warnings(res)
	why := ""
	if ctx.Err() != nil {
		why = context.Cause(ctx).Error()
	}
	for _, line := range explain(res, why, s.at, s.agent) {
		s.out.diag(line + "\n")
	}
	if s.format.isText() && !s.screen.quiet && res.Empty && res.Error == nil && res.Stop == stopreason.Completed {
		s.out.diag("errand: " + visible.Line(res.Provider) + " completed without any text\n")
	}
	if text := deniedHint(res); hint && text != "" {
		s.out.diag(text + "\n")
	}
	return s.out.end(err, exitStatus(res, stopStatus(ctx)), stopStatus(ctx))
}

// deliver writes the result to stdout. Whatever it cost to get it must not be lost for a
// full disk: then it goes to stderr, as again gives it with a warning of that.
func (o *output) deliver(result string, again func(warning string) string) error {
	o.ending()
	o.result(result)
	err := o.wait()
	if err != nil && !isClosedPipe(err) {
		warning := fmt.Sprintf("the result could not be written to stdout: %v", err)
		o.diag("errand: " + warning + "; here it is\n" + again(warning))
	}
	return err
}

// end waits until everything is written and returns the status to exit with, which is
// status if all went well. err is that of deliver; stopped is the status of what made this
// program cancel, 0 if nothing did.
func (o *output) end(err error, status, stopped int) int {
	o.ending()
	if !o.done() {
		err = errUnread
	}
	switch {
	case err == nil:
		return status
	case isClosedPipe(err):
		return cmp.Or(stopped, statusSIGPIPE)
	case status == statusOK && stopped != 0:
		return stopped
	case status == statusOK:
		return statusFailed
	}
	return status
}
