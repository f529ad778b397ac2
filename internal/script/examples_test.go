package script

import (
	"strconv"
	"strings"
	"testing"
)

// The examples do what their first lines say.
var exampleDialogues = []struct{ example, dialogue string }{
	{"honest-sessions", `
		hello
		> {"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":"session-1","cwd":"DIR","mcpServers":[]}}
		<< earlier question
		< text earlier answer
		< {"jsonrpc":"2.0","id":2,"result":{}}
		> prompt 3 hi
		< text session-1 in DIR: hi
		< stop 3 end_turn
		> {"jsonrpc":"2.0","id":4,"method":"session/close","params":{"sessionId":"session-1"}}
		< {"jsonrpc":"2.0","id":4,"result":{}}`},
	{"t06-exits-with-prompt-pending", `
		hello
		> prompt 2 hi
		ended 7`},
	{"t11-noise", `
		< Welcome to agent 1.0!
		<
		hello
		> prompt 2 hi
		< text one 
		< DEBUG thinking
		< text two
		< stop 2 end_turn
		< goodbye
		eof
		< really goodbye
		ended 0`},
	{"t12-log-line-with-our-id", `
		hello
		> prompt 2 hi
		< {"level":"info","id":2,"msg":"x"}
		< {"id":2}
		< {"jsonrpc":"2.0","id":2,"params":{}}
		< text the real answer
		< stop 2 end_turn`},
	{"t13-vendor", `
		hello
		> prompt 2 hi
		< {"jsonrpc":"2.0","method":"_vendor/progress","params":{"percent":50}}
		< {"jsonrpc":"2.0","method":"vendor/no_underscore"}
		< {"jsonrpc":"2.0","id":"request-1","method":"_vendor/ask","params":{"x":1}}
		> {"jsonrpc":"2.0","id":"request-1","error":{"code":-32601,"message":"no"}}
		< text answered with -32601
		< stop 2 end_turn`},
	{"t14-no-final-newline", `
		hello
		> prompt 2 hi
		< text all of it
		< stop 2 end_turn
		ended 0`},
	{"t15-pretty-printed", `
		hello
		> prompt 2 hi
		< text an answer
		< {
		<< "jsonrpc": "2.0",
		<< "id": 2,
		<< "result": {
		<< "stopReason": "end_turn"
		<< }
		< }
		ended 0`},
	{"t16-invalid-utf8", `
		hello
		> prompt 2 hi
		<< "caf` + "\xe9" + ` "
		<< "\ud83d!"
		< stop 2 end_turn`},
	{"t17-response-then-exit", `
		hello
		> prompt 2 hi
		< stop 2 end_turn
		ended 0`},
	{"t20-duplicate-responses", `
		hello
		> prompt 2 hi
		< {"jsonrpc":"2.0","id":99999,"result":{"stopReason":"refusal"}}
		< {"jsonrpc":"2.0","id":"no-such-request","result":{"stopReason":"refusal"}}
		< text an answer
		< stop 2 end_turn
		< stop 2 max_tokens
		< {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"changed my mind"}}
		eof
		ended 0`},
	{"t22-closes-stdin", `
		hello
		> prompt 2 hi
		< text an answer
		< stop 2 end_turn`},
	{"t23-flattened", `
		hello
		> prompt 2 hi
		<< "sessionUpdate":"agent_message_chunk"
		< text an answer
		< stop 2 end_turn`},
	{"o01-late-chunks", `
		hello
		> prompt 2 hi
		< text the answer
		< stop 2 end_turn
		< text  and
		< text  more`},
	{"o03-between-turns", `
		hello
		<< "name":"test"
		> prompt 2 hi
		< text an answer
		< stop 2 end_turn
		<< usage_update`},
	{"t24-reads-again", `
		hello
		> prompt 2 hi
		read-again
		< text heard
		< stop 2 end_turn`},
	{"o04-foreign-session", `
		hello
		> prompt 2 hi
		< text ours 
		<< "sessionId":"someone-else"
		<< "sessionId":"someone-else"
		< text ours again
		< stop 2 end_turn`},
	{"l09-usage-text", `ended 2`},
	{"l11-no-response", `
		hello
		> prompt 2 hi
		< text the whole 
		< text answer
		> cancel
		eof
		ended 0`},
	{"l14-start-fails", `
		> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"DIR","mcpServers":[]}}
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no session today"}}`},
	{"p05-two-of-a-kind", `
		hello
		> prompt 2 hi
		< *
		> {"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"once"}}}
		< text selected once; 
		< *
		> {"jsonrpc":"2.0","id":2,"result":{"outcome":{"outcome":"selected","optionId":"and-accept"}}}
		<< "currentModeId":"accept-edits"
		< text selected and-accept
		< stop 2 end_turn`},
	{"p06-no-options", `
		hello
		> prompt 2 hi
		<< "options":[]
		> {"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"cancelled"}}}
		< text empty: cancelled; 
		<< "options":null
		> {"jsonrpc":"2.0","id":"request-1","result":{"outcome":{"outcome":"cancelled"}}}
		< text null: cancelled; 
		<< "toolCallId":"c3"}}}
		> {"jsonrpc":"2.0","id":"request-2","result":{"outcome":{"outcome":"cancelled"}}}
		< text missing: cancelled; 
		<< "kind":"ask_mother"
		> {"jsonrpc":"2.0","id":2,"result":{"outcome":{"outcome":"cancelled"}}}
		< text unknown: cancelled; 
		<< "id":null
		< stop 2 end_turn`},
	{"p11-asks-after-cancel", `
		hello
		> prompt 2 hi
		< text working 
		> cancel
		<< "toolCallId":"c1"
		> {"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"cancelled"}}}
		<< "toolCallId":"c2"
		> {"jsonrpc":"2.0","id":2,"result":{"outcome":{"outcome":"selected","optionId":"yes"}}}
		<< "toolCallId":"c3"
		> {"jsonrpc":"2.0","id":3,"result":{"outcome":{"outcome":"cancelled"}}}
		< stop 2 cancelled`},
	{"s01-stop-reasons", `
		hello
		> prompt 2 refusal
		< stop 2 refusal
		> prompt 3 max_tokens with text
		< text some text
		< stop 3 max_tokens
		> prompt 4 max_turn_requests
		< stop 4 max_turn_requests`},
	{"s02-odd-stop-reasons", `
		hello
		> prompt 2 null
		< text some text
		< {"jsonrpc":"2.0","id":2,"result":{"stopReason":null}}
		> prompt 3 missing
		< text some text
		< {"jsonrpc":"2.0","id":3,"result":{}}
		> prompt 4 number
		< text some text
		< {"jsonrpc":"2.0","id":4,"result":{"stopReason":42}}`},
	{"s04-internal-error", `
		hello
		> prompt 2 hi
		< text some text
		< {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"Internal error","data":{"details":"out of cheese","status":500}}}`},
	{"s05-cancelled-by-error", `
		hello
		> prompt 2 hi
		< text working
		> cancel
		< {"jsonrpc":"2.0","id":2,"error":{"code":-32800,"message":"Request cancelled"}}`},
	{"s08-version-two", `
		> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}
		<< "protocolVersion":2`},
	{"s08-version-zero", `
		> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}
		<< "protocolVersion":0`},
	{"s10-unknown-updates", `
		hello
		> prompt 2 hi
		<< agent_whisper
		<< tool_call_heartbeat
		<< weather
		<< no kind at all
		<< "sessionUpdate":7
		< text an answer
		< stop 2 end_turn`},
	{"e02-needs-a-key", `ended 2`},
	{"f02-as-told", `
		hello
		> prompt 2 refuse
		< stop 2 refusal
		> prompt 3 work
		< text done: work
		< stop 3 end_turn
		> prompt 4 crash
		< text half
		ended -1`},
}

func TestExampleDialogues(t *testing.T) {
	for _, d := range exampleDialogues {
		t.Run(d.example, func(t *testing.T) {
			t.Parallel()
			ownProcess(t, example(t, d.example)).converse(d.dialogue)
		})
	}
}

// TestBigExamples counts what is too much for a dialogue, made smaller: to make
// megabytes takes the race detector long.
func TestBigExamples(t *testing.T) {
	for _, test := range []struct {
		example string
		lines   int // updates before the response
		bytes   int // of the longest line, about
	}{
		{"t01-burst", 5000, 200},
		{"t02-eleven-megabytes", 1, 1.1e6},
		{"t03-update-over-limit", 3, 700 << 10},
		{"t04-response-over-limit", 1, 700 << 10},
		{"t05-burst-then-exit", 900, 2000},
		{"t18-numbered", 200, 200},
	} {
		t.Run(test.example, func(t *testing.T) {
			smaller := strings.NewReplacer("11MB", "1100KB", "70MiB", "700KiB")
			p := ownProcess(t, smaller.Replace(example(t, test.example)))
			p.converse("hello\n> prompt 2 hi")
			longest := 0
			for lines := 0; ; lines++ {
				line, err := p.line()
				if err != nil {
					t.Fatal(err)
				}
				longest = max(longest, len(line))
				if strings.HasPrefix(line, `{"jsonrpc":"2.0","id":2,"result":{`) {
					if lines != test.lines {
						t.Errorf("%d updates, want %d", lines, test.lines)
					}
					break
				}
				if test.lines >= 200 && !strings.Contains(line, strconv.Itoa(lines+1)) {
					t.Fatalf("update %d is %.300s", lines+1, line)
				}
			}
			if longest < test.bytes/2 || longest > test.bytes+1000 {
				t.Errorf("the longest line has %d bytes, want some %d", longest, test.bytes)
			}
		})
	}
	t.Run("p07-three-thousand", func(t *testing.T) {
		p := inProcess(t, example(t, "p07-three-thousand"))
		p.converse("hello\n> prompt 2 hi")
		ids := map[string]bool{}
		for range 3000 {
			ids[string(marshal(p.frame()["id"]))] = true
		}
		if len(ids) != 3000 {
			t.Errorf("%d ids", len(ids))
		}
		for id := range ids {
			p.send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"outcome":{"outcome":"selected","optionId":"no"}}}`)
		}
		p.converse("< text all answered\n< stop 2 end_turn")
	})
	t.Run("t09-writes-before-it-reads", func(t *testing.T) {
		p := ownProcess(t, example(t, "t09-writes-before-it-reads"))
		for range 256 {
			p.frame()
		}
		text := strings.Repeat("x", 128<<10)
		p.converse("hello\n> prompt 2 " + text + "\n< text " + text + "\n< stop 2 end_turn")
	})
	t.Run("a prompt beyond the SDK's limit", func(t *testing.T) {
		p := ownProcess(t, "on session/prompt\n text heard")
		p.hello()
		p.converse("> prompt 2 " + strings.Repeat("x", 10<<20))
		p.converse("< text heard\n< stop 2 end_turn")
	})
	t.Run("t08-stderr-without-newline", func(t *testing.T) {
		ownProcess(t, example(t, "t08-stderr-without-newline")).hello()
	})
}
