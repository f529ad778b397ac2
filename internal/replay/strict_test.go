package replay

import (
	"strings"
	"testing"
)

const opening = `
	> 1 initialize {"protocolVersion":1,"clientInfo":{"name":"a","version":"1"}}
	< 1 = {"protocolVersion":1}
	> 2 session/new {"cwd":"/rec","mcpServers":[]}
	< 2 = {"sessionId":"s"}
	`

// hello is what goes before in the live conversation, with ids of its own.
const hello = `
	> 10 initialize {"protocolVersion":1,"clientInfo":{"name":"b","version":"2"}}
	< 10 = {"protocolVersion":1}
	> 11 session/new {"cwd":"/rec","mcpServers":[]}
	< 11 = {"sessionId":"s"}
	`

const (
	prompt3 = `> 3 session/prompt {"sessionId":"s","prompt":[{"type":"text","text":"hi"}]}
	`
	askAllow = `< 7 session/request_permission {"sessionId":"s","options":[]}
	`
)

// update and said are updates of the agent, in brief.
func update(text string) string {
	return `session/update {"sessionId":"s","update":"` + text + `"}` + "\n"
}

func TestStrict(t *testing.T) {
	tests := []struct {
		name, recorded, live string
	}{
		{
			"a turn, with noise and stderr where they were",
			opening + prompt3 + "2 thinking\n< ~Loading...\n< " + update("a") + `< 3 = {"stopReason":"end_turn"}
				< ` + update("title") + "end 0 eof",
			hello + `> 12 session/prompt {"sessionId":"s","prompt":[{"type":"text","text":"hi"}]}
				< ~Loading...
				< ` + update("a") + `< 12 = {"stopReason":"end_turn"}
				< ` + update("title") + "eof\nend 0\nstderr thinking",
		},
		{
			"_meta, null for nothing, the order of members, numbers in another form",
			opening + `> 3 session/prompt {"sessionId":"s","prompt":[{"type":"image","size":2,"uri":null,"_meta":{"a":1}}]}
				< 3 = {"stopReason":"end_turn"}
				end 0 eof`,
			hello + `> 12 session/prompt {"_meta":{"trace":"x"},"prompt":[{"size":2.0,"annotations":null,"type":"image"}],"sessionId":"s"}
				< 12 = {"stopReason":"end_turn"}
				eof
				end 0`,
		},
		{
			"ids of any kind, answered as they are",
			opening + `> 3 session/prompt {"sessionId":"s"}
				< 3 = {}
				> 4 session/prompt {"sessionId":"s"}
				< "4" = {}
				> 5 session/prompt {"sessionId":"s"}
				< 5.0 = {}
				> 6 session/prompt {"sessionId":"s"}
				< 6 = {}
				end 0 eof`,
			hello + `> "abc" session/prompt {"sessionId":"s"}
				< "abc" = {}
				> 12 session/prompt {"sessionId":"s"}
				< "12" = {}
				> 13 session/prompt {"sessionId":"s"}
				< 13.0 = {}
				> null session/prompt {"sessionId":"s"}
				< null = {}
				eof
				end 0`,
		},
		{
			"a response that nobody asked for, one that comes twice, and a batch",
			opening + `< 99 = {"stray":true}
				> 3 session/prompt {"sessionId":"s"}
				< [{"jsonrpc":"2.0","method":"a/b"},{"jsonrpc":"2.0","id":3,"result":{}}]
				< 3 = {}
				end 0 eof`,
			hello + `< 99 = {"stray":true}
				> 12 session/prompt {"sessionId":"s"}
				< {"jsonrpc":"2.0","method":"a/b"}
				< {"jsonrpc":"2.0","id":12,"result":{}}
				< 12 = {}
				eof
				end 0`,
		},
		{
			"updates before the answer to session/new",
			`> 1 session/new {"cwd":"/rec"}
				< ` + update("commands") + `< 1 = {"sessionId":"s"}
				end 0 eof`,
			`> 5 session/new {"cwd":"/rec"}
				< ` + update("commands") + `< 5 = {"sessionId":"s"}
				eof
				end 0`,
		},
		{
			"answers to its questions in another order than recorded",
			opening + prompt3 + askAllow + `< "q" session/request_permission {"sessionId":"s","second":true}
				> "q" = {"outcome":"b"}
				< ` + update("second done") + `> 7 = {"outcome":"a"}
				< ` + update("first done") + `< 3 = {}
				end 0 eof`,
			hello + strings.Replace(prompt3, "> 3", "> 12", 1) + askAllow + `< "q" session/request_permission {"sessionId":"s","second":true}
				> 7.0 = {"outcome":"a"}
				> "q" = {"outcome":"b"}
				< ` + update("second done") + "< " + update("first done") + `< 12 = {}
				eof
				end 0`,
		},
		{
			"two requests that were sent without waiting, the other way round",
			`> 1 a/one {}
				> 2 a/two {}
				< 1 = {"n":1}
				< 2 = {"n":2}
				end 0 eof`,
			`> 5 a/two {}
				> 6 a/one {}
				< 6 = {"n":1}
				< 5 = {"n":2}
				eof
				end 0`,
		},
		{
			"two sessions, the second first",
			`> 1 session/new {"cwd":"/a"}
				< 1 = {"sessionId":"A"}
				> 2 session/new {"cwd":"/b"}
				< 2 = {"sessionId":"B"}
				> 3 session/prompt {"sessionId":"A"}
				< session/update {"sessionId":"A","update":1}
				> 4 session/prompt {"sessionId":"B"}
				< session/update {"sessionId":"B","update":1}
				< session/update {"sessionId":"A","update":2}
				< 3 = {"from":"A"}
				< 4 = {"from":"B"}
				end 0 eof`,
			`> 1 session/new {"cwd":"/a"}
				< 1 = {"sessionId":"A"}
				> 2 session/new {"cwd":"/b"}
				< 2 = {"sessionId":"B"}
				> 3 session/prompt {"sessionId":"B"}
				< session/update {"sessionId":"B","update":1}
				< 3 = {"from":"B"}
				> 4 session/prompt {"sessionId":"A"}
				< session/update {"sessionId":"A","update":1}
				< session/update {"sessionId":"A","update":2}
				< 4 = {"from":"A"}
				eof
				end 0`,
		},
		{
			"a child session of the agent belongs to the turn that it is in",
			opening + prompt3 + `< 1 session/request_permission {"sessionId":"child"}
				> 1 = {"outcome":"x"}
				< 3 = {"stopReason":"end_turn"}
				end 0 eof`,
			hello + strings.Replace(prompt3, "> 3", "> 12", 1) + `< 1 session/request_permission {"sessionId":"child"}
				> 1 = {"outcome":"x"}
				< 12 = {"stopReason":"end_turn"}
				eof
				end 0`,
		},
		{
			"a session that the agent speaks of first",
			opening + prompt3 + `< session/update {"sessionId":"b","update":"made"}
				< 3 = {}
				> 4 session/load {"sessionId":"b","cwd":"/rec"}
				< 4 = null
				end 0 eof`,
			hello + strings.Replace(prompt3, "> 3", "> 12", 1) + `< session/update {"sessionId":"b","update":"made"}
				< 12 = {}
				> 13 session/load {"sessionId":"b","cwd":"/rec"}
				< 13 = null
				eof
				end 0`,
		},
		{
			"a cancel is waited for, and may come earlier than it did",
			opening + prompt3 + "< " + update("a") + "< " + update("b") + `> session/cancel {"sessionId":"s"}
				< 3 = {"stopReason":"cancelled"}
				end 0 eof`,
			hello + strings.Replace(prompt3, "> 3", "> 12", 1) + "< " + update("a") + `> session/cancel {"sessionId":"s"}
				< ` + update("b") + `< 12 = {"stopReason":"cancelled"}
				eof
				end 0`,
		},
		{
			"a cancel and the answers that come with it, in either order",
			opening + prompt3 + askAllow + `> session/cancel {"sessionId":"s"}
				> 7 = {"outcome":{"outcome":"cancelled"}}
				< 3 = {"stopReason":"cancelled"}
				end 0 eof`,
			hello + strings.Replace(prompt3, "> 3", "> 12", 1) + askAllow + `> 7 = {"outcome":{"outcome":"cancelled"}}
				> session/cancel {"sessionId":"s"}
				< 12 = {"stopReason":"cancelled"}
				eof
				end 0`,
		},
		{
			"an answer that the recorded agent never got",
			opening + prompt3 + askAllow + `< 3 = {"stopReason":"end_turn"}
				end 0 eof`,
			hello + strings.Replace(prompt3, "> 3", "> 12", 1) + askAllow + `< 12 = {"stopReason":"end_turn"}
				> 7 = {"outcome":"late"}
				eof
				end 0`,
		},
		{
			"an answer that nothing depended on, left out",
			opening + prompt3 + askAllow + `< 3 = {"stopReason":"end_turn"}
				> 7 = {"outcome":"late"}
				end 0 eof`,
			hello + strings.Replace(prompt3, "> 3", "> 12", 1) + askAllow + `< 12 = {"stopReason":"end_turn"}
				eof
				end 0`,
		},
		{
			"two answers that nothing depended on, left out",
			opening + prompt3 + askAllow + strings.Replace(askAllow, "< 7", "< 8", 1) + `< 3 = {"stopReason":"end_turn"}
				> 7 = {"outcome":"late"}
				> 8 = {"outcome":"late"}
				end 0 eof`,
			hello + strings.Replace(prompt3, "> 3", "> 12", 1) + askAllow + strings.Replace(askAllow, "< 7", "< 8", 1) + `< 12 = {"stopReason":"end_turn"}
				eof
				end 0`,
		},
		{
			"ids that a float cannot tell apart",
			opening + `> 1234567890123456789 session/prompt {"sessionId":"s"}
				> 1234567890123456790 session/prompt {"sessionId":"s"}
				< 1234567890123456789 = {"first":true}
				< 9007199254740993 session/request_permission {"sessionId":"s"}
				< 9007199254740992 session/request_permission {"sessionId":"s"}
				> 9007199254740992 = {"outcome":"b"}
				> 9007199254740993 = {"outcome":"a"}
				< 1234567890123456790 = {"second":true}
				end 0 eof`,
			hello + `> 12 session/prompt {"sessionId":"s"}
				> 13 session/prompt {"sessionId":"s"}
				< 12 = {"first":true}
				< 9007199254740993 session/request_permission {"sessionId":"s"}
				< 9007199254740992 session/request_permission {"sessionId":"s"}
				> 9007199254740993 = {"outcome":"a"}
				> 9007199254740992 = {"outcome":"b"}
				< 13 = {"second":true}
				eof
				end 0`,
		},
		{
			"an error of ours to what was no request",
			opening + `< {"jsonrpc":"2.0","id":null,"method":7}
				> null ! {"code":-32600,"message":"no"}
				< {"jsonrpc":"2.0","id":"x"}
				end 0 eof`,
			hello + `< {"jsonrpc":"2.0","id":null,"method":7}
				> null ! {"code":-32600,"message":"no"}
				< {"jsonrpc":"2.0","id":"x"}
				eof
				end 0`,
		},
		{
			"optional notifications, sent and not sent",
			opening + "> $/cancel_request {\"requestId\":1}\n" + prompt3 + `< 3 = {}
				> $/cancel_request {"requestId":3}
				end 0 eof`,
			hello + strings.Replace(prompt3, "> 3", "> 12", 1) + `< 12 = {}
				> $/cancel_request {"requestId":99}
				> $/vendor/setTrace {}
				eof
				end 0`,
		},
		{
			"a batch and blank lines of the parent",
			`> 1 a/one {}
				< 1 = {}
				> 2 a/two {}
				< 2 = {}
				end 0 eof`,
			`> ~
				> [{"jsonrpc":"2.0","id":5,"method":"a/one","params":{}},{"jsonrpc":"2.0","id":6,"method":"a/two","params":{}}]
				< 5 = {}
				< 6 = {}
				> ~   ` + `
				eof
				end 0`,
		},
		{
			"a secret that was taken out of the recording",
			opening + `> 3 session/prompt {"sessionId":"s","text":"the key is [redacted], keep [redacted]!"}
				< 3 = {}
				end 0 eof`,
			hello + `> 12 session/prompt {"sessionId":"s","text":"the key is hunter2hunter2, keep \"it\"!"}
				< 12 = {}
				eof
				end 0`,
		},
		{
			"paths are where the parent works now",
			opening + `> 3 session/prompt {"sessionId":"s","uri":"file:///rec/a.go"}
				< 8 fs/read_text_file {"sessionId":"s","path":"/rec/a.go"}
				> 8 = {"content":"in /rec"}
				< session/update {"sessionId":"s","text":"wrote\n/rec/b, not /records, /my/rec or /rec.bak. See /rec."}
				< 3 = {}
				end 0 eof`,
			`> 10 initialize {"protocolVersion":1}
				< 10 = {"protocolVersion":1}
				> 11 session/new {"cwd":"/now/rec","mcpServers":[]}
				< 11 = {"sessionId":"s"}
				> 12 session/prompt {"sessionId":"s","uri":"file:///now/rec/a.go"}
				< 8 fs/read_text_file {"sessionId":"s","path":"/now/rec/a.go"}
				> 8 = {"content":"in /now/rec"}
				< session/update {"sessionId":"s","text":"wrote\n/now/rec/b, not /records, /my/rec or /rec.bak. See /now/rec."}
				< 12 = {}
				eof
				end 0`,
		},
		{
			"terminals are called as the parent calls them now",
			opening + prompt3 + `< 8 terminal/create {"sessionId":"s","command":"ls"}
				> 8 = {"terminalId":"term-1"}
				< 9 terminal/output {"sessionId":"s","terminalId":"term-1"}
				> 9 = {"output":"a"}
				< 3 = {}
				end 0 eof`,
			hello + strings.Replace(prompt3, "> 3", "> 12", 1) + `< 8 terminal/create {"sessionId":"s","command":"ls"}
				> 8 = {"terminalId":"other"}
				< 9 terminal/output {"sessionId":"s","terminalId":"other"}
				> 9 = {"output":"a"}
				< 12 = {}
				eof
				end 0`,
		},
		{
			"a golden file, normalised",
			`normalized $DIR $SERVERS ids times versions
				> "$client-1" initialize {"protocolVersion":1,"clientInfo":{"name":"errand","version":"$version"}}
				< "$client-1" = {"protocolVersion":1}
				> "$client-2" session/new {"cwd":"$DIR","mcpServers":"$SERVERS"}
				< "$client-2" = {"sessionId":"$session-1"}
				> "$client-3" session/prompt {"sessionId":"$session-1","prompt":"at $time in $DIR/a, for $X"}
				< "$agent-1" terminal/create {"sessionId":"$session-1","cwd":"$DIR"}
				> "$agent-1" = {"terminalId":"$terminal-1"}
				< "$agent-2" terminal/release {"sessionId":"$session-1","terminalId":"$terminal-1","path":"$DIR/b"}
				> "$agent-2" = {}
				< "$client-3" = {}
				end 0 eof`,
			`> 10 initialize {"protocolVersion":1}
				< 10 = {"protocolVersion":1}
				> 11 session/new {"cwd":"/here","mcpServers":[{"name":"x"}]}
				< 11 = {"sessionId":"$session-1"}
				> 12 session/prompt {"sessionId":"$session-1","prompt":"at 2026-01-02 in /here/a, for $X"}
				< "$agent-1" terminal/create {"sessionId":"$session-1","cwd":"/here"}
				> "$agent-1" = {"terminalId":"t9"}
				< "$agent-2" terminal/release {"sessionId":"$session-1","terminalId":"t9","path":"/here/b"}
				> "$agent-2" = {}
				< 12 = {}
				eof
				end 0`,
		},
		{
			"a session that is loaded, and a list",
			`> 1 session/list {"cwd":"/rec"}
				< 1 = {"sessions":[{"sessionId":"s","cwd":"/rec"}]}
				> 2 session/load {"sessionId":"s","cwd":"/rec"}
				< ` + update("history") + `< 2 = null
				end 0 eof`,
			`> 1 session/list {"cwd":"/x"}
				< 1 = {"sessions":[{"sessionId":"s","cwd":"/x"}]}
				> 2 session/load {"sessionId":"s","cwd":"/x"}
				< ` + update("history") + `< 2 = null
				eof
				end 0`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			serve(t, recording(t, tt.recorded), Options{}).converse(tt.live)
		})
	}
}

func TestDifferences(t *testing.T) {
	turn := opening + prompt3 + askAllow + `> 7 = {"outcome":{"outcome":"selected","optionId":"yes"}}
		< 3 = {"stopReason":"end_turn"}
		end 0 eof`
	twelve := strings.Replace(prompt3, "> 3", "> 12", 1)
	tests := []struct {
		name, recorded, live string
		entry                int
		want                 string
	}{
		{
			"another text", turn, hello + `> 12 session/prompt {"sessionId":"s","prompt":[{"type":"text","text":"bye"}]}`,
			5, `session/prompt differs from the recording (entry 5) at params.prompt[0].text: recorded "hi", got "bye"`,
		},
		{
			"more", turn, hello + `> 12 session/prompt {"sessionId":"s","prompt":[{"type":"text","text":"hi"},{"type":"text"}]}`,
			5, `at params.prompt[1]: recorded nothing, got {"type":"text"}`,
		},
		{"less", turn, hello + `> 12 session/prompt {"sessionId":"s"}`, 5, `at params.prompt: recorded [{"text":"hi","type":"text"}], got nothing`},
		{"another session", turn, hello + strings.Replace(twelve, `"s"`, `"S"`, 1), 5, `at params.sessionId: recorded "s", got "S"`},
		{"a capability", turn, `> 10 initialize {"protocolVersion":1,"clientCapabilities":{"terminal":true}}`, 1, `params.clientCapabilities: recorded nothing, got {"terminal":true}`},
		{"a version", turn, `> 10 initialize {"protocolVersion":2}`, 1, `params.protocolVersion: recorded 1, got 2`},
		{"something left out", turn, `> 10 session/new {"cwd":"/rec","mcpServers":[]}`, 0, `session/new came where the recording has initialize (entry 1)`},
		{"something else", turn, hello + `> 12 session/set_mode {"sessionId":"s"}`, 0, `session/set_mode came where the recording has session/prompt (entry 5)`},
		{"a notification too many", turn, hello + `> session/cancel {"sessionId":"s"}`, 0, `the notification session/cancel came where the recording has session/prompt (entry 5)`},
		{
			"another answer", turn, hello + twelve + askAllow + `> 7 = {"outcome":{"outcome":"selected","optionId":"no"}}`,
			7, `the answer to session/request_permission differs from the recording (entry 7) at result.outcome.optionId: recorded "yes", got "no"`,
		},
		{
			"a choice where none was recorded", strings.Replace(turn, `"outcome":"selected","optionId":"yes"`, `"outcome":"cancelled"`, 1),
			hello + twelve + askAllow + `> 7 = {"outcome":{"outcome":"selected","optionId":"yes"}}`,
			7, `at result.outcome.outcome: recorded "cancelled", got "selected"`,
		},
		{"an error for an answer", turn, hello + twelve + askAllow + `> 7 ! {"code":-32603,"message":"x"}`, 7, `at error: recorded nothing, got {"code":-32603,"message":"x"}`},
		{"an answer to nothing", turn, hello + `> "seven" = {}`, 0, `an answer came to a request that was not made, with the id "seven"`},
		{"a cancel while it asks", turn, hello + twelve + askAllow + `> session/cancel {"sessionId":"s"}`, 0, `the notification session/cancel came where the recording has the answer to session/request_permission (entry 7)`},
		{"garbage", turn, hello + "> ~rubbish\x1b", 0, `a line came that is no JSON-RPC message: "rubbish\u001b"`},
		{"JSON that is no message", turn, hello + "> ~[1]", 0, `a line came that is no JSON-RPC message: "[1]"`},
		{"an object that is none", turn, hello + "> ~{}", 0, `a line came that is no JSON-RPC message: "{}"`},
		{"no method", turn, hello + `> ~{"id":1,"method":[]}`, 0, `a request without a method came where`},
		{"the end of stdin", turn, hello + "eof", 5, "stdin ended where the recording has session/prompt (entry 5)"},
		{"the end of stdin while it asks", turn, hello + twelve + askAllow + "eof", 7, "stdin ended where the recording has the answer to session/request_permission (entry 7)"},
		{"one more", opening + "end 0 eof", hello + twelve, 0, "session/prompt came after all that was recorded"},
		{"one more than was recorded until it was cut", opening, hello + twelve, 0, "session/prompt came after the end of the recording, which was cut off there"},
		{
			"the order that the agent's words give", opening + prompt3 + "< " + update("a") + `> session/cancel {"sessionId":"s"}
				> 4 session/set_mode {"sessionId":"s","mode":"m"}
				end 0 eof`,
			hello + `> 12 session/set_mode {"sessionId":"s","mode":"m"}`, 0, `session/set_mode came where the recording has session/prompt (entry 5)`,
		},
		{
			"a secret, and more than that",
			opening + `> 3 session/prompt {"sessionId":"s","text":"the key is [redacted]!"}`,
			hello + `> 12 session/prompt {"sessionId":"s","text":"the key is hunter2hunter2?"}`, 5, `recorded "the key is [redacted]!"`,
		},
		{
			"the session that a golden file has",
			`> "$client-1" session/new {"cwd":"$DIR"}
				< "$client-1" = {"sessionId":"$session-1"}
				> "$client-2" session/prompt {"sessionId":"$session-1"}`,
			`> 1 session/new {"cwd":"/x"}
				< 1 = {"sessionId":"$session-1"}
				> 2 session/prompt {"sessionId":"other"}`, 3, `recorded "$session-1", got "other"`,
		},
		{
			"far behind in a long text",
			opening + `> 3 session/prompt {"sessionId":"s","text":"` + strings.Repeat("é", 5000) + `a"}`,
			hello + `> 12 session/prompt {"sessionId":"s","text":"` + strings.Repeat("é", 5000) + `b"}`,
			5, `recorded …` + strings.Repeat("é", 15) + `a", got …` + strings.Repeat("é", 15) + `b"`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := serve(t, recording(t, tt.recorded), Options{})
			l.converse(tt.live)
			d := l.difference()
			if !strings.Contains(d.Text, tt.want) || d.Entry != tt.entry {
				t.Errorf("got  %q, entry %d\nwant %q, entry %d", d.Text, d.Entry, tt.want, tt.entry)
			}
			if got := l.stderr.String(); got != "errand replay: "+d.Text+"\n" {
				t.Errorf("stderr %q", got)
			}
		})
	}
}

// Whoever waits for an answer is told what differs.
func TestDifferenceIsAnswered(t *testing.T) {
	rec := opening + prompt3 + askAllow + `> 7 = {"outcome":"a"}
		< 3 = {}
		end 0 eof`
	twelve := strings.Replace(prompt3, "> 3", "> 12", 1)
	const answer = "errand replay: the answer to session/request_permission differs from the recording (entry 7) at result.outcome: recorded \\\"a\\\", got \\\"b\\\""
	l := serve(t, recording(t, rec), Options{})
	l.converse(hello + twelve + askAllow + `> 7 = {"outcome":"b"}
		< 12 ! {"code":-32600,"message":"` + answer + `"}
		end 1`)

	// The prompt that is open, and the request that differs.
	l = serve(t, recording(t, rec), Options{})
	const busy = `{"code":-32600,"message":"errand replay: a/b came where the recording has the answer to session/request_permission (entry 7)"}`
	l.converse(hello + twelve + askAllow + `> 13 a/b {}
		< 12 ! ` + busy + `
		< 13 ! ` + busy + `
		end 1`)

	// Nobody waits.
	l = serve(t, recording(t, rec), Options{})
	l.converse(`> ~x
		< null ! {"code":-32600,"message":"errand replay: a line came that is no JSON-RPC message: \"x\""}
		end 1`)
}
