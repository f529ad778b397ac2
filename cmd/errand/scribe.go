package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/errand-acp/errand/internal/visible"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// scribe turns a run's events into what a person is to read of them. Whatever an
// agent wrote comes out of it visible; titles come out redacted too. It is pure, and
// for one goroutine at a time.
type scribe struct {
	redact func(string) string

	session string // the run's; updates of others are not its answer
	open    bool   // the next chunk may go on with the message before it
	message string // that one's id
	text    visible.Stream
	calls   map[string]*callLine
}

// callLine is what was said of a tool call.
type callLine struct {
	title, status string
	shown         bool // as a line of its own, not only in that of a permission
}

// partKind says what a part is.
type partKind int

const (
	answerPart  partKind = iota // a piece of the answer, which may end anywhere
	answerEnd                   // the message is over
	toolPart                    // the rest are lines without their newline
	deniedPart                  // a permission that was not given
	allowedPart                 // and one that was
	warningPart
)

type part struct {
	kind partKind
	text string
}

// maxCallLines bounds the tool calls that are remembered: an agent can announce them
// without end. What is over it is shown by id.
const maxCallLines = 10_000

// see returns what there is to show of e.
func (s *scribe) see(e subagent.Event) []part {
	switch e.Type {
	case subagent.EventStart:
		if e.Start != nil && e.Start.SessionID != nil {
			s.session = *e.Start.SessionID
		}
	case subagent.EventUpdate:
		if e.SessionID == s.session {
			return s.update(e.Update)
		}
	case subagent.EventPermission:
		if e.Permission != nil {
			return append(s.breakAnswer(), s.permission(e.Permission))
		}
	case subagent.EventWarning:
		return append(s.breakAnswer(), part{warningPart, "warning: " + visible.Line(e.Warning)})
	case subagent.EventEnd:
		return s.breakAnswer()
	}
	return nil
}

// update reads an update as it came. A field that is not as it should be counts as
// absent.
func (s *scribe) update(raw json.RawMessage) []part {
	var u map[string]json.RawMessage
	json.Unmarshal(raw, &u)
	switch textField(u, "sessionUpdate") {
	case "agent_message_chunk":
		var content map[string]json.RawMessage
		json.Unmarshal(u["content"], &content)
		if textField(content, "type") == "text" {
			return s.chunk(textField(content, "text"), textField(u, "messageId"))
		}
	case "agent_thought_chunk", "user_message_chunk", "plan":
		return s.breakAnswer()
	case "tool_call", "tool_call_update":
		return append(s.breakAnswer(), s.toolCall(u)...)
	}
	return nil
}

// chunk is a piece of the answer. A message ends where the id changes or something
// came in between, as it does in the result.
func (s *scribe) chunk(text, id string) []part {
	var parts []part
	if id != "" && id != s.message {
		parts = s.breakAnswer()
	}
	if text == "" {
		return parts
	}
	if !s.open {
		s.message = id
	}
	s.open = true
	return append(parts, part{answerPart, s.text.Next(text)})
}

func (s *scribe) breakAnswer() []part {
	if !s.open {
		return nil
	}
	s.open = false
	return []part{{answerPart, s.text.End()}, {kind: answerEnd}}
}

func (s *scribe) toolCall(u map[string]json.RawMessage) []part {
	id := textField(u, "toolCallId")
	call := s.call(id)
	first := !call.shown
	call.shown = true
	call.title = cmp.Or(s.title(textField(u, "title")), call.title, s.title(textField(u, "kind")), s.title(id), "a tool call")
	status := textField(u, "status")
	switch {
	case status == "completed" || status == "failed":
		if status != call.status {
			call.status = status
			return []part{{toolPart, fmt.Sprintf("tool: %s: %s", call.title, status)}}
		}
	case first:
		return []part{{toolPart, "tool: " + call.title}}
	}
	return nil
}

// call is what is known of the call with this id.
func (s *scribe) call(id string) *callLine {
	call, known := s.calls[id]
	if !known {
		call = &callLine{}
		if len(s.calls) < maxCallLines {
			if s.calls == nil {
				s.calls = map[string]*callLine{}
			}
			s.calls[id] = call
		}
	}
	return call
}

func (s *scribe) permission(rec *permission.Record) part {
	title := ""
	if rec.Title != nil {
		title = s.title(*rec.Title)
	}
	if rec.SessionID == s.session && rec.ToolCallID != "" { // a call that another session asks for is none of its calls
		call := s.call(rec.ToolCallID)
		call.title = cmp.Or(title, call.title)
		title = call.title
	}
	title = cmp.Or(title, "a tool call")
	kind := deniedPart
	if rec.Decision == permission.Allowed {
		kind = allowedPart
	}
	return part{kind, fmt.Sprintf("permission: %s: %s (rule: %s)", title, rec.Decision, visible.Line(rec.Rule))}
}

// title is text of the agent's that is to stand within a line.
func (s *scribe) title(text string) string {
	return clip(visible.Line(s.redact(strings.TrimSpace(text))), 160)
}

// clip shortens text to n characters at the most.
func clip(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i] + "…"
		}
	}
	return text
}

func textField(object map[string]json.RawMessage, name string) string {
	var text string
	json.Unmarshal(object[name], &text) // anything but a string leaves it empty
	return text
}
