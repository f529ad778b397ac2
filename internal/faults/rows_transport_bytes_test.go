package faults

import "github.com/errand-acp/errand/internal/check"

func noFinalNewline() row {
	const whole = `completed; "all of it"; 1 updates; exit status 0`
	with := func(ending string) string {
		return `on session/prompt; text "all of it"; newline "` + ending + `"; stop end_turn; exit 0`
	}
	return row{id: "T14", does: "sends its last frame without a newline, and exits", forms: []form{
		{script: "t14-no-final-newline", want: whole},
		{name: "a carriage return", script: with(`\r`), want: whole},
		{name: "blanks", script: with(`  \t \r`), want: whole},
		{name: "the beginning of a next one", script: with(`\n{\"jsonrpc\"`), want: `completed; "all of it"; 1 updates; 1 lines of noise; exit status 0`},
		{name: "a NUL and an escape", script: with(`\x00\x1b[0m`), want: whole},
		{name: "and closes stdout", script: `on session/prompt; text "all of it"; newline ""; stop end_turn; stdout close; wait forever`, want: whole},
		{
			name: "in two pieces", want: whole,
			script: `on session/prompt; text "all of it"; never reply; raw "{\"jsonrpc\":\"2.0\",\"id\":$id,"; wait 20ms; raw "\"result\":{\"stopReason\":\"end_turn\"}}"; exit 0`,
		},
		{
			name: "an update, and no answer", script: `on session/prompt; newline ""; text "all of it"; exit 2`,
			want: `error: exit at session/prompt; "all of it"; 1 updates; exit status 2`,
		},
		{
			name: "an error to initialize", script: `on initialize; newline ""; reply error -32603 "no home"; exit 1`,
			want:  "not started: agent at initialize",
			check: func(s *scene) { check.Has(s, s.message(), "no home") },
		},
		{
			name: "a byte order mark before it", script: `on session/prompt; text "all of it"; newline ""; raw "\ufeff"; stop end_turn; exit 0`, want: whole,
		},
	}}
}

func invalidUTF8() row {
	update := func(inner string) string {
		return `noise "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"session-1\",` + inner + `}}"` + "\n"
	}
	text := func(text string) string {
		return "on session/prompt\n" + update(`\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"`+text+`\"}}`) + "stop end_turn"
	}
	return row{id: "T16", does: "sends a byte that is no UTF-8 in a text", forms: []form{
		{script: "t16-invalid-utf8", want: "completed; \"caf\ufffd \ufffd!\"; 2 updates; exit status 0"},
		{name: "every byte that can be one", script: text(`a\x80b\xc0\xafc\xfe\xffd`), check: func(s *scene) {
			check.Equal(s, "stop", s.result.Stop, "completed")
			check.Lacks(s, s.text(), "\x80", "\xc0", "\xfe", "\xff")
			check.Has(s, s.text(), "a\ufffdb\ufffd", "c\ufffd", "d")
		}},
		{name: "a character cut off at the end", script: text(`caf\xc3`), want: "completed; \"caf\ufffd\"; 1 updates; exit status 0"},
		{
			name: "a character divided between two chunks",
			script: "on session/prompt\n" + update(`\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"caf\xc3\"}}`) +
				update(`\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"\xa9!\"}}`) + "stop end_turn",
			want: "completed; \"caf\ufffd\ufffd!\"; 2 updates; exit status 0",
		},
		{name: "halves of surrogate pairs", script: text(`a\\ud83db\\udc00\\ud83d c\\udc00\\ud83d`), want: "completed; \"a\ufffdb\ufffd\ufffd c\ufffd\ufffd\"; 1 updates; exit status 0"},
		{name: "a surrogate encoded as bytes", script: text(`a\xed\xa0\xbdb`), check: func(s *scene) {
			check.Equal(s, "stop", s.result.Stop, "completed")
			check.Has(s, s.text(), "a\ufffd", "\ufffdb")
		}},
		{
			name: "in names and unknown fields", want: `completed; "fine"; 1 updates; exit status 0`,
			script: "on session/prompt\n" + update(`\"\xff\":\"\xfe\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"\xc3\":1,\"content\":{\"type\":\"text\",\"text\":\"fine\",\"\xff\":\"\xff\"}}`) + "stop end_turn",
		},
		{
			name:   "in the title and the id of a tool call",
			script: "on session/prompt\n" + update(`\"update\":{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c\xff\",\"title\":\"t\xff\"}`) + update(`\"update\":{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c\xff\",\"status\":\"completed\"}`) + "stop end_turn",
			want:   "completed; no text; 2 updates; exit status 0",
			check: func(s *scene) {
				check.Equal(s, "calls", len(s.result.ToolCalls), 1)
				check.Equal(s, "id", s.result.ToolCalls[0].ID, "c\ufffd")
				check.Equal(s, "title", *s.result.ToolCalls[0].Title, "t\ufffd")
				check.Equal(s, "status", s.result.ToolCalls[0].Status, "completed")
			},
		},
		{
			name: "in the session's id, which is then another one", want: `completed; "ours"; 1 updates; 1 foreign; exit status 0`,
			script: `on session/prompt; noise "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"session-1\xff\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"theirs\"}}}}"; text "ours"`,
		},
		{
			name: "in the stop reason", script: `on session/prompt; never reply; noise "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"stopReason\":\"end\xffturn\"}}"`,
			want:  "error: protocol at session/prompt; no text; exit status 0",
			check: func(s *scene) { check.Equal(s, "stop reason", *s.result.StopReason, "end\ufffdturn") },
		},
		{
			name: "in an error", script: `on session/prompt; never reply; noise "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32603,\"message\":\"out of \xff\"}}"`,
			want:  "error: agent at session/prompt; no text; exit status 0",
			check: func(s *scene) { check.Has(s, s.message(), "out of \ufffd") },
		},
	}}
}

func flattened() row {
	send := func(params ...string) string {
		script := "on session/prompt\n"
		for _, p := range params {
			script += `send {"jsonrpc": "2.0", "method": "session/update", "params": ` + p + "}\n"
		}
		return script + "text 'an answer'\nstop end_turn"
	}
	return row{id: "T23", does: "sends an update whose fields stand in params themselves", forms: []form{
		{
			script: "t23-flattened", want: `completed; "an answer"; 2 updates; 1 unknown; exit status 0`,
			do: func(s *scene) {
				raw := ""
				for _, e := range s.told() {
					if e.Type == "update" && raw == "" {
						raw = string(e.Update)
					}
				}
				check.Has(s, raw, `"sessionUpdate":"agent_message_chunk"`, `"flat"`)
			},
		},
		{
			name: "an update that is no object", want: `completed; "an answer"; 6 updates; 5 unknown; exit status 0`,
			script: send(`{"sessionId": "session-1", "update": [1]}`, `{"sessionId": "session-1", "update": "agent_message_chunk"}`, `{"sessionId": "session-1", "update": null}`,
				`{"sessionId": "session-1", "update": 7}`, `{"sessionId": "session-1"}`),
		},
		{
			name: "params that are no object, or not there", want: `completed; "an answer"; 1 updates; 4 foreign; exit status 0`,
			script: send(`[]`, `"text"`, `null`, `[{"sessionId": "session-1", "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "wrong"}}}]`),
		},
		{
			name: "the kind as a name", want: `completed; "an answer"; 3 updates; 2 unknown; exit status 0`,
			script: send(`{"sessionId": "session-1", "update": {"agent_message_chunk": {"content": {"type": "text", "text": "wrong"}}}}`,
				`{"sessionId": "session-1", "update": {"type": "agent_message_chunk", "content": {"type": "text", "text": "wrong"}}}`),
		},
		{
			name: "an update within the update", want: `completed; "an answer"; 2 updates; 1 unknown; exit status 0`,
			script: send(`{"sessionId": "session-1", "update": {"update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "wrong"}}}}`),
		},
		{
			name: "both at once", want: `completed; "right an answer"; 2 updates; exit status 0`,
			script: send(`{"sessionId": "session-1", "sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "wrong "}, "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "right "}}}`),
		},
		{
			name: "a tool call", want: `completed; "an answer"; 2 updates; 1 unknown; exit status 0`,
			script: send(`{"sessionId": "session-1", "sessionUpdate": "tool_call", "toolCallId": "c1", "title": "wrong", "status": "completed"}`),
			check:  func(s *scene) { check.Equal(s, "tool calls", len(s.result.ToolCalls), 0) },
		},
	}}
}
