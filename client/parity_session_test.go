package client_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/traces"
)

// What a session and its turns do.
func paritySession(t *testing.T) {
	t.Run("B5 several sessions on a connection", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt
			text "$session "
			text "$prompt. "`)
		a := s.start()
		one, two := s.newSession(a, ""), s.newSession(a, "")
		check.Equal(t, "first", string(one.ID()), "session-1")
		check.Equal(t, "second", string(two.ID()), "session-2")
		s.completes(two, "b", "end_turn")
		s.completes(one, "a", "end_turn")
		s.completes(two, "c", "end_turn")
		check.Equal(t, "text", s.text(), "session-2 b. session-1 a. session-2 c. ")
	})

	t.Run("B13 two sessions, two directories, one cancelled", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt "first"
				text "one "
				write here
				wait cancel
				stop cancelled
			on session/prompt "second"
				text "two "
				write here
				wait file go
				text "done"`)
		a := s.start()
		other := traces.Canonical(t, t.TempDir())
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(other, link); err != nil {
			t.Skip(err)
		}
		one, two := s.newSession(a, ""), s.newSession(a, link)
		check.Equal(t, "first directory", one.Dir(), s.Dir)
		check.Equal(t, "second directory", two.Dir(), other)
		first, second := s.ask(t.Context(), one, "first"), s.ask(t.Context(), two, "second")
		s.says("one ")
		s.says("two ")
		one.Cancel()
		answer, err := s.await(first)
		s.ended(answer, err, "cancelled")
		if err := os.WriteFile(filepath.Join(other, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		answer, err = s.await(second)
		s.ended(answer, err, "end_turn")
		check.Equal(t, "cancelled", answer.Cancelled, false)
		check.Has(t, s.text(), "done")
		check.Equal(t, "params", s.Params("session/cancel"), `{"sessionId":"session-1"}`)
		check.Equal(t, "files", s.Exists("here") && s.Exists(filepath.Join(other, "here")), true)
	})

	t.Run("C2 the prompt's text", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt; text "you said: $prompt"`)
		s.completes(s.session(), "häagen ✓", "end_turn")
		check.Equal(t, "text", s.text(), "you said: häagen ✓")
	})

	t.Run("C3 cancel of a slow turn", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt; text "slow"; wait forever`)
		session := s.session()
		ctx, cancel := context.WithCancel(t.Context())
		turn := s.ask(ctx, session, "go")
		s.says("slow")
		cancel()
		answer, err := s.await(turn)
		s.ended(answer, err, "cancelled")
		check.Equal(t, "cancelled", answer.Cancelled, true)
		check.Equal(t, "wire", s.wire(), "initialize session/new session/prompt session/cancel")
	})

	t.Run("C21 a cancelled turn does not end the session", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt 1; text "one"; wait forever
			on session/prompt 2; text " two"`)
		session := s.session()
		turn := s.ask(t.Context(), session, "go")
		s.says("one")
		session.Cancel()
		answer, err := s.await(turn)
		s.ended(answer, err, "cancelled")
		answer = s.completes(session, "go on", "end_turn")
		check.Equal(t, "cancelled", answer.Cancelled, false)
		check.Equal(t, "text", s.text(), "one two")
	})
}
