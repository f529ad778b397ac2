package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

func update(format string, args ...any) subagent.Event {
	return subagent.Event{Type: subagent.EventUpdate, SessionID: "s", Update: json.RawMessage(fmt.Sprintf(format, args...))}
}

func chunk(text, id string) subagent.Event {
	quoted, _ := json.Marshal(text) // a string always marshals
	return update(`{"sessionUpdate": "agent_message_chunk", "messageId": %q, "content": {"type": "text", "text": %s}}`, id, quoted)
}

// shownParts is what the scribe makes of events, a line for each part.
func shownParts(s *scribe, events ...subagent.Event) []string {
	names := map[partKind]string{answerPart: "answer", answerEnd: "end", toolPart: "tool", deniedPart: "denied", allowedPart: "allowed", warningPart: "warning"}
	var lines []string
	for _, e := range events {
		for _, p := range s.see(e) {
			if p.kind != answerPart || p.text != "" {
				lines = append(lines, strings.TrimSpace(names[p.kind]+" "+p.text))
			}
		}
	}
	return lines
}

func TestScribe(t *testing.T) {
	title := "Write \x1b[31m a.txt\nnow"
	session := "s"
	start := subagent.Event{Type: subagent.EventStart, Start: &subagent.Start{SessionID: &session}}
	tests := []struct {
		name   string
		events []subagent.Event
		want   []string
	}{
		{"a message in pieces", []subagent.Event{chunk("Hel", ""), chunk("lo", ""), {Type: subagent.EventEnd}},
			[]string{"answer Hel", "answer lo", "end"}},
		{"two messages by id", []subagent.Event{chunk("a", "1"), chunk("b", "1"), chunk("c", "2"), {Type: subagent.EventEnd}},
			[]string{"answer a", "answer b", "end", "answer c", "end"}},
		{"a message without an id goes on", []subagent.Event{chunk("a", "1"), chunk("b", "")}, []string{"answer a", "answer b"}},
		{"empty chunks", []subagent.Event{chunk("", "1"), chunk("a", "1"), chunk("", "2"), chunk("b", "2")}, []string{"answer a", "end", "answer b"}},
		{"A26 thoughts are no answer", []subagent.Event{chunk("a", ""), update(`{"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}}`), chunk("b", "")},
			[]string{"answer a", "end", "answer b"}},
		{"A53 echoes of the user are no answer", []subagent.Event{update(`{"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "hi"}}`)}, nil},
		{"A2 other blocks are no text", []subagent.Event{update(`{"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "text": "no", "data": "", "mimeType": "image/png"}}`)}, nil},
		{"A36 another session's text", []subagent.Event{{Type: subagent.EventUpdate, SessionID: "other", Update: chunk("no", "").Update}, chunk("yes", "")}, []string{"answer yes"}},
		{"S10 an unknown kind with content", []subagent.Event{update(`{"sessionUpdate": "new_kind", "content": {"type": "text", "text": "no"}}`), chunk("yes", "")}, []string{"answer yes"}},
		{"an escape cut in two", []subagent.Event{chunk("a\x1b", ""), chunk("[31m\u202e", ""), {Type: subagent.EventEnd}},
			[]string{`answer a\u{1b}`, `answer [31m\u{202e}`, "end"}},
		{"a CR that waits for its LF", []subagent.Event{chunk("a\r", ""), {Type: subagent.EventEnd}}, []string{"answer a", `answer \u{d}`, "end"}},
		{"a tool call", []subagent.Event{
			update(`{"sessionUpdate": "tool_call", "toolCallId": "1", "title": "Read it", "status": "pending"}`),
			update(`{"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "in_progress"}`),
			update(`{"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed"}`),
			update(`{"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed"}`),
		}, []string{"tool tool: Read it", "tool tool: Read it: completed"}},
		{"a tool call without a title", []subagent.Event{update(`{"sessionUpdate": "tool_call_update", "toolCallId": "x1", "kind": "edit"}`), update(`{"sessionUpdate": "tool_call", "toolCallId": 7, "title": 8}`)},
			[]string{"tool tool: edit", "tool tool: a tool call"}},
		{"S11 a title of another type", []subagent.Event{update(`{"sessionUpdate": "tool_call", "toolCallId": "1", "title": ["x"], "status": "failed"}`)}, []string{"tool tool: 1: failed"}},
		{"C22 a title that would be obeyed, and is a secret", []subagent.Event{update(`{"sessionUpdate": "tool_call", "toolCallId": "1", "title": "\u001b]0;x\u0007 sekret\nnext"}`)},
			[]string{`tool tool: \u{1b}]0;x\u{7} [redacted]\u{a}next`}},
		{"a long title", []subagent.Event{update(`{"sessionUpdate": "tool_call", "toolCallId": "1", "title": %q}`, strings.Repeat("é", 300))}, []string{"tool tool: " + strings.Repeat("é", 160) + "…"}},
		{"permissions", []subagent.Event{
			chunk("a", ""),
			{Type: subagent.EventPermission, Permission: &permission.Record{Title: &title, Decision: permission.Allowed, Rule: "allow"}},
			{Type: subagent.EventPermission, Permission: &permission.Record{SessionID: "s", ToolCallID: "1", Decision: permission.Cancelled, Rule: "turn cancelled"}},
		}, []string{"answer a", "end", `allowed permission: Write \u{1b}[31m a.txt\u{a}now: allowed (rule: allow)`, "denied permission: a tool call: cancelled (rule: turn cancelled)"}},
		{"a permission for a call that was announced", []subagent.Event{
			update(`{"sessionUpdate": "tool_call", "toolCallId": "1", "title": "Read it"}`),
			{Type: subagent.EventPermission, Permission: &permission.Record{SessionID: "s", ToolCallID: "1", Decision: permission.Denied, Rule: "reject"}},
		}, []string{"tool tool: Read it", "denied permission: Read it: denied (rule: reject)"}},
		{"a call that is known from its permission only", []subagent.Event{
			{Type: subagent.EventPermission, Permission: &permission.Record{SessionID: "s", ToolCallID: "1", Title: &title, Decision: permission.Denied, Rule: "reject"}},
			update(`{"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "in_progress"}`),
			update(`{"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "failed"}`),
		}, []string{`denied permission: Write \u{1b}[31m a.txt\u{a}now: denied (rule: reject)`, `tool tool: Write \u{1b}[31m a.txt\u{a}now`, `tool tool: Write \u{1b}[31m a.txt\u{a}now: failed`}},
		{"a permission of another session's call", []subagent.Event{
			{Type: subagent.EventPermission, Permission: &permission.Record{SessionID: "other", ToolCallID: "1", Title: &title, Decision: permission.Denied, Rule: "reject"}},
			update(`{"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "failed"}`),
		}, []string{`denied permission: Write \u{1b}[31m a.txt\u{a}now: denied (rule: reject)`, "tool tool: 1: failed"}},
		{"a warning", []subagent.Event{{Type: subagent.EventWarning, Warning: "odd\nthing"}}, []string{`warning warning: odd\u{a}thing`}},
		{"no JSON", []subagent.Event{update(`[`), update(`null`), update(``), update(`{"sessionUpdate": 3}`)}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &scribe{redact: func(text string) string { return strings.ReplaceAll(text, "sekret", "[redacted]") }}
			got := shownParts(s, append([]subagent.Event{start}, tt.events...)...)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// An agent that announces calls without end does not fill the parent.
func TestScribeIsBounded(t *testing.T) {
	s := &scribe{session: "s", redact: func(text string) string { return text }}
	for i := range maxCallLines + 100 {
		s.see(update(`{"sessionUpdate": "tool_call", "toolCallId": "%d", "title": "x"}`, i))
	}
	if len(s.calls) > maxCallLines {
		t.Errorf("%d calls are remembered", len(s.calls))
	}
}
