package conform

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/errand-acp/errand/client/transcript"
)

var blankLines = regexp.MustCompile(`\n\s*\n`)

// outcomeOf is what a rule says of lines as record takes them, and of two more sorts: "< TEXT x"
// is a line of the agent that is no frame, and "< GONE rung [status or signal]" the end of the agent.
func outcomeOf(t *testing.T, id, lines string) outcome {
	t.Helper()
	i := slices.IndexFunc(Rules(), func(r Rule) bool { return r.ID == id })
	if i < 0 {
		t.Fatalf("there is no rule %s", id)
	}
	rule, name := Rules()[i], "content"
	if len(rule.scenes) > 0 {
		name = rule.scenes[0]
	}
	r := record(name, blankLines.ReplaceAllString(lines, "\n"))
	for i := range r.entries {
		e := &r.entries[i]
		if text, ok := strings.CutPrefix(string(e.Frame), "TEXT"); ok {
			e.Frame, e.Text = nil, strings.TrimPrefix(text, " ")
		}
		if gone, ok := strings.CutPrefix(string(e.Frame), "GONE "); ok {
			rung, how, _ := strings.Cut(gone, " ")
			*e = transcript.Entry{At: e.At, End: &transcript.End{Rung: rung}}
			if code, err := strconv.Atoi(how); err == nil {
				e.End.Code = &code
			} else if how != "" {
				e.End.Signal = &how
			}
		}
	}
	return rule.judge(r)
}

func optionsAt(value string) string {
	return `[{"id":"m","name":"M","type":"select","currentValue":"` + value + `","options":[{"group":"g","name":"G","options":[{"value":"x","name":"X"},{"value":"y","name":"Y"}]}]}]`
}

// An agent is blamed for, and praised for, what it has done itself.
func TestGuards(t *testing.T) {
	var (
		goOn    = `{"id":7,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}` + "\n"
		asked1  = `{"id":9,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"sing"}]}}`
		user2   = `< {"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"\nping"}}}}` + "\n"
		hello   = `initialize> {"id":0,"method":"initialize","params":{}}` + "\n" + `< {"id":0,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"list":{},"close":{},"resume":{}}}}}` + "\n"
		new     = `new> {"id":1,"method":"session/new","params":{}}` + "\n" + `< {"id":1,"result":{"sessionId":"s"}}` + "\n"
		options = `[{"id":"m","name":"M","type":"select","currentValue":"x","options":[{"value":"x","name":"X"}]}]`
		chosen  = `new> {"id":1,"method":"session/new","params":{}}` + "\n" + `< {"id":1,"result":{"sessionId":"s","configOptions":` + options + "}}\n" + `set-config-1> {"id":2,"method":"session/set_config_option","params":{"configId":"m","value":"x"}}` + "\n"
		talk    = hello + `prompt> PROMPT
			< {"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"pong"}}}}
			< END
			`
		user    = `< {"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"ping"}}}}` + "\n"
		agent   = `< {"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"pong"}}}}` + "\n"
		load    = `load> {"id":3,"method":"session/load","params":{"sessionId":"s"}}` + "\n"
		resume  = `resume> {"id":3,"method":"session/resume","params":{"sessionId":"s"}}` + "\n"
		done    = `< {"id":3,"result":{}}` + "\n"
		closing = hello + `
			new-to-close> {"id":4,"method":"session/new","params":{}}
			< {"id":4,"result":{"sessionId":"s"}}
			prompt-to-close> PROMPT
			speaking!
			close> {"id":5,"method":"session/close","params":{"sessionId":"s"}}
			< {"id":5,"result":{}}
			< END
			close-control> {"id":6,"method":"session/prompt","params":{"sessionId":"s2"}}
			`
		closed = `close> {"id":5,"method":"session/close","params":{"sessionId":"s"}}
			< {"id":5,"result":{}}
			prompt-closed> ` + goOn
		mode       = `set-mode> {"id":2,"method":"session/set_mode","params":{}}` + "\n"
		list       = `list> {"id":2,"method":"session/list","params":{}}` + "\n"
		nobody     = `list-nobody> {"id":3,"method":"session/list","params":{}}` + "\n"
		listed     = list + `< {"id":2,"result":{"sessions":[{"sessionId":"s","cwd":"/"}]}}` + "\n" + nobody
		noneListed = list + `< {"id":2,"result":{"sessions":[]}}` + "\n" + nobody

		calls  = `< CALL "status":"pending";;` + "\n" + `< UPDATE "status":"completed";;` + "\n"
		calls2 = `< {"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"d","title":"t"}}}` + "\n"

		choice   = `new> {"id":1,"method":"session/new","params":{}}` + "\n" + `< {"id":1,"result":{"sessionId":"s","configOptions":` + optionsAt("x") + "}}\n" + `set-config-1> {"id":2,"method":"session/set_config_option","params":{"configId":"m","value":"y"}}` + "\n"
		back     = `set-config-2> {"id":3,"method":"session/set_config_option","params":{"configId":"m","value":"x"}}` + "\n"
		two      = `[{"id":"e","name":"E","type":"select","currentValue":"x","options":[{"value":"x","name":"X"}]},` + optionsAt("x")[1:]
		closing1 = `prompt-to-close> PROMPT
			close> {"id":5,"method":"session/close","params":{"sessionId":"s"}}
			< {"id":5,"result":{}}
			< {"id":9,"result":{"stopReason":"cancelled"}}
			`

		refusedPrompt = "prompt> PROMPT\n" + `< {"id":9,"error":{"code":-32603,"message":"no credits left"}}` + "\n"
		refusal       = `< {"id":3,"error":{"code":-32602,"message":"no such session"}}` + "\n"
		refusal7      = `< {"id":7,"error":{"code":-32602,"message":"no such session"}}` + "\n"

		noted   = `unknown-notification> {"method":"_errand.example/happened"}` + "\n"
		asked   = `after-notification> {"id":2,"method":"session/new","params":{}}` + "\n"
		future  = `initialize-future> {"id":0,"method":"initialize","params":{"protocolVersion":65535}}` + "\n"
		offered = `initialize-offered> {"id":1,"method":"initialize","params":{"protocolVersion":1}}` + "\n"
		command = `new> {"id":1,"method":"session/new","params":{}}
			< {"id":1,"result":{"sessionId":"s"}}
			command> PROMPT
			< {"id":"a","method":"terminal/create","params":{"sessionId":"s","command":"echo"}}
			> {"id":"a","result":{"terminalId":"t"}}
			< {"id":"b","method":"terminal/output","params":{"sessionId":"s","terminalId":"t"}}
			> {"id":"b","result":{"output":"","truncated":false,"exitStatus":{"exitCode":0}}}
			`
	)
	for _, tt := range []struct {
		name, rule string
		want       Verdict
		lines      string
	}{
		{"ended by us in the middle of a message, by EOF", "stdout-messages", Pass, hello + `
			eof!
			< TEXT {"jsonrpc":"2.0","met
			< GONE exit`},
		{"ended by us in the middle of a message, by a signal", "stdout-messages", Pass, hello + `
			sigterm!
			< TEXT {"jsonrpc":"2.0","met
			< GONE exit`},
		{"ended by the ladder in the middle of a message", "stdout-messages", Pass, hello + `
			< TEXT {"jsonrpc":"2.0","met
			< GONE eof`},
		{"ended by itself in the middle of a message", "stdout-messages", Fail, hello + `
			< TEXT {"jsonrpc":"2.0","met
			< GONE exit`},
		{"blank lines", "stdout-messages", Pass, hello + "< TEXT\n" + new},
		{"ended by us, with a last word", "stdout-messages", Fail, hello + `
			eof!
			< TEXT Bye!
			< GONE exit`},
		{"over by itself when its session was closed", "close-cancels", NotApplicable, closing + `< {"id":6,"result":{"stopReason":"end_turn"}}`},
		{"not over by itself when its session was closed", "close-cancels", Fail, closing + `
			close-control-cancel> {"method":"session/cancel","params":{"sessionId":"s2"}}
			< {"id":6,"result":{"stopReason":"cancelled"}}`},
		{"dead before a _meta", "session-meta", NotApplicable, hello + new + `
			new-without-cwd> {"id":2,"method":"session/new","params":{}}
			over!
			new-without-cwd/unanswered! gone
			new-meta> {"id":3,"method":"session/new","params":{}}
			new-meta/unanswered! gone
			< GONE exit`},
		{"dead of a _meta", "session-meta", Fail, hello + new + `
			new-meta> {"id":3,"method":"session/new","params":{}}
			over!
			new-meta/unanswered! gone
			< GONE exit`},
		{"one session and no more", "session-meta", NotApplicable, hello + new + `
			new-meta> {"id":3,"method":"session/new","params":{}}
			< {"id":3,"error":{"code":-32001,"message":"one only"}}
			new-after> {"id":4,"method":"session/new","params":{}}
			< {"id":4,"error":{"code":-32001,"message":"one only"}}`},
		{"dead of a session without a directory", "session-params", Fail, hello + new + `
			new-without-cwd> {"id":2,"method":"session/new","params":{}}
			over!
			new-without-cwd/unanswered! gone
			< GONE exit`},
		{"dead of a session without a directory, then a right one", "session-after-refusal", Fail, hello + new + `
			new-without-cwd> {"id":2,"method":"session/new","params":{}}
			over!
			new-without-cwd/unanswered! gone
			< GONE exit`},
		{"one session and no more, after wrong requests", "session-after-refusal", NotApplicable, hello + new + `
			new-control> {"id":2,"method":"session/new","params":{}}
			< {"id":2,"error":{"code":-32001,"message":"one only"}}
			new-without-cwd> {"id":3,"method":"session/new","params":{}}
			< {"id":3,"error":{"code":-32602,"message":"no cwd"}}
			new-after> {"id":4,"method":"session/new","params":{}}
			< {"id":4,"error":{"code":-32001,"message":"one only"}}`},
		{"dead of a relative directory", "cwd-relative", NotApplicable, hello + new + `
			new-relative> {"id":2,"method":"session/new","params":{}}
			over!
			new-relative/unanswered! gone
			< GONE exit`},
		{"dead before unusual ids", "request-ids", NotApplicable, hello + `
			unknown-extension> {"id":2,"method":"_x","params":{}}
			< {"id":2,"error":{"code":-32601,"message":"no"}}
			unknown-method> {"id":3,"method":"x","params":{}}
			over!
			unknown-method/unanswered! gone
			id-zero> {"id":0,"method":"_x","params":{}}
			id-zero/unanswered! gone
			< GONE exit`},
		{"dead of an unknown method", "method-answered", Fail, hello + `
			unknown-method> {"id":3,"method":"x","params":{}}
			over!
			unknown-method/unanswered! gone
			< GONE exit`},
		{"dead before it was prompted", "prompt-text", NotApplicable, hello + new + `
			over!
			text> PROMPT
			text/unanswered! gone
			< GONE exit`},
		{"dead before its stdin was closed", "exit-on-eof", NotApplicable, hello + new + `
			over!
			eof!
			exit! exited
			< GONE exit`},
		{"dead before SIGTERM", "exit-on-sigterm", NotApplicable, hello + new + `
			over!
			sigterm!
			exit! exited
			< GONE exit`},
		{"exited on EOF", "exit-on-eof", Pass, hello + "eof!\nover!\nexit! exited\n< GONE exit 0"},
		{"exited on EOF, with a status", "exit-on-eof", Fail, hello + "eof!\nover!\nexit! exited\n< GONE exit 3"},
		{"crashed on EOF", "exit-on-eof", Fail, hello + "eof!\nover!\nexit! exited\n< GONE exit SIGSEGV"},
		{"ended its group on EOF", "exit-on-eof", Pass, hello + "eof!\nover!\nexit! exited\n< GONE exit SIGTERM"},
		{"killed on EOF", "exit-on-eof", Fail, hello + "eof!\nover!\nexit! exited\n< GONE exit SIGKILL"},
		{"a broken pipe on EOF", "exit-on-eof", Fail, hello + "eof!\nover!\nexit! exited\n< GONE exit SIGPIPE"},
		{"ended its group on EOF in a turn", "exit-on-eof-in-turn", Pass, hello + "eof!\nover!\nexit! exited\n< GONE exit SIGINT"},
		{"hung up on EOF in a turn", "exit-on-eof-in-turn", Pass, hello + "eof!\nover!\nexit! exited\n< GONE exit SIGHUP"},
		{"exited on EOF in a turn, with a status", "exit-on-eof-in-turn", Pass, hello + "eof!\nover!\nexit! exited\n< GONE exit 3"},
		{"crashed on EOF in a turn", "exit-on-eof-in-turn", Fail, hello + "eof!\nover!\nexit! exited\n< GONE exit SIGSEGV"},
		{"ended by the SIGTERM that it got", "exit-on-sigterm", Pass, hello + "sigterm!\nover!\nexit! exited\n< GONE exit SIGTERM"},
		{"exited on SIGTERM, with a status", "exit-on-sigterm", Pass, hello + "sigterm!\nover!\nexit! exited\n< GONE exit 143"},
		{"crashed on SIGTERM", "exit-on-sigterm", Fail, hello + "sigterm!\nover!\nexit! exited\n< GONE exit SIGSEGV"},
		{"crashed on SIGTERM in a turn", "exit-on-sigterm-in-turn", Fail, hello + "sigterm!\nover!\nexit! exited\n< GONE exit SIGABRT"},
		{"there until its stdin ended", "exit-unasked", Pass, hello + "eof!\nover!\n< GONE exit 0"},
		{"there until the ladder ended it", "exit-unasked", Pass, hello + "over!\n< GONE eof"},
		{"gone after an answer", "exit-unasked", Fail, hello + new + "over!\n< GONE exit 0"},
		{"gone after an answer, in a fresh process", "exit-unasked", Fail, hello + "over!\n< GONE eof\n" + load + done + "over!\n< GONE exit 0"},
		{"gone without a word", "exit-unasked", NotApplicable, `initialize> {"id":0,"method":"initialize","params":{}}` + "\nover!\n< GONE exit 0"},
		{"loaded, and gone", "load-available", Fail, talk + load + done + `
			over!
			load-prompt> ` + goOn + `load-prompt/unanswered! gone
			< GONE exit 0`},
		{"loaded, and gone at the prompt", "load-available", Fail, talk + load + done + `load-prompt> ` + goOn + `
			over!
			load-prompt/unanswered! gone
			< GONE exit 0`},
		{"resumed, and gone", "resume-available", Fail, talk + resume + done + "over!\n< GONE exit 0"},
		{"resumed, and another one gone before", "resume-available", NotApplicable, talk + load + done + "over!\n< GONE exit 0\n" + resume + done},
		{"gone after a turn", "prompt-again", Fail, hello + new + `
			text> PROMPT
			< SAY
			< END
			over!
			resource_link> {"id":7,"method":"session/prompt","params":{"sessionId":"s"}}
			resource_link/unanswered! gone
			< GONE exit 0`},
		{"gone after a turn in which it asked", "prompt-again", Fail, hello + new + `
			text> PROMPT
			< SAY
			< END
			again> PROMPT
			< ASK
			> NO
			< END
			over!
			< GONE exit 0`},
		{"gone in the middle of another turn", "prompt-again", NotApplicable, hello + new + `
			text> PROMPT
			< SAY
			< END
			resource_link> {"id":7,"method":"session/prompt","params":{"sessionId":"s"}}
			over!
			resource_link/unanswered! gone
			< GONE exit 0`},
		{"gone when it had refused a relative directory", "session-after-refusal", Fail, hello + new + `
			new-relative> {"id":2,"method":"session/new","params":{"cwd":"."}}
			< {"id":2,"error":{"code":-32602,"message":"no"}}
			over!
			new-missing> {"id":3,"method":"session/new","params":{"cwd":"/nowhere"}}
			new-missing/unanswered! gone
			< GONE exit 0`},
		{"gone before a directory that does not exist", "cwd-missing", NotApplicable, hello + new + `
			new-relative> {"id":2,"method":"session/new","params":{"cwd":"."}}
			< {"id":2,"error":{"code":-32602,"message":"no"}}
			over!
			new-missing> {"id":3,"method":"session/new","params":{"cwd":"/nowhere"}}
			new-missing/unanswered! gone
			< GONE exit 0`},
		{"a fresh process after one that has ended", "load-available", Fail, hello + `
			over!
			< GONE eof
			load> {"id":3,"method":"session/load","params":{"sessionId":"s"}}
			load/unanswered! nothing came within 1s`},
		{"deaf to a relative directory", "cwd-relative", Fail, hello + new + `
			new-relative> {"id":2,"method":"session/new","params":{}}
			new-relative/unanswered! nothing came within 1s
			new-after> {"id":3,"method":"session/new","params":{}}
			< {"id":3,"result":{"sessionId":"t"}}`},
		{"deaf to wrong requests, and not to a right one", "session-after-refusal", Pass, hello + new + `
			new-control> {"id":2,"method":"session/new","params":{}}
			< {"id":2,"result":{"sessionId":"t"}}
			new-without-cwd> {"id":3,"method":"session/new","params":{}}
			new-without-cwd/unanswered! nothing came within 1s
			new-after> {"id":4,"method":"session/new","params":{}}
			< {"id":4,"result":{"sessionId":"u"}}`},
		{"deaf after wrong requests", "session-after-refusal", Fail, hello + new + `
			new-control> {"id":2,"method":"session/new","params":{}}
			< {"id":2,"result":{"sessionId":"t"}}
			new-without-cwd> {"id":3,"method":"session/new","params":{}}
			new-without-cwd/unanswered! nothing came within 1s
			new-after> {"id":4,"method":"session/new","params":{}}
			new-after/unanswered! nothing came within 1s`},
		{"deaf to a method of authentication that there is none of", "auth-unknown-method", Fail, hello + `
			authenticate-unknown> {"id":2,"method":"authenticate","params":{}}
			authenticate-unknown/unanswered! nothing came within 1s`},
		{"logged in, and deaf", "auth-login", Fail, hello + `
			new-first> {"id":1,"method":"session/new","params":{}}
			< {"id":1,"error":{"code":-32000,"message":"Authentication required"}}
			authenticate> {"id":2,"method":"authenticate","params":{}}
			< {"id":2,"result":{}}
			new-after> {"id":3,"method":"session/new","params":{}}
			new-after/unanswered! nothing came within 1s`},
		{"deaf to a mode", "set-mode", Fail, hello + new + mode + `set-mode/unanswered! nothing came within 1s`},
		{"dead of a mode", "set-mode", Fail, hello + new + mode + `
			over!
			set-mode/unanswered! gone
			< GONE exit`},
		{"a mode like any other", "set-mode", NotApplicable, hello + new + mode + `
			< {"id":2,"result":{}}
			set-mode-unknown> {"id":3,"method":"session/set_mode","params":{}}
			< {"id":3,"result":{}}`},
		{"a mode, and not any", "set-mode", Pass, hello + new + mode + `
			< {"id":2,"result":{}}
			set-mode-unknown> {"id":3,"method":"session/set_mode","params":{}}
			< {"id":3,"error":{"code":-32602,"message":"no"}}`},
		{"deaf to a directory that is empty", "list-empty", Fail, hello + listed + `list-nobody/unanswered! nothing came within 1s`},
		{"always an empty list", "list-available", NotApplicable, hello + noneListed + `< {"id":3,"result":{"sessions":[]}}`},
		{"always an empty list, and an empty one", "list-empty", NotApplicable, hello + noneListed + `< {"id":3,"result":{"sessions":[]}}`},
		{"an empty list where there are others", "list-empty", Pass, hello + listed + `< {"id":3,"result":{"sessions":[]}}`},
		{"closed, and nothing to show for it", "close-available", NotApplicable, closing + `< {"id":6,"result":{"stopReason":"end_turn"}}`},
		{"closed, and prompted", "close-available", NotApplicable, talk + closed + `< {"id":7,"result":{"stopReason":"end_turn"}}`},
		{"closed, and a prompt is refused", "close-available", Pass, talk + closed + `< {"id":7,"error":{"code":-32602,"message":"no such session"}}`},
		{"closed, and every prompt is refused", "close-available", NotApplicable, hello + closed + `< {"id":7,"error":{"code":-32602,"message":"no such session"}}`},
		{"nothing to load, for nothing was said", "load-available", NotApplicable, hello + refusedPrompt + load + refusal},
		{"nothing to resume, for nothing was said", "resume-available", NotApplicable, hello + refusedPrompt + resume + refusal},
		{"not loaded", "load-available", Fail, talk + load + refusal},
		{"loaded, and there is no session", "load-available", Fail, talk + load + done + `load-prompt> ` + goOn + refusal7},
		{"loaded, and goes on", "load-available", Pass, talk + load + done + `load-prompt> ` + goOn + `< {"id":7,"result":{"stopReason":"end_turn"}}`},
		{"resumed, and there is no session", "resume-available", Fail, talk + resume + done + `resume-prompt> ` + goOn + refusal7},
		{"its tool calls are replayed", "tool-call-status", Pass, calls + load + calls + done},
		{"its tool calls are replayed, each as it was", "tool-call-id", Pass, calls + calls2 + load + calls + calls2 + done},
		{"one tool call, and its replay", "tool-call-id", NotApplicable, calls + load + calls + done},
		{"a replayed tool call runs again", "tool-call-status", Fail, calls + load + calls + `< UPDATE "status":"pending";;`},
		{"the id of a replayed tool call is used again", "tool-call-id", Fail, calls + load + calls + done + calls},
		{"something else is replayed", "load-replay", Fail, strings.ReplaceAll(talk, "PROMPT", asked1) + load + user + agent + done},
		{"the same is replayed, in parts", "load-replay", Pass, strings.ReplaceAll(talk, "PROMPT", strings.Replace(asked1, "sing", " ping\\nping", 1)) + load + user + user2 + agent + done},
		{"another session's is replayed", "load-replay", Fail, talk + load + strings.ReplaceAll(user+agent, `"s"`, `"t"`) + done},
		{"set, and no current values", "set-config", Fail, chosen + `< {"id":2,"result":{"configOptions":[{"id":"m"}]}}`},
		{"shown, and cannot be set", "set-config", Fail, chosen + `< {"id":2,"error":{"code":-32601,"message":"no"}}`},
		{"set to another value, and back", "set-config", Pass, choice + `< {"id":2,"result":{"configOptions":` + optionsAt("y") + `}}` + "\n" + back + `< {"id":3,"result":{"configOptions":` + optionsAt("x") + `}}`},
		{"set to another value, and the answer says what it was", "set-config", Fail, choice + `< {"id":2,"result":{"configOptions":` + optionsAt("x") + `}}` + "\n" + back + `< {"id":3,"result":{"configOptions":` + optionsAt("x") + `}}`},
		{"an option that goes with a value", "set-config", Pass, strings.Replace(choice, optionsAt("x"), two, 1) + `< {"id":2,"result":{"configOptions":` + optionsAt("y") + `}}` + "\n" + back + `< {"id":3,"result":{"configOptions":` + two + `}}`},
		{"an option that is lost", "set-config", Fail, strings.Replace(choice, optionsAt("x"), two, 1) + `< {"id":2,"result":{"configOptions":` + optionsAt("y") + `}}` + "\n" + back + `< {"id":3,"result":{"configOptions":` + optionsAt("x") + `}}`},
		{"another value is not to be had", "set-config", Pass, choice + `< {"id":2,"error":{"code":-32602,"message":"no"}}` + "\n" + back + `< {"id":3,"result":{"configOptions":` + optionsAt("x") + `}}`},
		{"another value is not to be had, and is listed", "set-config-values", Fail, choice + `< {"id":2,"error":{"code":-32602,"message":"no"}}` + "\n" + back + `< {"id":3,"result":{"configOptions":` + optionsAt("x") + `}}`},
		{"another value is to be had", "set-config-values", Pass, choice + `< {"id":2,"result":{"configOptions":` + optionsAt("y") + `}}` + "\n" + back + `< {"id":3,"result":{"configOptions":` + optionsAt("x") + `}}`},
		{"another value is not tried", "set-config-values", NotApplicable, chosen + `< {"id":2,"result":{"configOptions":` + options + `}}`},
		{"another value is taken, and not had", "set-config-values", NotApplicable, choice + `< {"id":2,"result":{"configOptions":` + optionsAt("x") + `}}`},
		{"no value is to be had, nor blamed twice", "set-config-values", NotApplicable, choice + `< {"id":2,"error":{"code":-32602,"message":"no"}}`},
		{"the option that was set is not there", "set-config", Fail, choice + `< {"id":2,"result":{"configOptions":[]}}`},
		{"deaf to an option", "set-config", Fail, choice + `set-config-1/unanswered! nothing came within 1s`},
		{"no value is to be had", "set-config", Fail, choice + `< {"id":2,"error":{"code":-32602,"message":"no"}}` + "\n" + back + `< {"id":3,"error":{"code":-32602,"message":"no"}}`},
		{"options of no shape, in a new session", "update-config", Fail, `new> {"id":1,"method":"session/new","params":{}}
			< {"id":1,"result":{"sessionId":"s","configOptions":[{"type":"select","name":7}]}}`},
		{"options of no shape, in one that is loaded", "update-config", Fail, load + `< {"id":3,"result":{"configOptions":[{"type":"select","name":7}]}}`},
		{"options, in a new session", "update-config", Pass, chosen},
		{"none, in a new session", "update-config", NotApplicable, new},
		{"speaks on in a closed session", "cancel-no-late-updates", Fail, closing1 + agent},
		{"is silent in a closed session", "cancel-no-late-updates", Pass, closing1},
		{"speaks in another process, which has the session too", "cancel-no-late-updates", Pass, closing1 + `
			< GONE eof
			` + hello + load + agent},
		{"set", "set-config", Pass, chosen + `< {"id":2,"result":{"configOptions":` + options + `}}`},
		{"only the user's part is replayed", "load-replay", Fail, talk + load + user + done},
		{"only the agent's part is replayed", "load-replay", Fail, talk + load + agent + done},
		{"both are replayed", "load-replay", Pass, talk + load + user + agent + done},
		{"a tool call before a resume is answered", "resume-no-replay", Fail, talk + resume + `< CALL "status":"completed";;` + "\n" + done},
		{"commands before a resume is answered", "resume-no-replay", Pass, talk + resume + `< {"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"available_commands_update","availableCommands":[]}}}` + "\n" + done},
		{"one less than the future", "initialize-future-version", Fail, future + `
			< {"id":0,"result":{"protocolVersion":65534}}
			initialize-offered> {"id":1,"method":"initialize","params":{"protocolVersion":65534}}
			< {"id":1,"result":{"protocolVersion":65533}}`},
		{"a later version, whose initialize is another", "initialize-future-version", NotApplicable, future + `
			< {"id":0,"result":{"protocolVersion":2}}
			initialize-offered> {"id":1,"method":"initialize","params":{"protocolVersion":2}}
			< {"id":1,"error":{"code":-32602,"message":"Invalid params"}}`},
		{"our version, and an error for it", "initialize-future-version", Fail, future + `
			< {"id":0,"result":{"protocolVersion":1}}` + "\n" + offered + `< {"id":1,"error":{"code":-32602,"message":"no"}}`},
		{"1.0 is 1", "initialize-version", Pass, `initialize> {"id":0,"method":"initialize","params":{}}
			< {"id":0,"result":{"protocolVersion":1.0}}`},
		{"1.5 is none", "initialize-version", Fail, `initialize> {"id":0,"method":"initialize","params":{}}
			< {"id":0,"result":{"protocolVersion":1.5}}`},
		{"the version that it has", "initialize-future-version", Pass, future + `
			< {"id":0,"result":{"protocolVersion":1}}` + "\n" + offered + `< {"id":1,"result":{"protocolVersion":1}}`},
		{"an id for a notification", "notification-unanswered", Fail, noted + asked + `
			< {"id":-1,"error":{"code":-32601,"message":"no"}}
			< {"id":2,"result":{"sessionId":"s"}}`},
		{"null for what came later", "notification-unanswered", Pass, noted + asked + `
			< {"id":2,"result":{"sessionId":"s"}}
			> {"id":3,"method":"_x"}
			< {"id":null,"error":{"code":-32601,"message":"no"}}`},
		{"polled, and never released", "client-terminal-released", Fail, command + `< END`},
		{"polled, and released", "client-terminal-released", Pass, command + `
			< {"id":"c","method":"terminal/release","params":{"sessionId":"s","terminalId":"t"}}
			> {"id":"c","result":{}}
			< END`},
		{"a session refused", "session-new", Fail, hello + `
			new> {"id":1,"method":"session/new","params":{}}
			< {"id":1,"error":{"code":-32603,"message":"no"}}`},
		{"a session refused for want of a login", "session-new", NotApplicable, hello + `
			new> {"id":1,"method":"session/new","params":{}}
			< {"id":1,"error":{"code":-32000,"message":"Authentication required"}}`},
		{"an error without a message", "jsonrpc-error", Fail, `< {"id":1,"error":{"code":-32603}}`},
		{"a write where only reading is offered", "client-fs-not-advertised", Fail, `
			initialize> {"id":0,"method":"initialize","params":{"clientCapabilities":{"fs":{"readTextFile":true}}}}
			< {"id":9,"method":"fs/write_text_file","params":{}}`},
		{"a read where reading is offered", "client-fs-not-advertised", NotApplicable, `
			initialize> {"id":0,"method":"initialize","params":{"clientCapabilities":{"fs":{"readTextFile":true}}}}
			< {"id":9,"method":"fs/read_text_file","params":{}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if o := outcomeOf(t, tt.rule, tt.lines); o.verdict != tt.want {
				t.Errorf("%s: %s: %s, want %s", tt.rule, o.verdict, o.why, tt.want)
			}
		})
	}
}

// Who names a method of authentication that there is none of hears which there are.
func TestNamesMethods(t *testing.T) {
	const want = `it advertises no method "nosuch"; there is "tok"`
	o := outcomeOf(t, "auth-login", `
		initialize> {"id":0,"method":"initialize","params":{}}
		< {"id":0,"result":{"protocolVersion":1,"authMethods":[{"id":"tok","name":"T"}]}}
		authenticate> {"id":1,"method":"authenticate","params":{"methodId":"nosuch"}}
		< {"id":1,"error":{"code":-32602,"message":"no"}}`)
	if o.verdict != NotApplicable || !strings.Contains(o.why, want) {
		t.Errorf("%s: %s; want %s", o.verdict, o.why, want)
	}
}

// An answer without the option that was set does not say that it is something else.
func TestLacksOption(t *testing.T) {
	o := outcomeOf(t, "set-config", `
		new> {"id":1,"method":"session/new","params":{}}
		< {"id":1,"result":{"sessionId":"s","configOptions":[{"id":"m","name":"M","type":"select","currentValue":"x","options":[{"value":"x","name":"X"},{"value":"y","name":"Y"}]}]}}
		set-config-1> {"id":2,"method":"session/set_config_option","params":{"configId":"m","value":"y"}}
		< {"id":2,"result":{"configOptions":[]}}`)
	if want := `the answer lacks the option "m"`; o.verdict != Fail || o.why != want {
		t.Errorf("%s: %s; want %s", o.verdict, o.why, want)
	}
}

// An agent that ends by itself at the end of a scene has kept none of the rules about ends.
func TestEndsByItself(t *testing.T) {
	t.Parallel()
	report := tryScript(t, "on session/new; if $n is 2; reply {\"sessionId\": \"two\"}; exit 9; end\non session/prompt; text 1; exit 9",
		&Options{Only: []string{"exit-on-*", "nothing-left"}, Skip: []string{"exit-on-sigterm"}, ExitTimeout: 2 * time.Second})
	for _, f := range report.Findings {
		if f.Verdict != NotApplicable {
			t.Error(explain(f))
		}
	}
}

// An agent may have one session in a process.
func TestOneSession(t *testing.T) {
	t.Parallel()
	report := tryScript(t, "on session/new; if $n is-not 1; fail -32001 \"One only\"; end\non session/prompt \"Count\"; text 1; wait 2s", &Options{Only: []string{"session-*", "cwd-*", "notification-*", "prompt-while-busy", "cancel-mid-turn", "tool-call-id"}})
	for _, f := range report.Findings {
		if f.Verdict == Fail || f.Verdict == Warn {
			t.Error(explain(f))
		}
	}
	if report.Incomplete != "" {
		t.Error(report.Incomplete)
	}
	// Each cancelled turn has a session of its own.
	if f := finding(t, report, "cancel-mid-turn"); f.Verdict != Pass {
		t.Error(explain(f))
	}
}

// An agent that gives no session any more after what was done to it has not one only.
func TestWedged(t *testing.T) {
	t.Parallel()
	report := tryScript(t, `on session/cancel; set wedged yes
on session/new; if $wedged is yes; fail -32603 "wedged"; end
on session/prompt "Count"; text 1; wait cancel; stop cancelled`, &Options{Only: []string{"cancel-*"}})
	if !strings.Contains(report.Incomplete, "wedged") {
		t.Errorf("incomplete: %q", report.Incomplete)
	}
}

// Where half of the file system is offered, the other half is not.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	report := tryScript(t, `on initialize; set reads $params.clientCapabilities.fs.readTextFile; set writes $params.clientCapabilities.fs.writeTextFile
on session/prompt "Write a file"
  if $reads is true
    request fs/write_text_file {"sessionId": "$session", "path": "$cwd/conformance.txt", "content": "errand was here\n"}
  end`, &Options{Only: []string{"client-fs-not-advertised"}})
	if f := finding(t, report, "client-fs-not-advertised"); f.Verdict != Fail || f.Scene != "tools" {
		t.Error(explain(f))
	}
}
