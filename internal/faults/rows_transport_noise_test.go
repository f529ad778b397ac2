package faults

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/permission"
)

// noiseIs checks which lines are kept of what was no frame.
func noiseIs(want ...string) func(*scene) {
	return func(s *scene) {
		s.Helper()
		if diff := cmp.Diff(want, s.result.Noise.First); diff != "" {
			s.Errorf("noise (-want +got)\n%s", diff)
		}
	}
}

func noise() row {
	const oneTwo = `completed; "one two"; 2 updates; `
	between := func(statements string) string {
		return "on session/prompt\ntext 'one '\n" + statements + "\ntext 'two'\nstop end_turn"
	}
	return row{id: "T11", does: "writes lines of text before initialize, between frames and after the last one", forms: []form{
		{
			script: "t11-noise", want: oneTwo + "4 lines of noise; exit status 0",
			check: noiseIs("Welcome to agent 1.0!", "DEBUG thinking", "goodbye", "really goodbye"),
		},
		{
			name: "blank ones", script: between(`noise ""; noise "   "; noise "\t\t"; noise "\r"; raw "\n\n\r\n"`),
			want: oneTwo + "exit status 0",
		},
		{
			name: "terminal escapes alone, and before frames", script: between(`raw "\x1b[2K\x1b[1G\x1b[?25l\n"; raw "\x1b]0;title\x07\x1b[0m"`),
			want: oneTwo + "exit status 0",
		},
		{
			name: "coloured ones", script: between(`noise "\x1b[32mINFO\x1b[0m starting"; noise "\x1b[2K 50%\r 100%"`),
			want: oneTwo + "2 lines of noise; exit status 0",
		},
		{
			name: "a byte order mark before the first frame", script: `raw "\ufeff"` + "\n" + between(""),
			want: oneTwo + "exit status 0",
		},
		{
			name: "bytes that are no text", script: between(`noise "\x00\x00"; noise "\xff\xfe{"; noise "a\x00b\xc3"`),
			want: oneTwo + "2 lines of noise; exit status 0",
			check: func(s *scene) {
				for _, line := range s.result.Noise.First {
					check.Equal(s, "valid", utf8.ValidString(line), true)
				}
			},
		},
		{
			name: "JSON that is no frame",
			script: between(`noise "42"; noise "\"text\""; noise "null"; noise "true"; noise "[]"; noise "{}"; noise "[1,2]"; noise "{\"level\":\"info\"}"
				noise "{\"jsonrpc\":\"2.0\"}"; noise "{'a': 1}"; noise "{\"a\":1,}"; noise "[{}]"`),
			want:  oneTwo + "12 lines of noise; exit status 0",
			check: noiseIs("42", `"text"`, "null", "true", "[]", "{}", "[1,2]", `{"level":"info"}`),
		},
		{
			name: "an HTML page, and a stack trace",
			script: between(`raw "<!DOCTYPE html>\n<html>\n  <body>502 Bad Gateway</body>\n</html>\n"
				raw "Error: no\n    at main (index.js:1:2)\n    at node:internal\n"`),
			want: oneTwo + "7 lines of noise; exit status 0",
		},
		{
			name: "headers, as other protocols have them", script: between(`raw "Content-Length: 123\r\nContent-Type: x\r\n\r\n"`),
			want: oneTwo + "2 lines of noise; exit status 0", check: noiseIs("Content-Length: 123", "Content-Type: x"),
		},
		{
			name: "CRLF after frames and text", script: "newline \"\\r\\n\"\n" + between(`raw "some text\r\n"`),
			want: oneTwo + "1 lines of noise; exit status 0", check: noiseIs("some text"),
		},
		{
			name: "long ones", script: between(`noise "L" size=1MB; noise "[L" size=1MB; noise "{\"k\":\"" size=1MB`),
			want: oneTwo + "3 lines of noise; exit status 0", check: func(s *scene) { s.shortNoise() },
		},
		{
			name: "100,000 of them", script: between(`set lines "some text\n" size=1MB; raw "$lines"`),
			want: oneTwo + "100000 lines of noise; exit status 0", check: func(s *scene) { s.shortNoise() },
		},
		{
			name: "many before initialize, and exits", script: `raw "usage: x\n" size=100KB; raw "\n"; exit 2`,
			want: "not started: exit at initialize",
			check: func(s *scene) {
				check.Has(s, s.message(), "usage: x", "exit status 2")
				if n := s.err.Partial.Noise.Lines; n < 10000 {
					s.Errorf("%d lines of noise", n)
				}
			},
		},
		{
			name: "in the middle of nothing else", script: `on session/prompt; noise "I am done!"; exit 0`,
			want:  "error: exit at session/prompt; no text; 1 lines of noise; exit status 0",
			check: func(s *scene) { check.Has(s, s.message(), "I am done!") },
		},
	}}
}

func logLineWithOurID() row {
	// real is what a script that sends these goes on with.
	real := func(lines string) string {
		return "on session/prompt\n" + lines + "\ntext 'the real answer'\nstop end_turn"
	}
	const n = `completed; "the real answer"; 1 updates; `
	return row{id: "T12", does: "writes log objects that carry the id of the pending request", forms: []form{
		{script: "t12-log-line-with-our-id", want: n + "2 lines of noise; exit status 0"},
		{
			name: "as a string and as a float", script: real(`send {"level": "info", "id": "$id", "msg": "x"}; noise "{\"id\":$id.0,\"msg\":\"x\"}"; noise "{\"id\":${id}e0}"`),
			want: n + "3 lines of noise; exit status 0",
		},
		{
			name: "with a method of nobody", script: real(`send {"id": $id, "method": "GET", "path": "/"}; send {"id": $id, "method": "GET", "result": null}`),
			want: n + "2 lines of noise; exit status 0",
		},
		{
			name: "with an error that is text", script: real(`send {"level": "error", "id": $id, "error": "timeout"}; send {"id": $id, "error": null}; send {"id": $id, "error": "x", "params": {}}`),
			want: n + "3 lines of noise; exit status 0",
		},
		{
			name: "with a result inside of something else", script: real(`send {"id": $id, "data": {"result": {"stopReason": "refusal"}}}; send {"jsonrpc": "2.0", "id": $id, "Result": {"stopReason": "refusal"}, "Error": {}}`),
			want: n + "2 lines of noise; exit status 0",
		},
		{
			name: "with the id in an array, an object, or deeper", script: real(`send {"id": [$id], "msg": 1}; send {"id": {"id": $id}, "msg": 1}; send {"record": {"id": $id, "result": {"stopReason": "refusal"}}}`),
			want: n + "3 lines of noise; exit status 0",
		},
		{
			name: "cut off", script: real(`noise "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"stopReason\":\"refusal\"}"; noise "{\"id\":$id,\"result\":"`),
			want: n + "2 lines of noise; exit status 0",
		},
		{
			name: "in a line of a log", script: real(`noise "12:00 {\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"stopReason\":\"refusal\"}}"; noise "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"stopReason\":\"refusal\"}} sent"`),
			want: n + "2 lines of noise; exit status 0",
		},
		{
			name:   "with initialize and session/new pending",
			script: `on initialize; send {"level": "info", "id": $id, "msg": "x"}` + "\n" + `on session/new; send {"level": "info", "id": $id, "msg": "x"}` + "\n" + real(""),
			want:   n + "2 lines of noise; exit status 0",
		},
	}}
}

// hears is given to a run whose agent waits for the file answered, which comes once it has
// recorded so many answers with that in them: answers come in no order, so that the last
// one says nothing of the others.
func hears(answer string, n int) func(*scene) {
	return func(s *scene) {
		// Ends with that, at the latest with the test.
		go func() {
			for s.Context().Err() == nil {
				if strings.Count(s.file("heard"), answer) >= n {
					s.write("answered")
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		}()
	}
}

func vendor() row {
	const waits = "\nwait file answered; text 'done'\n"
	asks := func(ids ...string) string {
		script := "record heard\non session/prompt\n"
		for _, id := range ids {
			script += `send {"jsonrpc": "2.0", "id": ` + id + `, "method": "_vendor/ask", "params": {}}` + "\n"
		}
		return script + waits
	}
	answered := func(ids ...string) func(*scene) {
		return func(s *scene) {
			heard := strings.ReplaceAll(s.file("heard"), " ", "")
			for _, id := range ids {
				check.Equal(s, "answers to "+id, strings.Count(heard, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-32601,`), 1)
			}
		}
	}
	const done = `completed; "done"; 1 updates; exit status 0`
	odd := []string{`"a"`, `""`, `"3"`, `0`, `-1`, `1.5`, `9007199254740993`, `123456789012345678901234567890`, `"with\"quotes\"and\u00e9"`, `null`, `true`, `[1]`, `{"a":1}`}
	return row{id: "T13", does: "sends a notification and a request of its vendor's", forms: []form{
		{script: "t13-vendor", want: `completed; "answered with -32601"; 1 updates; exit status 0`},
		{
			name: "odd ids", given: hears("-32601", len(odd)), script: asks(odd...), want: done,
			check: answered(odd...),
		},
		{
			name: "an id that is one of ours", given: hears("-32601", 1), script: asks(`$id`), want: done,
			check: answered("3"),
		},
		{
			name: "the same id twice", given: hears("-32601", 2), script: asks(`7`, `7`), want: done,
			check: func(s *scene) { check.Equal(s, "answers", strings.Count(s.file("heard"), `"id":7,"error"`), 2) },
		},
		{
			name: "with the names of methods of others, or of none",
			script: `record heard
				on session/prompt
				send {"jsonrpc": "2.0", "id": "n", "method": "", "params": {}}
				request "session/unheard_of" {}
				request vendor/with_slash []
				request "textDocument/hover" {"a": {"b": [1, 2, {"c": null}]}}
				notify "session/unheard_of"
				notify "$$/progress" {"token": 1}
				notify "textDocument/publishDiagnostics" [1]
				text "done"`,
			want: done,
			check: func(s *scene) {
				check.Equal(s, "answers", strings.Count(s.file("heard"), "-32601"), 3)
				check.Equal(s, "what has no method", strings.Count(s.file("heard"), `"id":"n","error":{"code":-32600`), 1)
			},
		},
		{
			name: "10,000 of each", given: hears("-32601", 10000),
			script: `record heard
				on session/prompt
				repeat 10000
					send {"jsonrpc": "2.0", "id": $i, "method": "_vendor/ask"}
					send {"jsonrpc": "2.0", "method": "_vendor/tell"}
				end` + waits,
			want: done, check: func(s *scene) { check.Equal(s, "answers", strings.Count(s.file("heard"), "-32601"), 10000) },
		},
		{
			name: "in an array of frames, with a permission among them", given: all(hears("-32601", 1), policy(permission.Allow())),
			script: `record heard
				on session/prompt
				send [{"jsonrpc": "2.0", "id": "b1", "method": "_vendor/ask"}, {"jsonrpc": "2.0", "method": "_vendor/tell"},
					{"jsonrpc": "2.0", "id": "b2", "method": "session/request_permission", "params": {"sessionId": "session-1", "toolCall": {"toolCallId": "c1"}, "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]}}]` + waits,
			want:  `completed; "done"; 1 updates; allowed; exit status 0`,
			check: answered(`"b1"`),
		},
	}}
}

func prettyPrinted() row {
	const asked = `{"jsonrpc": "2.0", "id": $id, "result": {"stopReason": "end_turn"}}`
	seen := func(first string) func(*scene) {
		return func(s *scene) {
			check.Has(s, s.message(), "no ACP frames", first)
			check.Equal(s, "first line", s.result.Noise.First[0], first)
		}
	}
	const failed = `error: exit at session/prompt; "an answer"; 1 updates; 7 lines of noise; exit status 0`
	return row{id: "T15", does: "spreads its answer over several lines, and exits", forms: []form{
		{script: "t15-pretty-printed", want: failed, check: seen("{")},
		{
			name:   "with tabs and CRLF",
			script: `on session/prompt; text "an answer"; never reply; raw "{\r\n\t\"jsonrpc\": \"2.0\",\r\n\t\"id\": $id,\r\n\t\"result\": {\r\n\t\t\"stopReason\": \"end_turn\"\r\n\t}\r\n}\r\n"; exit 0`,
			want:   failed, check: seen("{"),
		},
		{
			name:   "an object in it on a line of its own",
			script: `on session/prompt; text "an answer"; never reply; raw "{\"jsonrpc\": \"2.0\", \"id\": $id, \"result\":\n{\"stopReason\": \"end_turn\"}\n}\n"; exit 0`,
			want:   `error: exit at session/prompt; "an answer"; 1 updates; 3 lines of noise; exit status 0`,
		},
		{
			name: "and lives on", script: `on session/prompt; text "an answer"; never reply; send ` + asked + ` pretty; wait forever`,
			given: all(isDeaf, idleTimeout(idle)),
			check: func(s *scene) {
				check.Equal(s, "stop", s.result.Stop, "aborted")
				check.Equal(s, "kind", s.result.Error.Kind, "idle_timeout")
				check.Equal(s, "noise", s.result.Noise.Lines, 7)
			},
		},
		{
			name: "an update, not the answer", script: `on session/prompt
				send {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "session-1", "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "lost"}}}} pretty
				text "an answer"
				stop end_turn`,
			check: func(s *scene) {
				check.Equal(s, "stop", s.result.Stop, "completed")
				check.Equal(s, "text", s.text(), "an answer")
				if s.result.Noise.Lines < 10 {
					s.Errorf("%d lines of noise", s.result.Noise.Lines)
				}
				s.shortNoise()
			},
		},
		{
			name: "the answer to initialize", given: all(isDeaf, startTimeout(ample)),
			script: `on initialize; never reply; send {"jsonrpc": "2.0", "id": $id, "result": {"protocolVersion": 1}} pretty`,
			want:   "not started: startup_timeout at initialize",
			check:  func(s *scene) { check.Has(s, s.message(), "no ACP frames") },
		},
	}}
}

func duplicateResponses() row {
	const once = `completed; "an answer"; 1 updates; exit status 0`
	return row{id: "T20", does: "answers a request twice, and one that nobody made", forms: []form{
		{script: "t20-duplicate-responses", want: once, check: func(s *scene) { check.Equal(s, "stop reason", *s.result.StopReason, "end_turn") }},
		{
			name: "ids that are none of ours", want: once,
			script: `on session/prompt
				reply {"stopReason": "refusal"} id=null
				reply {"stopReason": "refusal"} id=-1
				reply {"stopReason": "refusal"} id=0
				reply {"stopReason": "refusal"} id=1.5
				reply {"stopReason": "refusal"} id=123456789012345678901234567890
				reply {"stopReason": "refusal"} id=1e400
				reply {"stopReason": "refusal"} id=""
				reply {"stopReason": "refusal"} id=[3]
				reply {"stopReason": "refusal"} id={"id": 3}
				reply {"stopReason": "refusal"} id=true
				reply error -32603 "no" id=null
				text "an answer"
				reply {"stopReason": "end_turn"}`,
		},
		{
			name: "before we have asked", want: once,
			script: `on initialize
				reply {"sessionId": "wrong"} id=2
				reply {"stopReason": "refusal"} id=3
				reply {"stopReason": "refusal"} id=4
				reply {"protocolVersion": 1}
				on session/prompt; text "an answer"`,
			check: func(s *scene) { check.Equal(s, "session", *s.result.SessionID, "session-1") },
		},
		{
			name: "initialize and session/new twice", want: once,
			script: `on initialize; reply {"protocolVersion": 1}; reply {"protocolVersion": 2}; reply error -32603 "no"
				on session/new; reply {"sessionId": "session-1"}; reply {"sessionId": "session-2"}; reply error -32000 "log in"
				on session/prompt; text "an answer"`,
			check: func(s *scene) { check.Equal(s, "session", *s.result.SessionID, "session-1") },
		},
		{
			name: "an error first", script: `on session/prompt; text "an answer"; reply error -32603 "out of cheese"; reply {"stopReason": "end_turn"}`,
			want: `error: agent at session/prompt; "an answer"; 1 updates; exit status 0`,
		},
		{
			name: "both at once", want: once,
			script: `on session/prompt
				text "an answer"
				never reply
				send [{"jsonrpc": "2.0", "id": $id, "result": {"stopReason": "end_turn"}}, {"jsonrpc": "2.0", "id": $id, "result": {"stopReason": "refusal"}}]`,
		},
		{
			name: "10,000 times", want: once,
			script: `on session/prompt
				repeat 5000
					reply {"stopReason": "refusal"} id=99999
				end
				text "an answer"
				repeat 5000
					reply {"stopReason": "end_turn"}
				end`,
		},
		{
			name: "in another notation", want: once,
			script: `on session/prompt; text "an answer"; reply {"stopReason": "end_turn"} id="$id"; never reply
				noise "{\"jsonrpc\":\"2.0\",\"id\":$id.0,\"result\":{\"stopReason\":\"refusal\"}}"`,
		},
		{
			name: "a result and an error in one", script: `on session/prompt; text "an answer"; never reply; send {"jsonrpc": "2.0", "id": $id, "result": {"stopReason": "end_turn"}, "error": null}; send {"jsonrpc": "2.0", "id": $id, "result": null, "error": {"code": -32603, "message": "no"}}`,
			want: once,
		},
	}}
}
