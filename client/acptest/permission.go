package acptest

import (
	"context"
	"fmt"

	"github.com/errand-acp/errand/permission"
)

// Permission is a permission request of the agent. The test answers it, once, with Allow,
// Reject, Select or Cancel, at once or after it has looked at something else; they return
// when the answer is certain.
//
// See https://agentclientprotocol.com/protocol/tool-calls#requesting-permission.
type Permission struct {
	t    *Turn
	what string
	ask  *ask
}

// Permission waits for a permission request for a tool call: what is one of the protocol's
// kinds ("edit", "execute", …), the call's id, or a part of its title; empty means any. It
// takes the first that nobody has taken.
//
// A request that the test meets while it waits for something else fails it: the agent
// waits for an answer that does not come. From [Turn.Cancel] on they may be left alone.
func (t *Turn) Permission(what string) *Permission {
	t.a.t.Helper()
	p := &Permission{t: t, what: fmt.Sprintf("Permission(%q)", what)}
	t.expect(p.what, t.at, func(_ int, e *event) (bool, string) {
		if e.ask == nil || e.ask.claimed || !means(what, e.call) {
			return false, ""
		}
		p.ask, e.ask.claimed = e.ask, true
		return true, ""
	}, nil)
	return p
}

// Request is what the agent asks, with the options that it offers.
func (p *Permission) Request() permission.Request { return p.ask.req }

// Allow selects an option of kind allow_once, or of allow_always where there is none; the
// first, if there are several.
func (p *Permission) Allow() {
	p.t.a.t.Helper()
	p.choose("Allow", permission.AllowPolicy{First: true}, "that allows")
}

// Reject selects an option of kind reject_once, or of reject_always where there is none;
// the first, if there are several.
func (p *Permission) Reject() {
	p.t.a.t.Helper()
	p.choose("Reject", permission.Reject(), "that rejects")
}

// Select selects the option with this id.
func (p *Permission) Select(id string) {
	p.t.a.t.Helper()
	what := fmt.Sprintf("%s.Select(%q)", p.what, id)
	for _, o := range p.ask.req.Options {
		if string(o.OptionId) == id {
			p.answer(what, id)
			return
		}
	}
	p.t.a.fatal(what, "there is no such option: "+p.t.a.tell(p.ask))
}

// Cancel answers `cancelled`, which agents take for the user's abort of the turn. The
// turn itself is not cancelled by it.
func (p *Permission) Cancel() {
	p.t.a.t.Helper()
	p.answer(p.what+".Cancel()", "")
}

// Record waits until the answer is certain and returns it, with what the agent asked. It is
// for requests that Options.Client.Permission answers, or a cancel.
func (p *Permission) Record() permission.Record {
	p.t.a.t.Helper()
	return p.settled(p.what + ".Record()")
}

func (p *Permission) choose(method string, policy permission.Policy, missing string) {
	p.t.a.t.Helper()
	what := p.what + "." + method + "()"
	d := policy.Decide(context.Background(), p.ask.req)
	if d.OptionID == "" {
		p.t.a.fatal(what, "there is no option "+missing+": "+p.t.a.tell(p.ask))
	}
	p.answer(what, d.OptionID)
}

// answer gives the test's answer; empty for none of the options.
func (p *Permission) answer(what, option string) {
	a := p.t.a
	a.t.Helper()
	var why string
	a.change(func() {
		switch {
		case a.ruled:
			why = "Options.Client.Permission answers, not the test"
		case p.ask.given:
			why = "the test has answered already"
		default:
			p.ask.given = true
			p.ask.answer <- permission.Decision{OptionID: option}
		}
	})
	if why != "" {
		a.fatal(what, why)
	}
	if r := p.settled(what); deref(r.OptionID) != option {
		a.fatal(what, "the request was answered `cancelled` before: "+r.Rule)
	}
}

func (p *Permission) settled(what string) (r permission.Record) {
	p.t.a.t.Helper()
	p.t.a.wait(what, "it was not answered", func() (bool, string) {
		if p.ask.record == nil {
			if p.t.a.gone {
				return false, "the agent has ended"
			}
			return false, ""
		}
		r = *p.ask.record
		return true, ""
	}, nil)
	return r
}
