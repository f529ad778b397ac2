package subagent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// How a run is cancelled.
func parityCancel(t *testing.T) {
	t.Run("A18 cancel keeps late text", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt
			text "before"
			wait cancel
			wait 50ms
			text ", during"
			wait 50ms
			text ", after"
			stop cancelled`, nil)
		ctx, cancel := context.WithCancel(t.Context())
		run := s.start(ctx)
		firstText(t, run)
		cancel()
		res := outcome(t, run)
		ended(t, res, stopreason.Aborted, "")
		check.Equal(t, "output", res.Output, "before, during, after")
		check.Equal(t, "stop reason", *res.StopReason, "cancelled")
		check.Equal(t, "Err()", res.Err().Error(), "the run ended as aborted")
		res = closed(t, run)
		check.Equal(t, "methods", s.methods(), "initialize session/new session/prompt session/cancel")
		check.Equal(t, "params", s.Params("session/cancel"), `{"sessionId":"session-1"}`)
		check.Equal(t, "exit", res.Exit.String(), "exit status 0")

		// Whatever the agent then makes of it.
		for _, answer := range []string{"stop end_turn", `fail -32800 "request cancelled"`, `fail -32603 "abort"`, "stop banana"} {
			s := play(t, `on session/prompt; text "before"; wait cancel; `+answer, nil)
			run := s.start(t.Context())
			firstText(t, run)
			run.Cancel()
			res := closed(t, run)
			ended(t, res, stopreason.Aborted, "")
			check.Equal(t, "output", res.Output, "before")
		}
	})

	t.Run("A22 cancel during session/new", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/new; write pid "$pid"; write asked; wait forever
			on eof; wait 100ms; write flushed`, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { // ends with the start
			s.Await("asked")
			cancel()
		}()
		e := s.refused(ctx, s.request("go"), client.KindCancelled)
		if !errors.Is(e, context.Canceled) {
			t.Errorf("%v does not wrap context.Canceled", e)
		}
		check.Equal(t, "step", e.Step, client.StepNewSession)
		check.Equal(t, "its flush was waited for", s.Exists("flushed"), true)
		s.Reaped("pid")
		for _, f := range s.Frames() {
			if strings.HasPrefix(f.Method, "session/prompt") {
				t.Errorf("a prompt was sent: %s", f.Params)
			}
		}
	})

	t.Run("A29 a crash after a cancel", func(t *testing.T) {
		t.Parallel()
		for crash, exit := range map[string]string{"exit 7": "exit status 7", "raise SEGV": "", "raise KILL": "signal SIGKILL"} {
			s := play(t, `on session/prompt; text "so far"; wait cancel; `+crash, nil)
			run := s.start(t.Context())
			firstText(t, run)
			run.Cancel()
			res := closed(t, run)
			ended(t, res, stopreason.Aborted, "")
			check.Equal(t, "output", res.Output, "so far")
			if exit != "" {
				check.Equal(t, "exit", res.Exit.String(), exit)
			}
		}
	})

	t.Run("A30 a cancel that is ignored", func(t *testing.T) {
		t.Parallel()
		const grace = 200 * time.Millisecond
		// It heeds EOF, and has read what comes before that.
		graces := client.Graces{Cancel: grace, EOF: hang}
		s := play(t, `on session/prompt; text "so far"; wait cancel; wait forever`, &subagent.ACPOptions{Graces: graces})
		run := s.start(t.Context())
		firstText(t, run)
		begin := time.Now()
		run.Cancel()
		res := outcome(t, run)
		took := time.Since(begin)
		if took < grace || took > hang/2 {
			t.Errorf("it took %v, with a grace of %v", took, grace)
		}
		ended(t, res, stopreason.Aborted, "")
		check.Equal(t, "output", res.Output, "so far")
		check.Equal(t, "stop reason", res.StopReason, nil)
		closed(t, run)
		check.Equal(t, "methods", s.methods(), "initialize session/new session/prompt session/cancel")
	})

	t.Run("A37 a permission after a cancel", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt
			text "at work"
			wait cancel
			permission c1 "Delete everything" kind=delete
				option yes allow_once "Yes"
				option no reject_once "No"
				when allowed
					write deleted
				when cancelled
					text ", then not"
			end
			stop cancelled`, &subagent.ACPOptions{Permission: permission.Allow()})
		run := s.start(t.Context())
		firstText(t, run)
		run.Cancel()
		res := closed(t, run)
		ended(t, res, stopreason.Aborted, "")
		check.Equal(t, "answers", strings.Join(s.answers(), " "), `{"outcome":{"outcome":"cancelled"}}`)
		check.Equal(t, "deleted", s.Exists("deleted"), false)
		check.Equal(t, "output", res.Output, "at work, then not")
		if len(res.Permissions) != 1 || res.Permissions[0].Decision != permission.Cancelled || res.Permissions[0].ToolCallID != "c1" {
			t.Errorf("permissions %+v", res.Permissions)
		}

		// One that is pending while the cancel comes.
		asked := make(chan struct{})
		policy := permission.PolicyFunc(func(ctx context.Context, req permission.Request) permission.Decision {
			close(asked)
			<-ctx.Done()
			return permission.Allow().Decide(ctx, req) // too late
		})
		s = play(t, `on session/prompt
			permission c1 "Delete everything" kind=delete
				option yes allow_once "Yes"
				when allowed
					write deleted
			end
			text "answered: $outcome"
			stop cancelled`, &subagent.ACPOptions{Permission: policy})
		run = s.start(t.Context())
		<-asked
		run.Cancel()
		res = closed(t, run)
		ended(t, res, stopreason.Aborted, "")
		check.Equal(t, "answers", strings.Join(s.answers(), " "), `{"outcome":{"outcome":"cancelled"}}`)
		check.Equal(t, "deleted", s.Exists("deleted"), false)
		if len(res.Permissions) != 1 || res.Permissions[0].Decision != permission.Cancelled {
			t.Errorf("permissions %+v", res.Permissions)
		}
	})

	t.Run("C3 cancel ends a slow turn", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt
			repeat forever
				text "$i "
				wait 5ms
			end`, nil)
		run := s.start(t.Context())
		n := 0
		for range run.Updates() {
			if n++; n == 3 {
				run.Cancel()
			}
		}
		res := closed(t, run)
		ended(t, res, stopreason.Aborted, "")
		check.Equal(t, "stop reason", *res.StopReason, "cancelled")
		check.Has(t, res.Output, "1 2 3 ")
	})
}

// A cancel's cause may be the error, or the deadline, of another run: this one was
// cancelled, and no more.
func TestCancelWithTheCauseOfAnother(t *testing.T) {
	other := &subagent.Error{Kind: client.KindExit, Step: client.StepPrompt, Message: "another agent crashed"}
	for name, cause := range map[string]error{
		"error":    fmt.Errorf("the group: %w", other),
		"timeout":  fmt.Errorf("another run: %w", context.DeadlineExceeded),
		"the same": other,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t, "on session/prompt\n  text ready\n  wait cancel\n  stop cancelled\n", nil)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			run := s.start(ctx)
			for range run.Updates() {
				cancel(cause)
			}
			ended(t, outcome(t, run), stopreason.Aborted, "")
			ended(t, closed(t, run), stopreason.Aborted, "")
		})
	}
}
