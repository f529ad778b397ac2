//go:build unix

package subagent_test

import (
	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/subagent"
)

// means is a way to end a run.
type means struct {
	name   string
	kind   client.ErrorKind // the error it makes, if any
	crash  bool             // the agent dies at the same time
	kill   bool             // the agent hears of nothing
	run    bool             // it needs a run that was handed out
	strike func(*spot)
}

var allMeans = []means{
	{name: "context", strike: func(sp *spot) { sp.cancel() }},
	{name: "deadline", kind: client.KindTimeout, strike: func(sp *spot) { sp.life.pass() }},
	{name: "Kill", kill: true, strike: func(sp *spot) { sp.kill() }},
	{name: "Cancel", run: true, strike: func(sp *spot) { sp.with(subagent.Run.Cancel) }},
	{name: "Close", run: true, strike: func(sp *spot) { sp.spawn(func() { sp.with(closeRun) }) }},
	{name: "several", run: true, strike: func(sp *spot) {
		sp.spawn(sp.cancel)
		for _, f := range []func(subagent.Run){subagent.Run.Cancel, closeRun, closeRun, subagent.Run.Cancel} {
			sp.spawn(func() { sp.with(f) })
		}
	}},
	{name: "context and crash", crash: true, strike: func(sp *spot) {
		sp.spawn(sp.crash)
		sp.cancel()
	}},
	{name: "Close and crash", run: true, crash: true, strike: func(sp *spot) {
		sp.spawn(func() { sp.with(closeRun) })
		sp.crash()
	}},
}

func closeRun(r subagent.Run) { r.Close() }

// with does something with the run, if there is one yet; else there is the context.
func (sp *spot) with(f func(subagent.Run)) {
	select {
	case <-sp.started:
		if sp.err == nil {
			f(sp.run)
		}
	default:
		sp.cancel()
	}
}
