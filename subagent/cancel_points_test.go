//go:build unix

package subagent_test

import (
	"context"
	"strings"
	"syscall"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

const askToWrite = `
	permission c1 "Write it" kind=edit
		option yes allow_once "Yes"
		option no reject_once "No"
	end
`

// The points of a run's life, in their order.
var points = []point{
	{
		name: "before Start", starting: true, unborn: true, unspawned: true,
		setup: func(sp *spot, _ *subagent.ACPOptions, _ *subagent.Request) {
			sp.strike()
			if sp.means.kind != "" {
				<-sp.ctx.Done()
			}
		},
		at: hooked,
	},
	{name: "spawned, and deaf", script: `write up "$pid"; wait forever`, starting: true, deaf: true, at: up},
	{name: "initialize", script: `on initialize; write up "$pid"; wait forever`, starting: true, at: up},
	{
		name: "between initialize and session/new", starting: true, unborn: true,
		setup: onFrame("received", "initialize", (*spot).strike), at: hooked,
	},
	{name: "session/new", script: `on session/new; write up "$pid"; wait forever`, starting: true, at: up},
	{
		// It is told of the start before the prompt is on its way.
		name: "between Start and the prompt", unborn: true, script: `on session/prompt; wait forever`,
		events: func(sp *spot, e subagent.Event) {
			if e.Type == subagent.EventStart && !sp.means.run && !sp.means.crash {
				sp.strike()
			}
		},
		at: func(*spot) {},
		check: func(sp *spot, _ *subagent.Result) {
			if sp.means.name != "context" {
				return
			}
			for _, f := range sp.frames() {
				if strings.HasPrefix(f.Method, "session/prompt") {
					sp.errorf("a prompt was sent for a run that had been cancelled")
				}
			}
		},
	},
	{
		name: "a large prompt to an agent that reads nothing", script: `on session/new; write up "$pid"; stdin stop`, deaf: true, heavy: true,
		setup: large, at: sending,
	},
	{
		name: "a large prompt to an agent that reads on later", at: sending, heavy: true,
		script: `on session/new; write up "$pid"; stdin stop; background; wait file go; stdin resume; end
			on session/prompt; wait forever`,
		setup: large, after: (*spot).goOn,
	},
	{name: "a silent turn", script: `on session/prompt; write up "$pid"; wait forever`, at: up},
	{
		name: "a turn deaf to the cancel", deaf: true,
		script: "write pid \"$pid\"\non session/prompt; text so; wait forever\non session/cancel; wait forever",
		// Its grace may pass before a busy machine lets us read.
		events: func(sp *spot, e subagent.Event) {
			if e.Type == subagent.EventUpdate {
				sp.here()
			}
		},
		at: pending, check: says("so"),
	},
	{
		name: "a turn with more to say", script: `on session/prompt; text "before "; write up "$pid"; wait cancel; text after; stop cancelled`, at: up,
		check: func(sp *spot, res *subagent.Result) {
			if text := "before after"; res.Output != text && !(sp.means.kill || sp.means.crash) {
				sp.errorf("output %q, want %q", res.Output, text)
			}
		},
	},
	{
		name: "mid stream", script: `write pid "$pid"
			on session/prompt; repeat forever; text "$i "; end`,
		events: func(sp *spot, e subagent.Event) {
			if e.Type == subagent.EventUpdate && sp.rand.IntN(4) == 0 {
				sp.here()
			}
		},
		at:    func(sp *spot) { sp.await("pid"); hooked(sp) },
		check: says("1 "),
	},
	{
		name: "a tool call", script: `on session/prompt; tool c1 "Build" kind=execute status=in_progress; write up "$pid"; wait forever`, at: up,
		check: func(sp *spot, res *subagent.Result) {
			if len(res.ToolCalls) != 1 || res.Stop == stopreason.Aborted && res.ToolCalls[0].Status != "cancelled" {
				sp.errorf("tool calls %+v", res.ToolCalls)
			}
		},
	},
	{
		name: "a permission, with a policy that heeds the cancel", script: `write pid "$pid"
			on session/prompt` + askToWrite,
		setup: func(sp *spot, o *subagent.ACPOptions, _ *subagent.Request) { o.Permission = held(sp, true) },
		at:    pending, check: refused,
	},
	{
		name: "a permission, with a policy that is deaf", script: `write pid "$pid"
			on session/prompt` + askToWrite,
		setup: func(sp *spot, o *subagent.ACPOptions, _ *subagent.Request) { o.Permission = held(sp, false) },
		at:    pending, check: refused,
	},
	{
		name: "permissions, more than are served at once", script: `write pid "$pid"
			on session/prompt; repeat 80; background; permission "c$i" "Write it"; option yes allow_once "Yes"; end; end; end; wait background`,
		setup: func(sp *spot, o *subagent.ACPOptions, _ *subagent.Request) { o.Permission = held(sp, true) },
		at:    pending, check: decided,
	},
	{
		name: "a permission's answer on its way", race: true, script: `write pid "$pid"
			on session/prompt` + askToWrite,
		setup: func(sp *spot, o *subagent.ACPOptions, _ *subagent.Request) {
			o.Permission = permission.PolicyFunc(func(ctx context.Context, req permission.Request) permission.Decision {
				sp.here()
				return permission.Allow().Decide(ctx, req)
			})
		},
		at: pending,
	},
	{
		name: "in the callback of an update", script: `write pid "$pid"
			on session/prompt; text one; text two; wait forever`,
		events: hold(subagent.EventUpdate), at: pending, check: says("one"),
	},
	{
		name: "in the callback of a permission", script: `write pid "$pid"
			on session/prompt` + askToWrite + `text after; wait forever`,
		events: hold(subagent.EventPermission), at: pending,
	},
	{
		name: "with the queue full", heavy: true, script: `write pid "$pid"
			on session/prompt; repeat 150; thought "$i " size=60KiB; end; wait forever`,
		setup: whenReceived(8<<20 - 100<<10), events: func(sp *spot, e subagent.Event) {
			if e.Type == subagent.EventUpdate {
				<-sp.free
			}
		},
		at: pending,
	},
	{
		name: "with a reader of Updates that stands still", heavy: true, script: `write pid "$pid"
			on session/prompt; repeat 180; thought "$i " size=60KiB; end; wait forever`,
		setup: whenReceived(9 << 20), read: func(sp *spot, _ client.Update) { <-sp.free },
		at: pending,
	},
	{
		// Its turn in the order has not come yet.
		name: "as the response is read", script: `on session/prompt; text hi`, settled: stopreason.Completed,
		setup: onFrame("received", acp.AgentMethodSessionPrompt, (*spot).strike), at: hooked, check: saysOnly("hi"),
	},
	{
		name: "right at the response", race: true, script: `on session/prompt; text hi; write up "$pid"; wait signal USR1; stop end_turn`,
		at: func(sp *spot) { up(sp); sp.spawn(func() { sp.signal(syscall.SIGUSR1) }) },
	},
	{
		name: "right at the response, and at the agent's end", race: true, script: `on session/prompt; text hi; write up "$pid"; wait signal USR1; stop end_turn; exit 0`,
		at: func(sp *spot) { up(sp); sp.spawn(func() { sp.signal(syscall.SIGUSR1) }) },
	},
	{
		name: "after the response", script: `on session/prompt; text hi`, settled: stopreason.Completed,
		at: func(sp *spot) { sp.within("the outcome", sp.run.Done()) }, check: saysOnly("hi"),
	},
	{
		name: "after the response, with late text", script: `on session/prompt; text hi; stop end_turn; repeat forever; text late; end`, settled: stopreason.Completed,
		deaf: true, at: func(sp *spot) { sp.within("the outcome", sp.run.Done()) }, check: saysOnly("hi"),
	},
	{
		name: "in Close, at the cancel", closing: true, deaf: true, setup: patientAtEOF, at: closeAt("asked", "up"),
		// The grace may pass before a busy machine lets it say that it is there.
		script: "on session/prompt; write asked \"$pid\"; wait forever\non session/cancel; write up \"$pid\"; wait forever\non eof; wait file up; exit 0",
	},
	{
		name: "in Close, at session/close", settled: stopreason.Completed, closing: true, deaf: true, setup: patientAtEOF, at: closeAt("", "up"),
		script: "on session/close; write up \"$pid\"; wait forever\non eof; wait file up; exit 0",
	},
	{
		name: "in Close, at the end of stdin", settled: stopreason.Completed, closing: true, at: closeAt("", "up"),
		setup:  patientAtEOF,
		script: "on eof; write up \"$pid\"; wait file go; exit 0", after: letGoUnlessKilled,
	},
	{
		name: "in Close, at SIGTERM", settled: stopreason.Completed, closing: true, at: closeAt("", "up"),
		setup: func(sp *spot, o *subagent.ACPOptions, _ *subagent.Request) {
			o.Graces.EOF = soon
		},
		script: "on eof; wait forever\non signal TERM; write up \"$pid\"; wait file go; exit 0", after: letGoUnlessKilled,
	},
	{
		name: "after Close", settled: stopreason.Completed, closing: true, script: "on session/prompt; text hi",
		at: func(sp *spot) { sp.within("the outcome", sp.run.Done()); sp.run.Close() },
	},
	{
		name: "after Close of a turn that was open", closing: true, script: `on session/prompt; write up "$pid"; wait forever`,
		at: func(sp *spot) { up(sp); sp.run.Close() },
	},
}

// large makes the prompt 1 to 8 MB.
func large(sp *spot, o *subagent.ACPOptions, req *subagent.Request) {
	sizes := []int{1, 1, 1, 1, 1, 2, 4, 8}
	req.Prompt = subagent.Text(strings.Repeat("large prompt ", sizes[sp.rand.IntN(len(sizes))]<<20/13))
	onFrame("sent", "session/prompt", (*spot).here)(sp, o, req)
}

// sending is some moment while a large prompt is written.
func sending(sp *spot) {
	up(sp)
	hooked(sp)
	time.Sleep(time.Duration(sp.rand.IntN(2000)) * time.Microsecond) // which moment
}

// pending is a point that a hook finds, of an agent that has told its pid.
func pending(sp *spot) {
	sp.await("pid")
	hooked(sp)
}

// hold makes an Events that waits, at that type of event, for the outcome.
func hold(at subagent.EventType) func(*spot, subagent.Event) {
	return func(sp *spot, e subagent.Event) {
		if e.Type == at {
			sp.here()
			<-sp.free
		}
	}
}

// patientAtEOF waits for an agent that goes at EOF, in its own time.
func patientAtEOF(_ *spot, o *subagent.ACPOptions, _ *subagent.Request) {
	o.Graces.Cancel, o.Graces.Close, o.Graces.EOF = soon, soon, forever
}

// letGoUnlessKilled leaves it to a Kill to end who waits.
func letGoUnlessKilled(sp *spot) {
	if !sp.means.kill {
		sp.goOn()
	}
}

// closeAt calls Close once the agent has come to one place, or the turn has ended, and
// is there when it has come to another.
func closeAt(first, then string) func(*spot) {
	return func(sp *spot) {
		if first != "" {
			sp.await(first)
		} else {
			sp.within("the outcome", sp.run.Done())
		}
		sp.spawn(func() { sp.run.Close() })
		sp.await(then)
	}
}

// says checks what the output begins with, unless nothing was to come.
func says(text string) func(*spot, *subagent.Result) {
	return func(sp *spot, res *subagent.Result) {
		if !strings.HasPrefix(res.Output, text) {
			sp.errorf("output %.100q, want %q", res.Output, text)
		}
	}
}

// saysOnly checks what the output is.
func saysOnly(text string) func(*spot, *subagent.Result) {
	return func(sp *spot, res *subagent.Result) {
		if res.Output != text {
			sp.errorf("output %.100q, want %q", res.Output, text)
		}
	}
}

// decided checks that all permissions were decided as cancelled.
func decided(sp *spot, res *subagent.Result) {
	if len(res.Permissions) == 0 {
		sp.errorf("no permission was recorded")
	}
	for _, rec := range res.Permissions {
		if rec.Decision != permission.Cancelled {
			sp.errorf("permission %+v", rec)
		}
	}
}

// refused checks that they were answered so, too: an agent that ends its turn has
// waited for the answers.
func refused(sp *spot, res *subagent.Result) {
	decided(sp, res)
	answers := 0
	for _, f := range sp.frames() {
		if f.Method == "" && len(f.Result) > 0 {
			answers++
		}
	}
	if n := len(sp.outcome.Permissions); res.StopReason != nil && answers < n {
		sp.errorf("%d answers to %d permission requests", answers, n)
	}
}
