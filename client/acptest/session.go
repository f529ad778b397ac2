package acptest

import (
	"context"
	"fmt"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
)

// Session is a conversation with an agent under test. There can be several, also at the
// same time.
type Session struct {
	a       *Agent
	session *client.Session
	next    int // the first event that Update has not looked at
}

// Session begins a session in a directory: one of the test, say, made with t.TempDir. A
// relative one is relative to the test's own directory, as for package os; an empty one is
// the agent's.
//
// See https://agentclientprotocol.com/protocol/session-setup#creating-a-session.
func (a *Agent) Session(dir string) *Session {
	a.t.Helper()
	what := fmt.Sprintf("Session(%q)", dir)
	if dir != "" {
		var err error
		if dir, err = client.AbsDir(dir); err != nil {
			a.fatal(what, a.text(err))
		}
	}
	ctx, cancel := a.waitContext()
	defer cancel()
	session, err := a.agent.NewSession(ctx, &client.SessionOptions{Dir: dir})
	if err != nil {
		a.fatal(what, "the agent made no session: "+a.text(err))
	}
	a.change(func() { a.heard++ })
	return &Session{a: a, session: session}
}

// waitContext bounds one wait.
func (c *core) waitContext() (context.Context, context.CancelFunc) {
	patience, _ := c.patience()
	return context.WithTimeout(context.Background(), patience)
}

// ID is the agent's name for the session.
func (s *Session) ID() acp.SessionId { return s.session.ID() }

// Client returns the session as package client has it: its directory, and the raw answer to
// session/new, with the modes and models of the agent. What the kit knows nothing of, such
// as session/set_mode, goes through [Agent.Client] and its connection, by the session's ID.
func (s *Session) Client() *client.Session { return s.session }

// Update waits for an update of the session, by its kind (such as
// "available_commands_update"), whether it comes in a turn or between turns, before the
// answer to session/new or after that to a prompt. Each is returned once, in order; others
// are skipped. A permission request that it meets in a turn, before the update, fails the
// test unless it was expected; one between turns waits for the next turn.
//
// See https://agentclientprotocol.com/protocol/schema#sessionupdate.
func (s *Session) Update(kind string) client.Update {
	s.a.t.Helper()
	var u client.Update
	s.a.wait(fmt.Sprintf("Session.Update(%q)", kind), "it did not come", func() (bool, string) {
		turn := s.a.open[s.ID()]
		for s.next < len(s.a.events) {
			e := s.a.events[s.next]
			if turn != nil && turn.misses(s.next) {
				return false, s.a.surprise(e.ask)
			}
			s.next++
			if e.session == s.ID() && e.update != nil && e.update.Kind == kind {
				u = e.update.Clone()
				return true, ""
			}
		}
		if s.a.gone {
			return false, "the agent has ended"
		}
		return false, ""
	}, nil)
	return u
}

// Prompt begins a prompt turn, with a text and, if the agent takes them, further content
// blocks; an empty text is left out. It returns once the prompt is being sent. What the
// agent makes of it is up to the expectations of the [Turn].
//
// See https://agentclientprotocol.com/protocol/prompt-turn.
func (s *Session) Prompt(text string, blocks ...acp.ContentBlock) *Turn {
	s.a.t.Helper()
	if text != "" {
		blocks = append([]acp.ContentBlock{acp.TextBlock(text)}, blocks...)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	t := &Turn{s: s, a: s.a, done: make(chan struct{}), stop: stop}
	sent := make(chan struct{})
	s.a.change(func() {
		t.from = s.a.unasked(s.ID())
		t.at = t.from
		s.a.open[s.ID()] = t
		s.a.forget(s.ID())
	})
	s.a.turns = append(s.a.turns, t)
	s.a.running.Go(func() { t.run(ctx, blocks, sent) })
	patience, bound := s.a.patience()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-sent:
	case <-t.done: // it was refused, which its expectations tell
	case <-timer.C:
		s.a.fatal("Prompt", "the prompt could not be sent "+bound+": the agent does not read")
	}
	return t
}
