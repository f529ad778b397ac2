package faults

import (
	"fmt"
	"strings"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/permission"
)

// maxMessage is given to a run whose messages may not have more bytes than that.
func maxMessage(bytes int) func(*scene) {
	return func(s *scene) { s.opts.MaxMessageBytes = bytes }
}

// maxOutput is given to a run that keeps no more text than that.
func maxOutput(bytes int) func(*scene) {
	return func(s *scene) { s.opts.MaxOutput = bytes }
}

// updateOf is a statement that writes an update of so many bytes, its line end not
// counted.
func updateOf(bytes int) string {
	const format = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}`
	return fmt.Sprintf("noise '"+format+"'\n", strings.Repeat("u", bytes-len(format)+len("%s")))
}

func elevenMegabytes() row {
	// big is a statement that writes a frame with 11 MB where it has a dot for them.
	big := func(frame string) string {
		before, after, _ := strings.Cut(strings.ReplaceAll(frame, `"`, `\"`), "…")
		return `raw "` + before + `"; raw size=11MB; raw "` + after + `\n"` + "\n"
	}
	return row{id: "T2", does: "sends an update of 11 MB on one line, and an answer of 11 MB", forms: []form{
		{
			script: "t02-eleven-megabytes",
			want:   "completed; 11000000 bytes of text; 1 updates; exit status 0",
			check: func(s *scene) {
				s.same("text", s.text(), strings.Repeat("x", 11e6))
				check.Equal(s, "stop reason", *s.result.StopReason, "end_turn")
			},
		},
		{
			name: "session/new answered so",
			script: "on session/new; never reply\n" + big(`{"jsonrpc":"2.0","id":$id,"result":{"_meta":{"pad":"…"},"sessionId":"session-1"}}`) +
				"on session/prompt; text 'done' session=session-1",
			want: `completed; "done"; 1 updates; exit status 0`,
		},
		{
			name:   "a text of line breaks and quotes",
			script: `on session/prompt; text "\n\"\\" size=6MB; text "end"`,
			want:   "completed; 6000003 bytes of text; 2 updates; exit status 0",
			check:  func(s *scene) { s.same("text", s.text(), filled("\n\"\\", 6e6)+"end") },
		},
		{
			name: "a tool call's output",
			script: "on session/prompt\n" + big(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","rawOutput":["…"],"status":"completed"}}}`) +
				"text 'done'",
			want:  `completed; "done"; 2 updates; exit status 0`,
			check: func(s *scene) { check.Equal(s, "status", s.result.ToolCalls[0].Status, "completed") },
		},
		{
			name: "a permission request", given: all(hears(`"optionId":"yes"`, 1), policy(permission.Allow())),
			script: "record heard\non session/prompt\n" + big(`{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"session-1","toolCall":{"toolCallId":"c1","rawInput":{"content":"…"}},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}]}}`) +
				"wait file answered\ntext 'done'",
			want:  `completed; "done"; 1 updates; allowed; exit status 0`,
			check: func(s *scene) { check.Has(s, s.file("heard"), `"optionId":"yes"`) },
		},
		{
			name: "an error", script: "on session/prompt; text 'half'; never reply\n" + big(`{"jsonrpc":"2.0","id":$id,"error":{"code":-32603,"message":"…"}}`),
			want: `error: agent at session/prompt; "half"; 1 updates; exit status 0`,
			check: func(s *scene) {
				check.Equal(s, "code", *s.result.Error.Code, -32603)
				if n := len(s.message()); n > 10000 {
					s.Errorf("the message has %d bytes", n)
				}
			},
		},
		{
			name: "just below the limit, more than is kept of text", given: maxMessage(11_000_200),
			script: "on session/prompt\n" + strings.Repeat(big(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"…"}}}}`), 2),
			want:   "completed; 16777216 bytes of text, truncated; 2 updates; exit status 0",
		},
	}}
}

func updateOverLimit() row {
	const small = 4096
	over := func(script string) string { return strings.ReplaceAll(script, "OVER\n", updateOf(small+1)) }
	const dropped = `completed; "before after", truncated; 2 updates; 1 dropped; exit status 0`
	told := warns("1 update of the agent was larger than the limit of")
	return row{id: "T3", does: "sends an update line over the limit", forms: []form{
		{
			given: maxMessage(10 << 20), want: dropped, check: told,
			script: `on session/prompt; text "before "; burst 1 "too much " size=11MB; text "after"; stop end_turn`,
		},
		{
			name: "by one byte", given: maxMessage(small), check: told, want: dropped,
			script: over("on session/prompt\ntext 'before '\nOVER\ntext 'after'"),
		},
		{
			name: "no byte over it", given: maxMessage(small), script: "on session/prompt\n" + updateOf(small),
			want: "completed; 3933 bytes of text; 1 updates; exit status 0",
		},
		{
			name: "the first, and the last one too", given: maxMessage(small),
			script: over("on session/prompt\nOVER\ntext 'before '\ntext 'after'\nOVER\nstop end_turn"),
			want:   `completed; "before after", truncated; 2 updates; 2 dropped; exit status 0`,
		},
		{
			name: "before there is a session", given: maxMessage(small),
			script: over("on session/new\nOVER\non session/prompt\ntext 'before '\ntext 'after'"),
			want:   dropped, check: told,
		},
		{
			name: "a hundred in a row", given: maxMessage(64 << 10),
			script: `on session/prompt; text "before "; burst 100 "." size=100KB; text "after"`,
			want:   `completed; "before after", truncated; 2 updates; 100 dropped; exit status 0`,
		},
		{
			name: "its method at the end", given: maxMessage(small),
			script: `set pad size=10KB
				on session/prompt
					text "before "
					send {"params": {"sessionId": "session-1", "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "$pad"}}}, "method": "session/update", "jsonrpc": "2.0"}
					text "after"`,
			want: dropped, check: told,
		},
		{
			name: "a tool call, and the text before and after it are two messages", given: maxMessage(small),
			script: `set pad size=10KB
				on session/prompt; text "before "; tool c1 "$pad"; text "after"`,
			want: dropped, check: told,
		},
		{
			name: "with an exit in the middle of it", given: maxMessage(small),
			script: `on session/prompt
				text "before"
				raw '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'
				raw size=1MB
				exit 3`,
			want:  `error: exit at session/prompt; "before"; 1 updates; 1 lines of noise; exit status 3`,
			check: func(s *scene) { s.shortNoise() },
		},
		{
			name: "a line that never ends", given: maxMessage(small),
			script: `on session/prompt; text "before"; raw size=16MB; exit 0`,
			want:   `error: exit at session/prompt; "before"; 1 updates; 1 lines of noise; exit status 0`,
			check:  func(s *scene) { s.shortNoise() },
		},
		{
			name: "lines that are no frames", given: maxMessage(small),
			script: `on session/prompt; text "before"; noise size=1MB; noise "{\"a\":" size=1MB; noise "[" size=1MB; text " after"`,
			want:   `completed; "before after"; 2 updates; 3 lines of noise; exit status 0`,
			check:  func(s *scene) { s.shortNoise() },
		},
		{
			name: "a request", given: maxMessage(small),
			script: `set pad size=10KB
				on session/prompt; request _vendor/ask {"pad": "$pad"}; text "answered: $error.code"`,
			want: `completed; "answered: -32601"; 1 updates; exit status 0`,
		},
		{
			name:  "a permission request",
			given: all(maxMessage(small), policy(permission.Allow())),
			script: `set pad size=10KB
				on session/prompt
					permission c1 "$pad"
						option yes allow_once "Yes"
						when allowed; text "allowed"
						when cancelled; text "not allowed"
					end
					stop end_turn`,
			want:  `completed; "not allowed"; 1 updates; cancelled; exit status 0`,
			check: func(s *scene) { check.Equal(s, "rule", s.result.Permissions[0].Rule, "request too large") },
		},
		{
			name: "a notification of a vendor, which is no update", given: maxMessage(small),
			script: `set pad size=10KB
				on session/prompt; notify _vendor/log {"pad": "$pad"}; text "all of it"`,
			want: `completed; "all of it"; 1 updates; exit status 0`,
		},
	}}
}

// shortNoise checks that what is kept of noise is no more than it may be.
func (s *scene) shortNoise() {
	s.Helper()
	if n := len(s.result.Noise.First); n == 0 || n > 8 {
		s.Errorf("%d lines of noise are kept", n)
	}
	for _, line := range s.result.Noise.First {
		if len(line) > 520 {
			s.Errorf("%d bytes are kept of a line of noise", len(line))
		}
	}
}

func responseOverLimit() row {
	const small = 4096
	const pad = "set pad size=10KB\n"
	names := func(method string, limit string) func(*scene) {
		return func(s *scene) { check.Has(s, s.message(), method, limit, "larger than the limit") }
	}
	const failed = `error: too_large at session/prompt; "before"; 1 updates; exit status 0`
	return row{id: "T4", does: "sends an answer over the limit", forms: []form{
		{script: "t04-response-over-limit", want: failed, check: names("session/prompt", "67108864 bytes")},
		{
			name: "the id last", given: maxMessage(small), check: names("session/prompt", "4096 bytes"), want: failed,
			script: pad + `on session/prompt; text "before"; never reply; send {"jsonrpc": "2.0", "result": {"id": 77, "stopReason": "end_turn", "pad": "$pad"}, "id": $id}`,
		},
		{
			name: "the id a string", given: maxMessage(small), check: names("session/prompt", "4096 bytes"), want: failed,
			script: pad + `on session/prompt; text "before"; reply {"stopReason": "end_turn", "pad": "$pad"} id="$id"`,
		},
		{
			name: "an error", given: maxMessage(small), check: names("session/prompt", "4096 bytes"), want: failed,
			script: pad + `on session/prompt; text "before"; reply error -32603 "$pad"`,
		},
		{
			name: "in an array of frames", given: maxMessage(small), check: names("session/prompt", "4096 bytes"), want: failed,
			script: pad + `on session/prompt; text "before"; never reply; send [{"jsonrpc": "2.0", "id": $id, "result": {"stopReason": "end_turn", "pad": "$pad"}}]`,
		},
		{
			name: "no newline, and exits", given: maxMessage(small), check: names("session/prompt", "4096 bytes"), want: failed,
			script: pad + `on session/prompt; text "before"; newline ""; reply {"stopReason": "end_turn", "pad": "$pad"}; exit 0`,
		},
		{
			name: "to initialize", given: maxMessage(small), check: names("initialize", "4096 bytes"),
			script: pad + `on initialize; reply {"protocolVersion": 1, "pad": "$pad"}`,
			want:   "not started: too_large at initialize",
		},
		{
			name: "to session/new", given: maxMessage(small), check: names("session/new", "4096 bytes"),
			script: pad + `on session/new; reply {"sessionId": "$session", "pad": "$pad"}`,
			want:   "not started: too_large at session/new",
		},
		{
			name: "to session/close", given: maxMessage(small),
			script: pad + `on session/prompt; text "all of it"` + "\n" + `on session/close; reply {"pad": "$pad"}`,
			want:   `completed; "all of it"; 1 updates; exit status 0`,
		},
		{
			name: "to nobody", given: maxMessage(small),
			script: pad + `on session/prompt; text "all of it"; reply {"pad": "$pad"} id=99; reply {"pad": "$pad"} id=null; stop end_turn`,
			want:   `completed; "all of it"; 1 updates; exit status 0`,
		},
	}}
}
