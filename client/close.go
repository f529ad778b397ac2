package client

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/errand-acp/errand/internal/proc"
)

// errShutdown is why calls fail that are still pending when the agent is closed.
var errShutdown = errors.New("the agent was closed")

// Close ends the agent and everything it started, one rung after the other, and waits
// for it: session/cancel where a turn is open, and a wait for its answer;
// session/close where the agent advertises that, unless a cancel went unanswered;
// the end of its stdin; SIGTERM, then SIGKILL to its group; and a sweep for what it
// left elsewhere. Each wait ends as soon as it has done its work; the longest they can
// be is Options.Graces. Calling it again, from any goroutine, returns the same report
// once it is there.
//
// See https://agentclientprotocol.com/protocol/prompt-turn#cancellation and
// https://agentclientprotocol.com/protocol/transports#stdio.
func (a *Agent) Close() *Report {
	a.closeOnce.Do(func() {
		rung := a.closeSessions()
		a.finish(a.proc.Shutdown(proc.Graces{EOF: a.graces.EOF, Term: a.graces.Term, Kill: a.graces.Kill}), rung)
	})
	return a.report
}

// Kill ends the agent and everything it started by SIGKILL, at once and also during a
// Close, and waits for it. It returns what Close does.
func (a *Agent) Kill() *Report {
	report := a.proc.Kill(a.graces.Kill)
	a.closeOnce.Do(func() { a.finish(report, RungExit) })
	return a.report
}

// finish ends the connection after the process.
func (a *Agent) finish(report proc.Report, before Rung) {
	a.conn.Shut(errShutdown)
	// The reader lets go of the pipe at its end, which is here at the latest.
	<-a.conn.Done()
	a.stdout.Close()
	a.report = newReport(report, before)
}

// closeSessions takes the rungs of the protocol and returns the last one it took, or
// RungExit.
func (a *Agent) closeSessions() Rung {
	rung := RungExit
	if a.gone() {
		return rung
	}
	a.mu.Lock()
	sessions := slices.Collect(maps.Values(a.sessions))
	a.mu.Unlock()

	// Each open turn sends its own session/cancel and waits for the answer no
	// longer than the grace; all at the same time.
	answered := true
	var turns []*turn
	for _, s := range sessions {
		if t := s.openTurn(); t != nil {
			rung = RungCancel
			t.cancel(errShutdown)
			turns = append(turns, t)
		}
	}
	for _, t := range turns {
		<-t.done
	}
	for _, s := range sessions {
		answered = answered && !s.unanswered()
	}
	if !answered || !a.info.canClose || a.gone() {
		return rung
	}
	ctx, cancel := context.WithTimeout(context.Background(), a.graces.Close)
	defer cancel()
	for _, s := range sessions {
		rung = RungClose
		s.Close(ctx) // an error changes nothing: the end of stdin is next
	}
	return rung
}

// gone reports whether the process has ended.
func (a *Agent) gone() bool {
	select {
	case <-a.proc.Exited():
		return true
	default:
		return false
	}
}

// exit returns how the process ended, nil while it lives.
func (a *Agent) exit() *Exit {
	if !a.gone() {
		return nil
	}
	e := newExit(a.proc.Exit(), RungExit)
	return &e
}
