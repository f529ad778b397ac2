package subagent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// How an agent is ended.
func parityClose(t *testing.T) {
	// heard is a grace for an agent that does not go, but shows that it has heard.
	const heard = 4 * time.Second
	t.Run("A5 the end of stdin is enough", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on signal TERM; write signalled
			on session/prompt; write pid "$pid"
			on eof; write at-eof`, nil)
		res := s.run("go")
		ended(t, res, stopreason.Completed, "")
		check.Equal(t, "exit", res.Exit.String(), "exit status 0")
		check.Equal(t, "rung", res.Exit.Rung, client.RungEOF)
		check.Equal(t, "it saw the end of stdin", s.Exists("at-eof"), true)
		check.Equal(t, "it was signalled", s.Exists("signalled"), false)
		s.Reaped("pid")
	})

	t.Run("A6 deaf to the end of stdin", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt; write pid "$pid"
			on eof; write at-eof; wait forever`, &subagent.ACPOptions{Graces: client.Graces{EOF: heard, Term: hang}})
		res := s.run("go")
		ended(t, res, stopreason.Completed, "")
		check.Equal(t, "it saw the end of stdin", s.Exists("at-eof"), true)
		check.Equal(t, "exit", res.Exit.String(), "signal SIGTERM")
		check.Equal(t, "rung", res.Exit.Rung, client.RungTerm)
		s.Reaped("pid")
	})

	t.Run("A7 deaf to SIGTERM", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt; write pid "$pid"
			on signal TERM; write at-term; wait forever
			on eof; wait forever`, &subagent.ACPOptions{Graces: client.Graces{EOF: 300 * time.Millisecond, Term: heard, Kill: hang}})
		res := s.run("go")
		ended(t, res, stopreason.Completed, "")
		check.Equal(t, "it saw SIGTERM", s.Exists("at-term"), true)
		check.Equal(t, "exit", res.Exit.String(), "signal SIGKILL")
		check.Equal(t, "rung", res.Exit.Rung, client.RungKill)
		s.Reaped("pid")
	})

	t.Run("A20 no session id", func(t *testing.T) {
		t.Parallel()
		for _, answer := range []string{"{}", "null", `{"sessionId":""}`, `{"sessionId":7}`, `[]`} {
			s := play(t, fmt.Sprintf(`on session/new; write pid "$pid"; reply %s
				on eof; wait 100ms; write flushed`, answer), nil)
			e := s.refused(t.Context(), s.request("go"), client.KindProtocol)
			check.Equal(t, "its flush was waited for", s.Exists("flushed"), true)
			s.Reaped("pid")
			check.Equal(t, "step", e.Step, client.StepNewSession)
			check.Has(t, e.Message, "session id", answer)
			check.Equal(t, "methods", s.methods(), "initialize session/new")
			check.Equal(t, "exit", e.Partial.Exit.String(), "exit status 0")
			check.Equal(t, "rung", e.Partial.Exit.Rung, client.RungEOF)
		}
	})

	t.Run("A21 a long flush at the end of stdin", func(t *testing.T) {
		t.Parallel()
		graces := client.Graces{EOF: hang, Term: 20 * time.Millisecond, Kill: time.Second}
		s := play(t, `on eof; wait 400ms; write flushed
			on signal TERM; write signalled`, &subagent.ACPOptions{Graces: graces})
		res := s.run("go")
		check.Equal(t, "flushed", s.Exists("flushed"), true)
		check.Equal(t, "signalled", s.Exists("signalled"), false)
		check.Equal(t, "exit", res.Exit.String(), "exit status 0")
		check.Equal(t, "rung", res.Exit.Rung, client.RungEOF)
		if res.Timing.CloseMs < 400 {
			t.Errorf("closed after %v ms", res.Timing.CloseMs)
		}
	})

	t.Run("A39 a grandchild holds stdout", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt
			text "last words"
			spawn stdout
				write grandchild "$pid"
				write up
				wait forever
			end
			wait file up
			exit 5`, &subagent.ACPOptions{Graces: shortGraces})
		run := s.start(t.Context())
		res := outcome(t, run)
		ended(t, res, stopreason.Error, client.KindExit)
		check.Equal(t, "output", res.Output, "last words")
		res = closed(t, run)
		check.Equal(t, "exit", res.Exit.String(), "exit status 5")
		check.Equal(t, "rung", res.Exit.Rung, client.RungExit)
		s.Gone("grandchild")
	})

	t.Run("A40 close without a cancel", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt
				text "before"
				wait cancel
				text " and after"
				stop cancelled
			on eof; write at-eof`, nil)
		run := s.start(t.Context())
		firstText(t, run)
		res := closed(t, run)
		ended(t, res, stopreason.Aborted, "")
		check.Equal(t, "methods", s.methods(), "initialize session/new session/prompt session/cancel")
		check.Equal(t, "params", s.Params("session/cancel"), `{"sessionId":"session-1"}`)
		// Its answer came, so stdin was still open.
		check.Equal(t, "stop reason", *res.StopReason, "cancelled")
		check.Equal(t, "output", res.Output, "before and after")
		check.Equal(t, "exit", res.Exit.String(), "exit status 0")
	})

	t.Run("A54 a torn pipe", func(t *testing.T) {
		t.Parallel()
		// That this process is alive afterwards is a part of the test: no SIGPIPE.
		t.Run("at the prompt", func(t *testing.T) {
			t.Parallel()
			s := play(t, `on session/new
				stdin close
				reply {"sessionId":"s1"}
				wait forever`, &subagent.ACPOptions{Graces: shortGraces})
			// Written until the pipe is full: that stdin is closed shows for certain.
			res := s.run("a long prompt " + strings.Repeat("x", 1<<20))
			ended(t, res, stopreason.Error, client.KindTransport)
			check.Equal(t, "step", res.Error.Step, client.StepPrompt)
		})
		t.Run("an answer already sent", func(t *testing.T) {
			t.Parallel()
			s := play(t, `on session/prompt
				stdin close
				text "the answer"
				stop end_turn
				wait forever`, &subagent.ACPOptions{Graces: shortGraces})
			res := s.run("go")
			ended(t, res, stopreason.Completed, "")
			check.Equal(t, "output", res.Output, "the answer")
		})
		t.Run("at the cancel", func(t *testing.T) {
			t.Parallel()
			s := play(t, `on session/prompt
				stdin close
				text "so far"
				wait forever`, &subagent.ACPOptions{Graces: shortGraces})
			run := s.start(t.Context())
			firstText(t, run)
			run.Cancel()
			res := outcome(t, run)
			ended(t, res, stopreason.Aborted, "")
			check.Equal(t, "output", res.Output, "so far")
			check.Equal(t, "stop reason", res.StopReason, nil)
		})
		t.Run("at the close", func(t *testing.T) {
			t.Parallel()
			s := play(t, `on session/prompt
				text "the answer"
				stop end_turn
				stdin close
				stdout close
				write torn
				wait forever`, &subagent.ACPOptions{Graces: shortGraces})
			run := s.start(t.Context())
			s.Await("torn")
			outcome(t, run) // a cancel of Close's must not come before the answer is read
			res := closed(t, run)
			ended(t, res, stopreason.Completed, "")
			check.Equal(t, "output", res.Output, "the answer")
			check.Equal(t, "rung", res.Exit.Rung, client.RungTerm)
		})
	})

	t.Run("B8 every rung in its order", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt
				write pid "$pid"
				text "busy"
				wait cancel
				append rungs cancel
				stop cancelled
			on session/close
				append rungs "close of $params.sessionId"
			on eof
				append rungs eof
				wait forever
			on signal TERM
				append rungs term
				wait forever`, &subagent.ACPOptions{Graces: client.Graces{Cancel: hang, Close: hang, EOF: heard, Term: heard, Kill: hang}})
		run := s.start(t.Context())
		firstText(t, run)
		res := closed(t, run)
		check.Equal(t, "rungs", s.File("rungs"), "cancel\nclose of session-1\neof\nterm\n")
		check.Equal(t, "methods", s.methods(), "initialize session/new session/prompt session/cancel session/close")
		check.Equal(t, "exit", res.Exit.String(), "signal SIGKILL")
		check.Equal(t, "rung", res.Exit.Rung, client.RungKill)
		s.Reaped("pid")
	})
}

// firstText waits until the agent has said something.
func firstText(t testing.TB, run subagent.Run) {
	t.Helper()
	for u := range run.Updates() {
		if u.Kind == "agent_message_chunk" {
			return
		}
	}
	t.Fatal("the turn ended without a word")
}
