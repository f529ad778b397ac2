package client_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
)

// Every rung can be the one that ends an agent, and each is told.
func TestRungs(t *testing.T) {
	for _, tt := range []struct {
		rung client.Rung
		exit string
		src  string
		turn bool // one is open
	}{
		{client.RungExit, "exit status 3", `on session/new; answer {}; write up; background; wait file go; exit 3; end`, false},
		{client.RungCancel, "exit status 4", `on session/prompt; text "up"; wait cancel; exit 4`, true},
		{client.RungClose, "exit status 5", `on session/close; exit 5`, false},
		{client.RungEOF, "exit status 6", `on eof; exit 6`, false},
		{client.RungTerm, "signal SIGTERM", `on eof; wait forever`, false},
		{client.RungTerm, "exit status 0", "on eof; wait forever\non signal TERM; stderr bye", false},
		{client.RungKill, "signal SIGKILL", "ignore TERM\non eof; wait forever", false},
	} {
		t.Run(string(tt.rung)+" "+tt.exit, func(t *testing.T) {
			t.Parallel()
			s := play(t, tt.src)
			switch tt.rung {
			case client.RungTerm:
				s.opts.Graces = deafToEOF
			case client.RungKill:
				s.opts.Graces = deafToTerm
			}
			session := s.session()
			var turn <-chan ended
			if tt.turn {
				turn = s.ask(t.Context(), session, "go")
				s.says("up")
			}
			if tt.rung == client.RungExit {
				s.Touch("go")
				receive(t, s.agent.Exited())
			}
			r := s.close(s.agent, tt.rung, tt.exit)
			if len(r.Leftover) > 0 {
				t.Errorf("leftover %q", r.Leftover)
			}
			if tt.turn {
				answer, err := s.await(turn)
				if err == nil {
					t.Errorf("the turn ended with %s", answer.Raw)
				}
			}
		})
	}
}

// A cancel before the close was a rung too.
func TestRungBefore(t *testing.T) {
	t.Parallel()
	s := play(t, `on session/prompt; text "up"; wait cancel; exit 4`)
	session := s.session()
	turn := s.ask(t.Context(), session, "go")
	s.says("up")
	session.Cancel()
	s.await(turn)
	receive(t, s.agent.Exited())
	s.close(s.agent, client.RungCancel, "exit status 4")
}

// session/close is asked for only where a cancel was not left unanswered before.
func TestNoSessionCloseAfterSilence(t *testing.T) {
	t.Run("at the close", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/close
			on session/prompt; text "up"; wait cancel; never reply`)
		s.opts.Graces = deafToCancel
		session := s.session()
		turn := s.ask(t.Context(), session, "go")
		s.says("up")
		s.close(s.agent, client.RungEOF, "exit status 0")
		_, err := s.await(turn)
		check.Has(t, s.asError(err, client.KindCancelled, client.StepPrompt).Error(), "nor after session/cancel")
		check.Equal(t, "wire", s.wire(), "initialize session/new session/prompt session/cancel")
	})
	t.Run("long before", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/close
			on session/prompt; text "up"; wait cancel; never reply`)
		s.opts.Graces = deafToCancel
		session := s.session()
		ctx, cancel := context.WithCancel(t.Context())
		turn := s.ask(ctx, session, "go")
		s.says("up")
		cancel()
		_, err := s.await(turn)
		s.asError(err, client.KindCancelled, client.StepPrompt)
		s.close(s.agent, client.RungEOF, "exit status 0")
		check.Equal(t, "wire", s.wire(), "initialize session/new session/prompt session/cancel")
	})
	t.Run("but after an answer", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/close
			on session/prompt 1; text "up"; wait cancel; never reply
			on session/prompt 2; text "again"`)
		s.opts.Graces = deafToCancel
		session := s.session()
		turn := s.ask(t.Context(), session, "go")
		s.says("up")
		session.Cancel()
		s.await(turn)
		s.completes(session, "go on", "end_turn")
		s.close(s.agent, client.RungEOF, "exit status 0")
		check.Equal(t, "wire", s.wire(), "initialize session/new session/prompt session/cancel session/prompt session/close")
	})
}

// One session that hangs at its close does not keep the others from theirs.
func TestSessionsCloseTogether(t *testing.T) {
	s := play(t, `on session/close "session-2"; write hung; never reply
		on session/close; append closed "$params.sessionId"`)
	s.opts.Graces = client.Graces{Close: 2 * time.Second, EOF: hang}
	a := s.start()
	for range 3 {
		s.newSession(a, "")
	}
	s.close(a, client.RungEOF, "exit status 0")
	check.Equal(t, "hung", s.Exists("hung"), true)
	check.Equal(t, "closed", strings.Count(s.File("closed"), "\n"), 2)
}

// Close may be called any number of times, by anybody; there is one report.
func TestCloseTogether(t *testing.T) {
	s := play(t, `on eof; append eof x`)
	s.session()
	reports := make(chan *client.Report, 16)
	for i := range cap(reports) {
		go func() { // ends with the agent
			if i%4 == 3 {
				<-s.agent.Exited()
			}
			reports <- s.agent.Close()
		}()
	}
	first := receive(t, reports)
	for range cap(reports) - 1 {
		if r := receive(t, reports); r != first {
			t.Errorf("another report: %+v, %+v", r, first)
		}
	}
	check.Equal(t, "later", s.agent.Close() == first && s.agent.Kill() == first, true)
	check.Equal(t, "eof", s.File("eof"), "x\n")
}

// Kill cuts a Close short, wherever it is.
func TestKillDuringClose(t *testing.T) {
	for _, tt := range []struct{ name, src, reached string }{
		{"waiting for the answer to a cancel", `on session/prompt; text "up"; wait cancel; write reached; wait forever`, "reached"},
		{"waiting for the end", "ignore TERM\non session/prompt; text \"up\"; wait cancel; stop cancelled\non eof; write reached; wait forever", "reached"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := play(t, tt.src)
			s.opts.Graces = client.Graces{Cancel: time.Hour, EOF: time.Hour, Term: time.Hour}
			session := s.session()
			turn := s.ask(t.Context(), session, "go")
			s.says("up")
			closed := make(chan *client.Report, 1)
			go func() { closed <- s.agent.Close() }() // ends with the kill
			s.Await(tt.reached)
			killed := s.agent.Kill()
			check.Equal(t, "rung", killed.Exit.Rung, client.RungKill)
			check.Equal(t, "exit", killed.Exit.String(), "signal SIGKILL")
			check.Equal(t, "report", receive(t, closed) == killed, true)
			s.await(turn)
		})
	}
}

// Kill asks nobody.
func TestKill(t *testing.T) {
	s := play(t, `on session/prompt
			spawn session stdout
				write helper "$pid"
				wait forever
			end
			text "up"
			wait forever
		on session/close; write asked
		on eof; write asked`)
	session := s.session()
	turn := s.ask(t.Context(), session, "go")
	s.says("up")
	s.Await("helper")
	r := s.agent.Kill()
	check.Equal(t, "exit", r.Exit.String(), "signal SIGKILL")
	answer, err := s.await(turn)
	s.asError(err, client.KindCancelled, client.StepPrompt)
	check.Equal(t, "cancelled", answer.Cancelled, false)
	check.Equal(t, "asked", s.Exists("asked"), false)
	s.Gone("helper")
}

// The end of Options.Kill is a Kill.
func TestKillOption(t *testing.T) {
	s := play(t, `on session/prompt; text "up"; wait cancel; wait forever`)
	ctx, kill := context.WithCancel(t.Context())
	s.opts.Kill = ctx
	session := s.session()
	turn := s.ask(t.Context(), session, "go")
	s.says("up")
	kill()
	_, err := s.await(turn)
	s.asError(err, client.KindCancelled, client.StepPrompt)
	s.close(s.agent, client.RungKill, "signal SIGKILL")
}

// A callback may close the agent it is called by, and one that never returns holds
// nothing up.
func TestCloseInACallback(t *testing.T) {
	s := play(t, `on session/prompt; text "up"; wait cancel; text "down"; stop cancelled`)
	s.opts.Graces.Cancel = 500 * time.Millisecond // the answer waits for the callback
	closed := make(chan *client.Report, 1)
	var once sync.Once
	s.opts.Update = func(context.Context, client.Update) {
		once.Do(func() { closed <- s.agent.Close() })
	}
	turn := s.ask(t.Context(), s.session(), "go")
	r := receive(t, closed)
	check.Equal(t, "exit", r.Exit.String(), "exit status 0")
	answer, err := s.await(turn)
	s.ended(answer, err, "cancelled")
	check.Equal(t, "text", s.text(), "updown")
}

func TestCloseWithABlockedCallback(t *testing.T) {
	s := play(t, `on session/prompt; burst 3000 "$i "; wait cancel; stop cancelled`)
	s.opts.MaxQueueBytes = 1 << 10 // so that the agent is held back
	release, called := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.opts.Update = func(context.Context, client.Update) {
		once.Do(func() { close(called) })
		<-release
	}
	s.opts.Graces.Cancel = 500 * time.Millisecond
	turn := s.ask(t.Context(), s.session(), "go")
	receive(t, called)
	s.close(s.agent, client.RungEOF, "exit status 0")
	check.Has(t, s.text(), " 2999 3000 ") // nothing was lost on the way to the observer
	close(release)
	answer, err := s.await(turn)
	s.ended(answer, err, "cancelled")
}

// The log tells what went over the wire, and nothing of what was in it.
func TestLog(t *testing.T) {
	var log buffer
	s := play(t, `on session/prompt; text "what it said"; stop end_turn`)
	s.opts.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s.completes(s.session(), "what it was asked", "end_turn")
	s.close(s.agent, client.RungEOF, "exit status 0")
	check.Has(t, log.String(), "agent started", "agent ended", "rung=eof", "method=session/prompt", "method=session/update", "bytes=")
	check.Lacks(t, log.String(), "what it said", "what it was asked", s.Dir)
}

// What an agent writes on its way out is read.
func TestLastWords(t *testing.T) {
	for range 10 {
		s := play(t, `on eof
			burst 50 "$i "
			stderr "last words\n"
			noise "noise"`)
		session := s.session()
		s.completes(session, "go", "end_turn")
		s.close(s.agent, client.RungEOF, "exit status 0")
		check.Has(t, s.text(), " 49 50 ")
		tail, _ := s.agent.Stderr()
		check.Equal(t, "stderr", tail, "last words\n")
		check.Equal(t, "noise", s.agent.Noise().Lines, int64(1))
	}
}

// What is tried on an agent that was closed says so.
func TestUseAfterClose(t *testing.T) {
	s := play(t, `on session/new 2; write asked; never reply`)
	session := s.session()
	pending := make(chan error, 1)
	go func() { // ends with the agent
		_, err := s.agent.NewSession(t.Context(), nil)
		pending <- err
	}()
	s.Await("asked")
	s.close(s.agent, client.RungEOF, "exit status 0")
	check.Has(t, s.asError(receive(t, pending), client.KindCancelled, client.StepNewSession).Error(), "the agent was closed")
	_, err := s.agent.NewSession(t.Context(), nil)
	check.Has(t, s.asError(err, client.KindCancelled, client.StepNewSession).Error(), "the agent was closed")
	answer, err := session.Prompt(t.Context(), textPrompt("go"), nil)
	check.Has(t, s.asError(err, client.KindCancelled, client.StepPrompt).Error(), "the agent was closed")
	check.Equal(t, "sent", answer.Sent, false)
}
