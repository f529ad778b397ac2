package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coder/acp-go-sdk"
)

// ok is an answer.
func ok(result string) string { return `{"jsonrpc":"2.0","id":$ID,"result":` + result + `}` }

// says is an update of session "s".
func says(text string) string {
	return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` + text + `}}` + "\n"
}

// asks is a request of the peer.
func asks(id, method, params string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}` + "\n"
}

// on is what the peer writes on a prompt.
func on(text string) map[string]string { return map[string]string{"session/prompt": text} }

const endTurn = `{"stopReason":"end_turn"}`

func calling[P, R any](method func(connection, context.Context, P) (R, error), params P) func(*playing) {
	return func(r *playing) { result[R](r)(method(r.conn, r.ctx, params)) }
}

// scripts returns the exchanges that both connections are put through. No variable holds
// them: this binary is started again and again as an agent that has no use for them.
func scripts() []exchange {
	return []exchange{
		{name: "initialize, least", on: map[string]string{"initialize": ok(`{"protocolVersion":1}`)}, do: calling(connection.Initialize, acp.InitializeRequest{ProtocolVersion: 1})},
		{name: "initialize, most", on: map[string]string{"initialize": ok(`{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"promptCapabilities":{"image":true,"embeddedContext":true},"sessionCapabilities":{"close":{},"list":{}}},"agentInfo":{"name":"a","version":"1"},"authMethods":[{"id":"a","name":"A"},{"type":"env_var","id":"b","name":"B","vars":[{"name":"K"}]}],"_meta":{"x":[1]}}`)},
			do: calling(connection.Initialize, acp.InitializeRequest{ProtocolVersion: 1, ClientInfo: &acp.Implementation{Name: "c", Version: "v"}})},
		{name: "initialize, another version", on: map[string]string{"initialize": ok(`{"protocolVersion":99,"authMethods":[]}`)}, do: calling(connection.Initialize, acp.InitializeRequest{ProtocolVersion: 1})},
		{name: "initialize, null members", on: map[string]string{"initialize": ok(`{"protocolVersion":1,"agentCapabilities":null,"authMethods":null,"agentInfo":null}`)}, do: calling(connection.Initialize, acp.InitializeRequest{})},
		{name: "authenticate", on: map[string]string{"authenticate": ok(`{}`)}, do: calling(connection.Authenticate, acp.AuthenticateRequest{MethodId: "a"})},
		{name: "authenticate, refused", on: map[string]string{"authenticate": `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"Authentication required","data":{"authMethods":[{"id":"a"}]}}}`}, do: calling(connection.Authenticate, acp.AuthenticateRequest{MethodId: "a"})},
		{name: "logout", on: map[string]string{"logout": ok(`{"_meta":{"a":1}}`)}, do: calling(connection.Logout, acp.LogoutRequest{})},
		{name: "session/new", on: map[string]string{"session/new": ok(`{"sessionId":"s"}`)}, do: calling(connection.NewSession, acp.NewSessionRequest{Cwd: "/", McpServers: []acp.McpServer{}})},
		{name: "session/new with modes and options", on: map[string]string{"session/new": ok(`{"sessionId":"s","modes":{"currentModeId":"a","availableModes":[{"id":"a","name":"A"}]},"configOptions":[{"type":"select","id":"m","name":"M","currentValue":"x","options":[{"value":"x","name":"X"}]}]}`)},
			do: calling(connection.NewSession, acp.NewSessionRequest{Cwd: "/", McpServers: []acp.McpServer{{Stdio: &acp.McpServerStdio{Name: "m", Command: "c", Args: []string{}, Env: []acp.EnvVariable{}}}}})},
		{name: "session/new, error without data", on: map[string]string{"session/new": `{"jsonrpc":"2.0","id":$ID,"error":{"code":401,"message":"no"}}`}, do: calling(connection.NewSession, acp.NewSessionRequest{})},
		{name: "session/new, no result", on: map[string]string{"session/new": ok(`{}`)}, do: calling(connection.NewSession, acp.NewSessionRequest{})},
		{name: "updates before session/new is answered", on: map[string]string{"session/new": says(`{"sessionUpdate":"current_mode_update","currentModeId":"m"}`) + ok(`{"sessionId":"s"}`)}, do: calling(connection.NewSession, acp.NewSessionRequest{})},
		{name: "session/load replays", on: map[string]string{"session/load": strings.Repeat(says(`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"old"}}`), 100) + ok(`null`)}, do: calling(connection.LoadSession, acp.LoadSessionRequest{SessionId: "s"})},
		{name: "session/resume", on: map[string]string{"session/resume": ok(`{"modes":null}`)}, do: calling(connection.ResumeSession, acp.ResumeSessionRequest{SessionId: "s"})},
		{name: "session/list", on: map[string]string{"session/list": ok(`{"sessions":[{"sessionId":"a","cwd":"/"}],"nextCursor":"n"}`)}, do: calling(connection.ListSessions, acp.ListSessionsRequest{})},
		{name: "session/close", on: map[string]string{"session/close": ok(`{}`)}, do: calling(connection.CloseSession, acp.CloseSessionRequest{SessionId: "s"})},
		{name: "session/delete", on: map[string]string{"session/delete": ok(`{}`)}, do: calling(connection.UnstableDeleteSession, acp.UnstableDeleteSessionRequest{SessionId: "s"})},
		{name: "session/fork", on: map[string]string{"session/fork": ok(`{"sessionId":"f"}`)}, do: calling(connection.UnstableForkSession, acp.UnstableForkSessionRequest{SessionId: "s", Cwd: "/"})},
		{name: "session/set_mode", on: map[string]string{"session/set_mode": ok(`{}`)}, do: calling(connection.SetSessionMode, acp.SetSessionModeRequest{SessionId: "s", ModeId: "m"})},
		{name: "session/set_config_option", on: map[string]string{"session/set_config_option": ok(`{"configOptions":[]}`)},
			do: calling(connection.SetSessionConfigOption, acp.SetSessionConfigOptionRequest{ValueId: &acp.SetSessionConfigOptionValueId{SessionId: "s", ConfigId: "c", Value: "v"}})},

		{name: "end_turn", on: on(ok(endTurn))},
		{name: "max_tokens", on: on(ok(`{"stopReason":"max_tokens"}`))},
		{name: "max_turn_requests", on: on(ok(`{"stopReason":"max_turn_requests"}`))},
		{name: "refusal", on: on(ok(`{"stopReason":"refusal"}`))},
		{name: "cancelled", on: on(ok(`{"stopReason":"cancelled"}`))},
		{name: "unknown stop reason", on: on(ok(`{"stopReason":"tired"}`))},
		{name: "no stop reason", on: on(ok(`{}`))},
		{name: "usage", on: on(ok(`{"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3},"_meta":{"a":{"b":[null,1.5]}}}`))},
		{name: "error with data", on: on(`{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"Internal error","data":{"a":[1,"x"]}}}`)},
		{name: "error and null result", on: on(`{"jsonrpc":"2.0","id":$ID,"error":{"code":-32800,"message":"cancelled"},"result":null}`)},
		{name: "null error beside a result", on: on(`{"jsonrpc":"2.0","id":$ID,"error":null,"result":` + endTurn + `}`)},
		{name: "message chunks", on: on(says(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}`) + says(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""}}`) + says(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"b\n\"c\" \u00e4\ud83d\ude00"},"messageId":"m"}`) + ok(endTurn))},
		{name: "thoughts", on: on(says(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`) + ok(endTurn))},
		{name: "other content", on: on(says(`{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"AA==","mimeType":"image/png"}}`) + says(`{"sessionUpdate":"agent_message_chunk","content":{"type":"resource_link","name":"n","uri":"u"}}`) + says(`{"sessionUpdate":"agent_message_chunk","content":{"type":"resource","resource":{"uri":"u","text":"t"}}}`) + ok(endTurn))},
		{name: "meta", on: on(`{"jsonrpc":"2.0","method":"session/update","params":{"_meta":{"a":1},"sessionId":"s","update":{"_meta":{"b":2},"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}}` + "\n" + ok(endTurn))},
		{name: "tool calls", on: on(says(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"T","kind":"edit","status":"pending","locations":[{"path":"/a","line":3}],"rawInput":{"x":1}}`) + says(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed","content":[{"type":"diff","path":"/a","oldText":"o","newText":"n"},{"type":"content","content":{"type":"text","text":"x"}},{"type":"terminal","terminalId":"y"}]}`) + ok(endTurn))},
		{name: "plan", on: on(says(`{"sessionUpdate":"plan","entries":[{"content":"c","priority":"high","status":"in_progress"}]}`) + ok(endTurn))},
		{name: "the other kinds", on: on(says(`{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"n","description":"d","input":{"hint":"h"}}]}`) + says(`{"sessionUpdate":"config_option_update","configOptions":[]}`) + says(`{"sessionUpdate":"session_info_update","title":"t"}`) + says(`{"sessionUpdate":"usage_update","used":1,"size":2}`) + says(`{"sessionUpdate":"plan_removed","id":"p"}`) + ok(endTurn))},
		{name: "many chunks in order", on: on(func() string {
			var b strings.Builder
			for i := range 200 {
				b.WriteString(says(fmt.Sprintf(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%d"}}`, i)))
			}
			return b.String() + ok(endTurn)
		}())},
		{name: "a long line", on: on(says(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"`+strings.Repeat("x", 1<<20)+`"}}`) + ok(endTurn))},
		{name: "invalid UTF-8", on: on(says(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a`+"\xff\xfe"+`b"}}`) + ok(endTurn))},
		{name: "CRLF and blank lines", on: on("\r\n\n" + strings.TrimSuffix(says(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}`), "\n") + "\r\n  \n" + ok(endTurn) + "\r")},
		{name: "noise between the frames", on: on("loading model\n{not json\n[1, 2]\n" + ok(endTurn))},
		{name: "white space and unknown members", on: on(`{ "extra" : {"id":9} , "result" : { "stopReason" : "end_turn" , "x" : [] } , "id" : $ID , "jsonrpc" : "2.0" }`)},
		{name: "id as a float", on: on(`{"jsonrpc":"2.0","id":$ID.0,"result":` + endTurn + `}`)},
		{name: "no final newline", why: "the SDK may lose an answer that comes with the end", ours: "result " + endTurn, sometimes: true, on: on(ok(endTurn)), end: true},
		{name: "duplicate and unknown answers", on: on(`{"jsonrpc":"2.0","id":77,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":"u","error":{"code":1,"message":"x"}}` + "\n" + ok(endTurn) + "\n" + ok(`{"stopReason":"refusal"}`)), do: func(r *playing) { r.prompt("s"); r.prompt("s") }},
		{name: "an update between two turns", on: map[string]string{"session/prompt": ok(endTurn), "session/set_mode": says(`{"sessionUpdate":"current_mode_update","currentModeId":"m"}`) + ok(`{}`)},
			do: func(r *playing) {
				r.prompt("s")
				calling(connection.SetSessionMode, acp.SetSessionModeRequest{SessionId: "s", ModeId: "m"})(r)
			}},
		{name: "two sessions", on: on(chunkLine("other", "x") + "\n" + ok(endTurn)), do: func(r *playing) { r.prompt("a"); r.prompt("b") }},
		{name: "cancel", on: map[string]string{}, do: func(r *playing) { r.failed(r.conn.Cancel(r.ctx, acp.CancelNotification{SessionId: "s"})) }, awaits: 1},
		{name: "a prompt that is cancelled on the wire", on: map[string]string{"session/cancel": `{"jsonrpc":"2.0","id":1,"result":{"stopReason":"cancelled"}}`}, do: func(r *playing) {
			done := async(func() (any, error) { r.prompt("s"); return nil, nil })
			<-r.got // the prompt
			r.failed(nil)
			if err := r.conn.Cancel(r.ctx, acp.CancelNotification{SessionId: "s"}); err != nil {
				r.failed(err)
			}
			await(r.t, done)
		}},

		{name: "permission", on: map[string]string{"start": asks("0", "session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"t","title":"T","kind":"execute","rawInput":{"c":"ls"}},"options":[{"optionId":"a","name":"A","kind":"allow_always"},{"optionId":"b","name":"B","kind":"reject_once"}]}`)}, awaits: 1, do: func(*playing) {}},
		{name: "permission, cancelled by the client", on: map[string]string{"start": asks(`"uuid"`, "session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"t","title":"cancel"},"options":[{"optionId":"a","name":"A","kind":"allow_once"}]}`)}, awaits: 1, do: func(*playing) {}},
		{name: "fs/read_text_file", on: map[string]string{"start": asks("1", "fs/read_text_file", `{"sessionId":"s","path":"/a","line":1,"limit":2}`)}, awaits: 1, do: func(*playing) {}},
		{name: "fs/read_text_file, refused", on: map[string]string{"start": asks("1", "fs/read_text_file", `{"sessionId":"s","path":"/missing"}`)}, awaits: 1, do: func(*playing) {}},
		{name: "fs/write_text_file", on: map[string]string{"start": asks("1", "fs/write_text_file", `{"sessionId":"s","path":"/a","content":"x"}`)}, awaits: 1, do: func(*playing) {}},
		{name: "terminal/create", on: map[string]string{"start": asks("1", "terminal/create", `{"sessionId":"s","command":"ls","args":["-l"],"env":[{"name":"A","value":"b"}]}`)}, awaits: 1, do: func(*playing) {}},
		{name: "terminal/output", on: map[string]string{"start": asks("1", "terminal/output", `{"sessionId":"s","terminalId":"t"}`)}, awaits: 1, do: func(*playing) {}},
		{name: "terminal/wait_for_exit", on: map[string]string{"start": asks("1", "terminal/wait_for_exit", `{"sessionId":"s","terminalId":"t"}`)}, awaits: 1, do: func(*playing) {}},
		{name: "terminal/kill", on: map[string]string{"start": asks("1", "terminal/kill", `{"sessionId":"s","terminalId":"t"}`)}, awaits: 1, do: func(*playing) {}},
		{name: "terminal/release, not served", on: map[string]string{"start": asks("1", "terminal/release", `{"sessionId":"s","terminalId":"t"}`)}, awaits: 1, do: func(*playing) {}},
		{name: "unknown request", on: map[string]string{"start": asks("1", "vendor/thing", `{}`)}, awaits: 1, do: func(*playing) {}},
		{name: "optional request that is not served", on: map[string]string{"start": asks("1", "mcp/connect", `{"acpId":"a"}`)}, awaits: 1, do: func(*playing) {}},
		{name: "unknown notification", on: on(`{"jsonrpc":"2.0","method":"vendor/note","params":{"a":1}}` + "\n" + ok(endTurn))},
		{name: "extension request of the agent", on: map[string]string{"start": asks(`"x"`, "_vendor/thing", `{"a":[1]}`)}, awaits: 1, do: func(*playing) {}},
		{name: "extension request that is not known", on: map[string]string{"start": asks(`"x"`, "_unknown", `null`)}, awaits: 1, do: func(*playing) {}},
		{name: "extension notification of the agent", on: on(`{"jsonrpc":"2.0","method":"_vendor/note","params":{"a":1}}` + "\n" + ok(endTurn))},
		{name: "extension request", on: map[string]string{"_thing": ok(`{"a": [1]}`)}, do: func(r *playing) {
			result[json.RawMessage](r)(r.conn.CallExtension(r.ctx, "_thing", map[string]any{"x": 1}))
			_, err := r.conn.CallExtension(r.ctx, "thing", nil)
			r.failed(err)
		}},
		{name: "extension notification", do: func(r *playing) {
			r.failed(r.conn.NotifyExtension(r.ctx, "_note", []int{1}))
			r.failed(r.conn.NotifyExtension(r.ctx, "note", nil))
		}, awaits: 1},

		{name: "a burst", why: "the SDK closes the connection when 1024 updates wait", ours: "result " + endTurn,
			on: on(strings.Repeat(says(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}`), 5000) + ok(endTurn))},
		{name: "a line over 10 MiB", why: "the SDK closes the connection", ours: "result " + endTurn,
			on: on(`{"jsonrpc":"2.0","method":"vendor/big","params":"` + strings.Repeat("x", 11<<20) + `"}` + "\n" + ok(endTurn))},
		{name: "a log object with our id", why: "the SDK takes it for the answer", ours: `result {"stopReason":"refusal"}`,
			on: on(`{"level":"info","id":$ID,"msg":"x"}` + "\n" + ok(`{"stopReason":"refusal"}`))},
		{name: "our id as a string", why: "the SDK does not know it again", ours: "result " + endTurn,
			on: on(`{"jsonrpc":"2.0","id":"$ID","result":` + endTurn + `}`)},
		{name: "an array of frames", why: "the SDK reads one frame a line only", ours: "result " + endTurn,
			on: on(`[` + strings.TrimSuffix(says(`{"sessionUpdate":"plan_removed","id":"p"}`), "\n") + `,` + ok(endTurn) + `]`)},
		{name: "a byte order mark and an escape", why: "the SDK reads nothing before a frame", ours: "result " + endTurn,
			on: on("\ufeff\x1b[?25h" + ok(endTurn))},
		{name: "an unknown kind with content", why: "the SDK makes it a user message", theirs: "user_message_chunk",
			on: on(says(`{"sessionUpdate":"agent_audio_chunk","content":{"type":"text","text":"x"}}`) + ok(endTurn))},
		{name: "an odd field in an update", why: "the SDK drops the update", ours: `"toolCallId":"7"`,
			on: on(says(`{"sessionUpdate":"tool_call","toolCallId":7,"title":"T","locations":[{"path":"/a","line":"3"}]}`) + ok(endTurn))},
		{name: "an odd field in the answer", why: "the SDK fails the turn", ours: `result {"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":0,"totalTokens":0}}`,
			on: on(ok(`{"stopReason":"end_turn","usage":{"inputTokens":1.5,"outputTokens":null}}`))},
		{name: "permission without options", why: "the SDK answers with an error, on which agents fail the turn", ours: `{"outcome":{"outcome":"cancelled"}}`,
			on: map[string]string{"start": asks("1", "session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"t","title":"cancel"},"options":null}`)}, awaits: 1, do: func(*playing) {}},
		{name: "permission with id null", why: "the SDK never answers it", ours: `peer: id null   {"outcome":{"outcome":"cancelled"}}`,
			on: map[string]string{"start": asks("null", "session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"t","title":"cancel"},"options":[]}`)}, awaits: 1, do: func(*playing) {}},
		{name: "an error of a handler", why: "the SDK sends its text to the agent", ours: `{"code":-32603,"message":"Internal error"}`,
			on: map[string]string{"start": asks("1", "fs/read_text_file", `{"sessionId":"s","path":"/secret"}`)}, awaits: 1, do: func(*playing) {}},
		{name: "the context of a prompt ends", why: "the SDK throws the agent's answer away and sends $/cancel_request too", ours: `result {"stopReason":"cancelled"}`,
			on: map[string]string{"session/cancel": `{"jsonrpc":"2.0","id":1,"result":{"stopReason":"cancelled"}}`}, do: func(r *playing) {
				ctx, cancel := context.WithCancel(r.ctx)
				go func() { <-r.got; cancel() }()
				result[acp.PromptResponse](r)(r.conn.Prompt(ctx, promptText("s", "hi")))
			}},
		{name: "annotations in a prompt", why: "the SDK does not write them", ours: `"annotations":{"audience":["user"]}`,
			on: on(ok(endTurn)), do: func(r *playing) {
				block := acp.TextBlock("hi")
				block.Text.Annotations = &acp.Annotations{Audience: []acp.Role{"user"}}
				result[acp.PromptResponse](r)(r.conn.Prompt(r.ctx, acp.PromptRequest{SessionId: "s", Prompt: []acp.ContentBlock{block}}))
			}},
	}
}
