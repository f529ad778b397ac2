package client_test

import (
	"strings"
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
)

// How an agent ends, or is ended.
func parityEnd(t *testing.T) {
	t.Run("A39 a grandchild holds the pipe", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt
			text "so far"
			spawn stdout stderr
				write sleeper "$pid"
				wait forever
			end
			wait file sleeper
			raise KILL`)
		session := s.session()
		answer, err := s.prompt(session, "go")
		e := s.asError(err, client.KindExit, client.StepPrompt)
		check.Equal(t, "exit", e.Exit.String(), "signal SIGKILL")
		check.Has(t, e.Error(), "SIGKILL")
		check.Equal(t, "answer", string(answer.Raw), "")
		check.Equal(t, "text", s.text(), "so far")
	})

	t.Run("A40 close without a cancel", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt
			text "before"
			wait cancel
			text " and after"
			stop cancelled`)
		session := s.session()
		turn := s.ask(t.Context(), session, "go")
		s.says("before")
		s.close(s.agent, client.RungEOF, "exit status 0")
		answer, err := s.await(turn)
		s.ended(answer, err, "cancelled")
		check.Equal(t, "cancelled", answer.Cancelled, true)
		check.Equal(t, "text", s.text(), "before and after")
		check.Equal(t, "wire", s.wire(), "initialize session/new session/prompt session/cancel")
		check.Equal(t, "params", s.Params("session/cancel"), `{"sessionId":"session-1"}`)
	})

	t.Run("A47 the wait after SIGKILL is bounded", func(t *testing.T) {
		t.Parallel()
		parityUnkillable(t)
	})

	t.Run("A54 a torn pipe", func(t *testing.T) {
		t.Parallel()
		// That this process is alive afterwards is a part of the test: no SIGPIPE.
		t.Run("at the prompt", func(t *testing.T) {
			t.Parallel()
			s := play(t, `on session/new
				reply {"sessionId":"s1"}
				stdin close
				wait forever`)
			s.opts.Graces = deafToEOF
			session := s.session()
			// Written until the pipe is full: that stdin is closed shows for certain.
			answer, err := s.prompt(session, "a long prompt "+strings.Repeat("x", 1<<20))
			s.asError(err, client.KindTransport, client.StepPrompt)
			check.Equal(t, "answer", string(answer.Raw), "")
			s.close(s.agent, client.RungTerm, "signal SIGTERM")
		})
		t.Run("an answer already sent", func(t *testing.T) {
			t.Parallel()
			s := play(t, `on session/prompt
				stdin close
				text "the answer"
				stop end_turn
				wait forever`)
			s.opts.Graces = deafToEOF
			s.completes(s.session(), "go", "end_turn")
			check.Equal(t, "text", s.text(), "the answer")
		})
		t.Run("at the cancel", func(t *testing.T) {
			t.Parallel()
			s := play(t, `on session/prompt
				stdin close
				text "so far"
				wait forever`)
			s.opts.Graces = deafToEOF
			s.opts.Graces.Cancel = 400 * time.Millisecond
			session := s.session()
			turn := s.ask(t.Context(), session, "go")
			s.says("so far")
			session.Cancel()
			answer, err := s.await(turn)
			check.Equal(t, "cancelled", answer.Cancelled, true)
			if err == nil {
				t.Error("no error without an answer")
			}
			s.close(s.agent, client.RungTerm, "signal SIGTERM")
		})
		t.Run("at the close", func(t *testing.T) {
			t.Parallel()
			s := play(t, `on session/prompt
				text "the answer"
				stop end_turn
				stdin close
				stdout close
				write torn
				wait forever`)
			s.opts.Graces = deafToEOF
			session := s.session()
			s.completes(session, "go", "end_turn")
			s.Await("torn")
			s.close(s.agent, client.RungTerm, "signal SIGTERM")
		})
	})

	t.Run("B8 every rung in its order", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt
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
				wait forever`)
		s.opts.Graces = client.Graces{EOF: time.Second, Term: time.Second}
		session := s.session()
		turn := s.ask(t.Context(), session, "go")
		s.says("busy")
		begin := time.Now()
		s.close(s.agent, client.RungKill, "signal SIGKILL")
		if took := time.Since(begin); took < s.opts.Graces.EOF+s.opts.Graces.Term {
			t.Errorf("it took %v, less than its graces", took)
		}
		check.Equal(t, "rungs", s.File("rungs"), "cancel\nclose of session-1\neof\nterm\n")
		answer, err := s.await(turn)
		s.ended(answer, err, "cancelled")
	})

	t.Run("C8 exit code and stderr", func(t *testing.T) {
		t.Parallel()
		s := play(t, `stderr "ready\n"
			on eof; stderr "bye\n"; exit 0`)
		session := s.session()
		s.completes(session, "go", "end_turn")
		a := s.agent
		r := s.close(a, client.RungEOF, "exit status 0")
		tail, truncated := a.Stderr()
		check.Equal(t, "stderr", tail, "ready\nbye\n")
		check.Equal(t, "truncated", truncated, false)
		check.Equal(t, "leftover", len(r.Leftover), 0)
	})
}
