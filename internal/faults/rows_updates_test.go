package faults

import (
	"fmt"
	"strings"
	"sync"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/subagent"
)

// updateRows are about what an agent reports and asks in shapes that no schema has.
func updateRows() []row {
	return []row{
		{id: "S10", does: "updates of unknown kinds, with `content`, with `toolCallId`, with neither", forms: unknownForms()},
		{id: "S11", does: "content as an array or a string, a number for a toolCallId, a string for a line", forms: oddForms()},
		{id: "S12", does: "terminal/create and fs/write_text_file although not advertised", forms: notAdvertisedForms()},
	}
}

// raws keeps the updates that are told, as they are told.
type raws struct {
	mu  sync.Mutex // guards all
	all []string
}

// keep has the updates of a run kept.
func (r *raws) keep(s *scene) {
	s.listen(func(e subagent.Event) {
		if e.Type == subagent.EventUpdate {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.all = append(r.all, string(e.Update))
		}
	})
}

// have checks that one of them is this.
func (r *raws) have(s *scene, update string) {
	s.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, u := range r.all {
		if u == update {
			return
		}
	}
	s.Errorf("%s is not among the updates, which are %q", update, r.all)
}

// unknownForms are updates that mean nothing to us.
func unknownForms() []form {
	forms := []form{{script: "s10-unknown-updates", want: `completed; "an answer"; 6 updates; 5 unknown; exit status 0`, check: harmless}}
	for _, u := range []struct{ name, update string }{
		{"a kind like ours", `{"sessionUpdate":"agent_message","content":{"type":"text","text":"psst"}}`},
		{"a kind in capitals", `{"sessionUpdate":"AGENT_MESSAGE_CHUNK","content":{"type":"text","text":"psst"}}`},
		{"a kind with a blank", `{"sessionUpdate":"agent_message_chunk ","content":{"type":"text","text":"psst"}}`},
		{"a kind in camel case", `{"sessionUpdate":"agentMessageChunk","content":{"type":"text","text":"psst"}}`},
		{"a vendor's kind", `{"sessionUpdate":"_vendor/progress","percent":50}`},
		{"a message of the user's kind", `{"sessionUpdate":"user_message","content":{"type":"text","text":"psst"}}`},
		{"with all of a tool call", `{"sessionUpdate":"tool_call_progress","toolCallId":"c1","title":"Build","kind":"edit","status":"completed","rawInput":{},"locations":[{"path":"/a"}]}`},
		{"with entries", `{"sessionUpdate":"plan_v2","entries":[{"content":"a","priority":"high","status":"pending"}]}`},
		{"with a mode", `{"sessionUpdate":"mode","currentModeId":"yolo"}`},
		{"an empty kind", `{"sessionUpdate":"","content":{"type":"text","text":"psst"}}`},
		{"kind null", `{"sessionUpdate":null,"content":{"type":"text","text":"psst"}}`},
		{"an object for a kind", `{"sessionUpdate":{"agent_message_chunk":{}},"content":{"type":"text","text":"psst"}}`},
		{"an array for a kind", `{"sessionUpdate":["agent_message_chunk"],"content":{"type":"text","text":"psst"}}`},
		{"the kind under another name", `{"type":"agent_message_chunk","content":{"type":"text","text":"psst"}}`},
		{"nothing in it", `{}`},
	} {
		var got raws
		forms = append(forms, form{
			name: u.name, script: "on session/prompt; update " + u.update + "; text \"an answer\"", given: got.keep,
			want: `completed; "an answer"; 2 updates; 1 unknown; exit status 0`, check: all(harmless, func(s *scene) { got.have(s, u.update) }),
		})
	}
	for _, p := range []struct{ name, params string }{
		{"update null", `{"sessionId":"$session","update":null}`},
		{"update a string", `{"sessionId":"$session","update":"agent_message_chunk"}`},
		{"update an array", `{"sessionId":"$session","update":[{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"psst"}}]}`},
		{"update missing", `{"sessionId":"$session"}`},
		{"update under another name", `{"sessionId":"$session","sessionUpdate":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"psst"}}}`},
	} {
		forms = append(forms, form{
			name: p.name, script: "on session/prompt; notify session/update " + p.params + "; text \"an answer\"",
			want: `completed; "an answer"; 2 updates; 1 unknown; exit status 0`, check: harmless,
		})
	}
	for _, p := range []string{`null`, `[]`, `"session-1"`, `7`, `{}`} {
		forms = append(forms, form{
			name: "params " + p, script: `on session/prompt; send {"jsonrpc": "2.0", "method": "session/update", "params": ` + p + `}; text "an answer"`,
			check: all(harmless, func(s *scene) { check.Equal(s, "output", s.result.Output, "an answer") }),
		})
	}
	return append(forms,
		form{name: "a thousand", script: `on session/prompt; repeat 1000; update {"sessionUpdate": "tick", "n": $i}; end; text "an answer"`, want: `completed; "an answer"; 1001 updates; 1000 unknown; exit status 0`, check: harmless},
		form{name: "a kind of 1 MB", script: `on session/prompt; set k size=1MB; update {"sessionUpdate": "$k", "toolCallId": "c1"}; text "an answer"`, want: `completed; "an answer"; 2 updates; 1 unknown; exit status 0`, check: harmless},
		form{name: "in mid message", script: `on session/prompt; text "an "; update {"sessionUpdate": "tick"}; text answer`, want: `completed; "an answer"; 3 updates; 1 unknown; exit status 0`, check: harmless},
	)
}

// harmless checks that an update of an unknown kind became none of another one.
func harmless(s *scene) {
	s.Helper()
	check.Lacks(s, fmt.Sprint(s.result.Messages), "psst")
	check.Equal(s, "output", s.result.Output, "an answer")
	check.Equal(s, "tool calls", len(s.result.ToolCalls), 0)
	check.Equal(s, "plan", len(s.result.Plan), 0)
	check.Equal(s, "mode", s.result.Mode == nil, true)
}

// oddForms are updates of which one field is not of its type.
func oddForms() []form {
	forms := []form{{
		script: "s11-odd-fields", want: `completed; "in an array bare an answer"; 6 updates; exit status 0`,
		check: func(s *scene) {
			check.Equal(s, "tool call", toolCalls(s), "7 Read read completed")
		},
	}}
	texts := []struct{ name, content, text string }{
		{"text in an array", `[{"type": "text", "text": "a"}]`, "a"},
		{"text in an array of two", `[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]`, "ab"},
		{"text in an array of strings", `["a", "b"]`, "ab"},
		{"a string", `"a"`, "a"},
		{"an empty array", `[]`, ""},
		{"null", `null`, ""},
		{"a number", `7`, ""},
		{"an object without a type", `{"text": "a"}`, ""},
		{"an unknown type", `{"type": "hologram", "text": "a"}`, ""},
		{"text that is a number", `{"type": "text", "text": 7}`, "7"},
		{"text that is null", `{"type": "text", "text": null}`, ""},
		{"text that is missing", `{"type": "text"}`, ""},
		{"text that is an object", `{"type": "text", "text": {"value": "a"}}`, ""},
		{"annotations of any shape", `{"type": "text", "text": "a", "annotations": "none"}`, "a"},
		{"_meta of any shape", `{"type": "text", "text": "a", "_meta": [1, 2]}`, "a"},
	}
	for _, c := range texts {
		forms = append(forms, form{
			name: c.name, script: `on session/prompt; text "<"; update {"sessionUpdate": "agent_message_chunk", "content": ` + c.content + `}; text ">"`,
			check: func(s *scene) {
				check.Equal(s, "outcome", s.result.Stop, "completed")
				check.Equal(s, "updates", s.result.Counts.Updates, 3)
				check.Equal(s, "unknown", s.result.Counts.Unknown, 0)
				check.Equal(s, "text", s.text(), "<"+c.text+">")
			},
		})
	}
	for _, c := range []struct{ name, fields, want string }{
		{"messageId a number", "", ""},
		{"a number for an id", `"toolCallId": 7, "title": "Build", "kind": "edit", "status": "completed"`, "7 Build edit completed"},
		{"a fraction for an id", `"toolCallId": 7.5, "title": "Build"`, "7.5 Build - unknown"},
		{"a large number for an id", `"toolCallId": 12345678901234567890, "title": "Build"`, "12345678901234567890 Build - unknown"},
		{"an object for an id", `"toolCallId": {"id": 7}, "title": "Build"`, ""},
		{"no id", `"title": "Build"`, ""},
		{"id null", `"toolCallId": null, "title": "Build"`, ""},
		{"title a number", `"toolCallId": "c1", "title": 7, "kind": "edit", "status": "completed"`, "c1 - edit completed"},
		{"kind an object", `"toolCallId": "c1", "title": "Build", "kind": {}, "status": "completed"`, "c1 Build - completed"},
		{"an unknown kind", `"toolCallId": "c1", "title": "Build", "kind": "teleport", "status": "completed"`, "c1 Build teleport completed"},
		{"status a number", `"toolCallId": "c1", "title": "Build", "kind": "edit", "status": 3`, "c1 Build edit unknown"},
		{"an unknown status", `"toolCallId": "c1", "title": "Build", "kind": "edit", "status": "done"`, "c1 Build edit done"},
		{"status null", `"toolCallId": "c1", "title": "Build", "kind": "edit", "status": null`, "c1 Build edit unknown"},
		{"line a string", `"toolCallId": "c1", "title": "Build", "status": "completed", "locations": [{"path": "/a", "line": "12"}]`, "c1 Build - completed"},
		{"line negative, a fraction, beyond all numbers", `"toolCallId": "c1", "title": "Build", "status": "completed", "locations": [{"path": "/a", "line": -1}, {"path": "/a", "line": 1.5}, {"path": "/a", "line": 1e400}]`, "c1 Build - completed"},
		{"locations an object", `"toolCallId": "c1", "title": "Build", "status": "completed", "locations": {"path": "/a"}`, "c1 Build - completed"},
		{"locations strings", `"toolCallId": "c1", "title": "Build", "status": "completed", "locations": ["/a", null, 7]`, "c1 Build - completed"},
		{"content an object", `"toolCallId": "c1", "title": "Build", "status": "completed", "content": {"type": "content"}`, "c1 Build - completed"},
		{"content a string", `"toolCallId": "c1", "title": "Build", "status": "completed", "content": "done"`, "c1 Build - completed"},
		{"content of odd elements", `"toolCallId": "c1", "title": "Build", "status": "completed", "content": [null, 7, "x", {}, {"type": "diff"}, {"type": "terminal", "terminalId": 3}]`, "c1 Build - completed"},
		{"input a string", `"toolCallId": "c1", "title": "Build", "status": "completed", "rawInput": "ls", "rawOutput": [1]`, "c1 Build - completed"},
	} {
		if c.fields == "" && c.want == "" {
			continue
		}
		forms = append(forms, form{
			name: "a tool call: " + c.name, script: `on session/prompt; update {"sessionUpdate": "tool_call", ` + c.fields + `}; text "an answer"`,
			want: `completed; "an answer"; 2 updates; exit status 0`, check: func(s *scene) { check.Equal(s, "tool calls", toolCalls(s), c.want) },
		})
	}
	for _, u := range []struct{ name, update string }{
		{"entries an object", `{"sessionUpdate": "plan", "entries": {}}`},
		{"entries of odd elements", `{"sessionUpdate": "plan", "entries": [null, 7, "x", {"content": 7}, {"content": "kept", "priority": 1, "status": null}]}`},
		{"no entries", `{"sessionUpdate": "plan"}`},
		{"a mode that is a number", `{"sessionUpdate": "current_mode_update", "currentModeId": 7}`},
		{"commands a string", `{"sessionUpdate": "available_commands_update", "availableCommands": "/help"}`},
		{"options null", `{"sessionUpdate": "config_option_update", "configOptions": null}`},
		{"options of odd elements", `{"sessionUpdate": "config_option_update", "configOptions": [null, 7, {"id": 7, "category": {}, "currentValue": []}]}`},
		{"a title that is a list", `{"sessionUpdate": "session_info_update", "title": ["a"], "updatedAt": 7}`},
		{"a tool_call_update without anything", `{"sessionUpdate": "tool_call_update"}`},
		{"messageId a number", `{"sessionUpdate": "agent_thought_chunk", "messageId": 7, "content": {"type": "text", "text": "hm"}}`},
	} {
		forms = append(forms, form{
			name: u.name, script: `on session/prompt; update ` + u.update + `; text "an answer"`, want: `completed; "an answer"; 2 updates; exit status 0`,
		})
	}
	return append(forms,
		form{name: "a number for a messageId, the text is kept", script: `on session/prompt; update {"sessionUpdate": "agent_message_chunk", "messageId": 7, "content": {"type": "text", "text": "an answer"}}`, want: `completed; "an answer"; 1 updates; exit status 0`},
		form{name: "a session id that is a number", script: `on session/new; reply {"sessionId": 7}
			on session/prompt; update {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "an answer"}}`,
			want: "not started: protocol at session/new"},
		form{name: "models and modes of any shape", script: `on session/new; reply {"sessionId": "s", "modes": 7, "models": [], "configOptions": {}}
			on session/prompt; text "an answer" session=s`, want: `completed; "an answer"; 1 updates; exit status 0`},
		form{name: "capabilities of any shape", script: `on initialize; reply {"protocolVersion": 1, "agentCapabilities": [], "agentInfo": "agent 1.0", "authMethods": {}}
			on session/prompt; text "an answer"`, want: `completed; "an answer"; 1 updates; exit status 0`},
		form{name: "deep capabilities of any shape", script: `on initialize; reply {"protocolVersion": 1, "agentCapabilities": {"promptCapabilities": "all", "sessionCapabilities": {"close": {}}, "loadSession": "yes"}, "agentInfo": {"name": 7, "version": null}}
			on session/close; answer {}
			on session/prompt; text "an answer"`, want: `completed; "an answer"; 1 updates; exit status 0`},
	)
}

// toolCalls are those in the result: id, title, kind, status, with a dash for null.
func toolCalls(s *scene) string {
	var all []string
	for _, c := range s.result.ToolCalls {
		text := func(p *string) string {
			if p == nil {
				return "-"
			}
			return *p
		}
		all = append(all, strings.Join([]string{c.ID, text(c.Title), text(c.Kind), c.Status}, " "))
	}
	return strings.Join(all, "; ")
}

// notAdvertisedForms ask for what we do not offer.
func notAdvertisedForms() []form {
	forms := []form{{script: "s12-not-advertised", want: `completed; "-32601 -32601 -32601"; 3 updates; exit status 0`, check: nothingWritten}}
	for _, method := range []string{
		"fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/output", "terminal/release", "terminal/wait_for_exit", "terminal/kill",
		"elicitation/create", "session/prompt", "initialize", "fs/delete_file", "workspace/apply_edit",
	} {
		forms = append(forms, form{name: method, script: `on session/prompt
			request "` + method + `" {"sessionId": "$session", "path": "$cwd/a.txt", "content": "a", "command": "touch", "args": ["a.txt"], "terminalId": "t"}
			text $error.code
			request "` + method + `" null
			text " $error.code"
			request "` + method + `" []
			text " $error.code"`, want: `completed; "-32601 -32601 -32601"; 3 updates; exit status 0`, check: nothingWritten})
	}
	return append(forms,
		form{name: "while initializing", script: `on initialize; request fs/read_text_file {"path": "/etc/passwd"}; write code $error.code`, want: completed, check: wrote("code", "-32601")},
		form{name: "a thousand at once", script: `on session/prompt
			repeat 1000; background; request terminal/create {"sessionId": "$session", "command": "true"} id="ask-$i"; append codes $error.code; end; end
			wait background`, want: completed, check: func(s *scene) { check.Equal(s, "refusals", strings.Count(s.file("codes"), "-32601\n"), 1000) }},
		form{name: "and takes it for a crash", script: `on session/prompt; request terminal/create {"command": "make"}; stderr "no terminal: $error.message\n"; exit 1`, want: "error: exit at session/prompt; no text; exit status 1", check: says("exit status 1", "no terminal")},
		form{name: "a file that is there", given: func(s *scene) { s.put("secret.txt", "the secret") }, script: `on session/prompt; request fs/read_text_file {"sessionId": "$session", "path": "$cwd/secret.txt"}; text "$answer $error.code"`,
			check: func(s *scene) { check.Lacks(s, s.text(), "the secret"); check.Has(s, s.text(), "-32601") }},
	)
}

func nothingWritten(s *scene) {
	s.Helper()
	check.Equal(s, "a.txt", s.file("a.txt"), "")
}
