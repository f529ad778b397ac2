package acptest

import (
	"fmt"
	"slices"

	"github.com/errand-acp/errand/client"
)

// Exit is how an agent ended. Its methods return it, so that they can follow each other.
type Exit struct {
	// Report has all that is known of it.
	*client.Report
	a *Agent
}

// Close ends the agent now, and not with the test, and says how that went: it cancels turns
// that are open, closes sessions where the agent has that, closes its stdin, and sends
// signals where it does not go. See [client.Agent.Close].
func (a *Agent) Close() *Exit {
	a.t.Helper()
	a.seen.Store(true)
	return &Exit{a.shut(), a}
}

// Wait waits until the agent has ended by itself, in a turn or after one, and cleans up
// behind it. A permission request in a turn that nobody expects fails the test.
func (a *Agent) Wait() *Exit {
	a.t.Helper()
	done := make(chan struct{})
	var gone bool
	a.running.Go(func() { // ends with the process, or with the wait
		select {
		case <-a.agent.Exited():
			a.change(func() { gone = true })
		case <-done:
		}
	})
	defer close(done)
	a.wait("Wait", "the agent did not end", func() (bool, string) {
		if k := a.missed(); k != nil {
			return false, a.surprise(k)
		}
		return gone, ""
	}, nil)
	return a.Close()
}

// Code fails the test unless the agent ended with this exit status, by itself or asked to.
func (e *Exit) Code(code int) *Exit {
	e.a.t.Helper()
	if e.Exit.Code == nil || *e.Exit.Code != code {
		e.a.fatal(fmt.Sprintf("Code(%d)", code), "the agent ended with "+e.Exit.String())
	}
	return e
}

// Signal fails the test unless the agent was ended by this signal, such as "SIGKILL".
func (e *Exit) Signal(name string) *Exit {
	e.a.t.Helper()
	if e.Exit.Signal == nil || *e.Exit.Signal != name {
		e.a.fatal(fmt.Sprintf("Signal(%q)", name), "the agent ended with "+e.Exit.String())
	}
	return e
}

var rungs = []client.Rung{
	client.RungExit, client.RungCancel, client.RungClose, client.RungEOF, client.RungTerm, client.RungKill, client.RungNone,
}

func later(a, b client.Rung) bool { return slices.Index(rungs, a) > slices.Index(rungs, b) }

// Rung fails the test if it took more than this to end the agent: client.RungEOF means
// that it went when its stdin was closed, or before.
func (e *Exit) Rung(most client.Rung) *Exit {
	e.a.t.Helper()
	if later(e.Exit.Rung, most) {
		e.a.fatal(fmt.Sprintf("Rung(%q)", string(most)), fmt.Sprintf("it took %q to end the agent", string(e.Exit.Rung)))
	}
	return e
}

// Clean fails the test unless the agent ended as a good one does: once its stdin was closed,
// by itself and with every process of its group, with status 0, and having written nothing
// to stdout but frames. A process that has left its group, a daemon, is ended and not told:
// that is for [Conformance], whose rule nothing-left gives it the time to go by itself.
//
// See https://agentclientprotocol.com/protocol/transports#stdio.
func (e *Exit) Clean() *Exit {
	e.a.t.Helper()
	e.Rung(client.RungEOF).Code(0)
	if later(e.GroupRung, client.RungEOF) {
		e.a.fatal("Clean", fmt.Sprintf("the agent left processes in its group: it took %q to end them", string(e.GroupRung)))
	}
	if noise := e.a.agent.Noise(); noise.Lines > 0 {
		e.a.fatal("Clean", fmt.Sprintf("the agent wrote %d lines to stdout that are no frames: %s", noise.Lines, list(noise.First)))
	}
	return e
}
