package acptest

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/coder/acp-go-sdk"
)

// ToolCall is a tool call of the agent. What it expects is looked for from the call's
// announcement on: calls that run at the same time may be looked at in any order. The
// turn's next expectation goes on behind it.
type ToolCall struct {
	t    *Turn
	what string
	id   acp.ToolCallId
	from int // the event that announces it
}

// ToolCall waits for a tool call: what is one of the protocol's kinds ("edit",
// "execute", …), its id, or a part of its title; empty means any. It is found where the
// agent begins to tell of it, be that with a tool_call, with an update or with a permission
// request for it, or where an update makes it fit.
//
// See https://agentclientprotocol.com/protocol/tool-calls.
func (t *Turn) ToolCall(what string) *ToolCall {
	t.a.t.Helper()
	c := &ToolCall{t: t, what: fmt.Sprintf("ToolCall(%q)", what)}
	asked := false
	t.expect(c.what, t.at, func(i int, e *event) (bool, string) {
		if !means(what, e.call) || means(what, e.before) {
			return false, ""
		}
		c.id, c.from, asked = e.call.ToolCallId, i, e.ask != nil
		return true, ""
	}, func() string { return t.calls() })
	if asked {
		t.at = c.from // the request itself is still to be expected
	}
	return c
}

// calls lists the tool calls of the turn; with the journal's mutex held.
func (t *Turn) calls() string {
	var calls []string
	for _, e := range t.events() {
		if e.call != nil && e.before == nil && t.concerns(e) {
			calls = append(calls, t.a.name(e.call))
		}
	}
	if calls == nil {
		return "; there was no tool call"
	}
	return "; the tool calls of the turn: " + strings.Join(calls, ", ")
}

// ID is the agent's name for the call.
func (c *ToolCall) ID() string { return string(c.id) }

// Call is the call with everything that the agent has said of it so far.
func (c *ToolCall) Call() acp.ToolCallUpdate {
	c.t.a.mu.Lock()
	defer c.t.a.mu.Unlock()
	return *c.latest()
}

// latest is the call as it is known last; with the journal's mutex held.
func (c *ToolCall) latest() *acp.ToolCallUpdate {
	events := c.t.events()[c.from-c.t.from:]
	call := events[0].call
	for _, e := range events {
		if e.call != nil && e.call.ToolCallId == c.id && e.session == events[0].session {
			call = e.call
		}
	}
	return call
}

// Status waits until the call is in this status: "pending", "in_progress", "completed" or
// "failed". It fails at once where the call has ended with another one.
func (c *ToolCall) Status(status acp.ToolCallStatus) *ToolCall {
	c.t.a.t.Helper()
	c.expect(fmt.Sprintf("Status(%q)", string(status)), func(call *acp.ToolCallUpdate) (bool, string) {
		switch now := deref(call.Status); now {
		case status:
			return true, ""
		case acp.ToolCallStatusCompleted, acp.ToolCallStatusFailed:
			return false, fmt.Sprintf("the call has ended as %q", string(now))
		}
		return false, ""
	})
	return c
}

// Path waits until the call names this file, as one of its locations or in a diff. A
// relative path is relative to the session's directory.
func (c *ToolCall) Path(path string) *ToolCall {
	c.t.a.t.Helper()
	c.expect(fmt.Sprintf("Path(%q)", path), func(call *acp.ToolCallUpdate) (bool, string) {
		for _, l := range call.Locations {
			if c.t.same(l.Path, path) {
				return true, ""
			}
		}
		for _, content := range call.Content {
			if content.Diff != nil && c.t.same(content.Diff.Path, path) {
				return true, ""
			}
		}
		return false, ""
	})
	return c
}

// Text waits until the call's content has a text, or the new text of a diff, that contains
// part.
func (c *ToolCall) Text(part string) *ToolCall {
	c.t.a.t.Helper()
	c.expect(fmt.Sprintf("Text(%q)", part), func(call *acp.ToolCallUpdate) (bool, string) {
		for _, content := range call.Content {
			if block := content.Content; block != nil && block.Content.Text != nil && strings.Contains(block.Content.Text.Text, part) {
				return true, ""
			}
			if content.Diff != nil && strings.Contains(content.Diff.NewText, part) {
				return true, ""
			}
		}
		return false, ""
	})
	return c
}

// expect waits until what is known of the call fits.
func (c *ToolCall) expect(what string, fits func(*acp.ToolCallUpdate) (ok bool, why string)) {
	c.t.a.t.Helper()
	c.t.expect(c.what+"."+what, c.from, func(_ int, e *event) (bool, string) {
		if e.call == nil || e.call.ToolCallId != c.id || e.session != c.t.a.events[c.from].session {
			return false, ""
		}
		return fits(e.call)
	}, func() string { return "; the call is " + c.t.a.describe(c.latest()) })
}

// name is what people know a call by.
func (c *core) name(call *acp.ToolCallUpdate) string {
	return strings.TrimLeft(c.line(string(deref(call.Kind)))+" "+c.quoted(deref(call.Title)), " ")
}

// describe is a call in short.
func (c *core) describe(call *acp.ToolCallUpdate) string {
	words := fmt.Sprintf("%s, status %s", c.name(call), cmp.Or(c.line(string(deref(call.Status))), "not said"))
	for _, l := range call.Locations {
		words += ", at " + c.quoted(l.Path)
	}
	return words
}
