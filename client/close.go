package client

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/errand-acp/errand/client/transcript"
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
// once it is there. It must not be called by Options.Observe.
//
// See https://agentclientprotocol.com/protocol/prompt-turn#cancellation and
// https://agentclientprotocol.com/protocol/transports#stdio.
func (a *Agent) Close() *Report {
	a.closing.Store(true)
	a.closeOnce.Do(func() {
		a.recorder.lift()
		rung := a.closeSessions()
		a.closeTerminals()
		g := a.opts.Graces
		a.finish(a.proc.Shutdown(proc.Graces{EOF: g.EOF, Term: g.Term, Kill: g.Kill}), rung)
	})
	return a.report
}

// Kill ends the agent and everything it started by SIGKILL, at once and also during a
// Close, and waits for it. It returns what Close does.
func (a *Agent) Kill() *Report {
	a.closing.Store(true)
	a.recorder.lift()
	report := a.proc.Kill(a.opts.Graces.Kill)
	a.closeTerminals()
	a.closeOnce.Do(func() { a.finish(report, RungExit) })
	return a.report
}

// finish ends the connection after the process. What that wrote before it ended is
// read first, and it is no more than a pipe holds: a callback that is slow holds
// nothing up.
func (a *Agent) finish(report proc.Report, before Rung) {
	a.mu.Lock()
	stopKill := a.stopKill
	a.mu.Unlock()
	if stopKill != nil {
		stopKill()
	}
	a.conn.wire.Unbind()
	<-a.conn.Done()
	a.conn.mu.Lock()
	a.conn.settleRest()
	a.conn.mu.Unlock()
	a.conn.Shut(errShutdown)
	a.cancelTurns() // those whose answer waits behind a callback
	a.awaitActs()
	a.closeFiles()
	a.mu.Lock()
	report.Leftover = append(report.Leftover, a.leftover...)
	a.mu.Unlock()
	a.report = newReport(report, before)
	a.recorder.end(transcript.End{Code: a.report.Exit.Code, Signal: a.report.Exit.Signal, Rung: string(a.report.Exit.Rung)})
	a.log("agent ended", slog.Int("pid", a.PID()), slog.String("exit", a.report.Exit.String()), slog.String("rung", string(a.report.Exit.Rung)))
}

// closeSessions takes the rungs of the protocol and returns the last one it took, or
// RungExit.
func (a *Agent) closeSessions() Rung {
	a.mu.Lock()
	sessions := slices.Collect(maps.Values(a.sessions))
	a.mu.Unlock()
	rung := RungExit
	if slices.ContainsFunc(sessions, (*Session).wasCancelled) {
		rung = RungCancel // taken before, by whoever cancelled
	}
	if a.gone() {
		return rung
	}

	// Each open turn sends its own session/cancel and waits for the answer no
	// longer than the grace; all at the same time.
	for _, t := range a.cancelTurns() {
		rung = RungCancel
		<-t.done
	}
	if len(sessions) == 0 || !a.info.canClose || slices.ContainsFunc(sessions, (*Session).unanswered) || a.gone() {
		return rung
	}
	ctx, cancel := context.WithTimeout(context.Background(), a.opts.Graces.Close)
	defer cancel()
	var closing sync.WaitGroup
	for _, s := range sessions {
		closing.Go(func() { s.Close(ctx) }) // an error changes nothing: the end of stdin is next
	}
	closing.Wait()
	return RungClose
}

// cancelTurns ends the open turns, which it returns. It does not wait.
func (a *Agent) cancelTurns() (turns []*turn) {
	a.mu.Lock()
	sessions := slices.Collect(maps.Values(a.sessions))
	a.mu.Unlock()
	for _, s := range sessions {
		if t := s.openTurn(); t != nil {
			t.cancel(errShutdown)
			turns = append(turns, t)
		}
	}
	return turns
}
