package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	s.out.result(s.format.result(res, streamed))
	err := s.out.wait()
	s.screen.warnings(res)
	if err != nil && !isClosedPipe(err) {
		// Whatever it cost to get it must not be lost for a full disk.
		warning := fmt.Sprintf("the result could not be written to stdout: %v", err)
		res.Warnings = append(res.Warnings, warning)
		s.out.diag("errand: " + warning + "; here it is\n" + s.format.result(res, false))
	}
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
	if !s.out.done() {
		err = errUnread
	}
	status := exitStatus(res, stopStatus(ctx))
	switch {
	case err == nil:
		return status
	case isClosedPipe(err):
		return cmp.Or(stopStatus(ctx), statusSIGPIPE)
	case status == statusOK && stopStatus(ctx) != 0:
		return stopStatus(ctx)
	case status == statusOK:
		return statusFailed
	}
	return status
}
