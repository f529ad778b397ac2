package conform

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client/transcript"
)

// record makes a recording of lines: "label> FRAME" is ours, "< FRAME" the agent's, and
// "label! NOTE" a mark. Shorthands stand for what most frames say.
func record(scene, lines string) *recording {
	r := &recording{scene: scene}
	short := strings.NewReplacer(
		"PROMPT", `{"id":9,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`,
		"END", `{"id":9,"result":{"stopReason":"end_turn"}}`,
		"ASK", `{"id":"p","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[{"optionId":"y","name":"Y","kind":"allow_once"},{"optionId":"n","name":"N","kind":"reject_once"}]}}`,
		"YES", `{"id":"p","result":{"outcome":{"outcome":"selected","optionId":"y"}}}`,
		"NO", `{"id":"p","result":{"outcome":{"outcome":"selected","optionId":"n"}}}`,
		"SAY", `{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"pong"}}}}`,
		"CALL ", `{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"t",`,
		"UPDATE ", `{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c",`,
		";;", "}}}",
	)
	for at, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		line = strings.TrimSpace(line)
		e := transcript.Entry{At: time.Duration(at) * time.Millisecond, From: transcript.FromAgent}
		i := strings.IndexAny(line, "<>!")
		label := line[:i]
		if line[i] == '!' {
			r.marks = append(r.marks, mark{label: label, index: len(r.entries), note: strings.TrimSpace(line[i+1:])})
			continue
		}
		if line[i] == '>' {
			e.From = transcript.FromClient
		}
		e.Frame = json.RawMessage(short.Replace(strings.TrimSpace(line[i+1:])))
		if label != "" {
			r.marks = append(r.marks, mark{label: label, index: len(r.entries)})
		}
		r.entries = append(r.entries, e)
	}
	return r
}

// TestJudges has what the agents in testdata/break do not do.
func TestJudges(t *testing.T) {
	const (
		asked = `
			answered> PROMPT
			< CALL "status":"pending";;
			< ASK
			answered-cancel> {"method":"session/cancel","params":{"sessionId":"s"}}`
		two = `
			new> {"id":1,"method":"session/new","params":{}}
			< {"id":1,"result":{"sessionId":"s"}}
			new-two> {"id":2,"method":"session/new","params":{}}
			< {"id":2,"result":{"sessionId":"s2"}}
			one> PROMPT
			< SAY
			< END
			two> {"id":10,"method":"session/prompt","params":{"sessionId":"s2"}}`
		twoSays = `
			< {"method":"session/update","params":{"sessionId":"s2","update":{"sessionUpdate":"agent_message_chunk"}}}`
		twoEnds = `
			< {"id":10,"result":{"stopReason":"end_turn"}}`
		three = `
			three> {"id":11,"method":"session/prompt","params":{"sessionId":"s2"}}`
		threeEnds = `
			< {"id":11,"result":{"stopReason":"end_turn"}}`
		stopped = `
			< {"id":9,"result":{"stopReason":"cancelled"}}`
	)
	for _, tt := range []struct {
		name, rule string
		want       Verdict
		lines      string
	}{
		{"back to pending", "tool-call-status", Fail, `
			< CALL "status":"in_progress";;
			< UPDATE "status":"pending";;`},
		{"completed, and then failed", "tool-call-status", Fail, `
			< CALL "status":"completed";;
			< UPDATE "status":"failed";;`},
		{"completed twice", "tool-call-status", Pass, `
			< CALL "status":"completed";;
			< UPDATE "status":"completed";;`},
		{"an unknown status in between", "tool-call-status", Pass, `
			< CALL "status":"pending";;
			< UPDATE "status":"approved";;
			< UPDATE "status":"completed";;`},
		{"one call in each of two sessions", "tool-call-id", NotApplicable, `
			< CALL "status":"completed";;
			< {"method":"session/update","params":{"sessionId":"other","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"t"}}}`},
		{"the same id in another session", "tool-call-id", Pass, `
			< CALL "status":"completed";;
			< {"method":"session/update","params":{"sessionId":"other","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"t"}}}
			< {"method":"session/update","params":{"sessionId":"other","update":{"sessionUpdate":"tool_call","toolCallId":"d","title":"t"}}}`},
		{"announced in another session", "tool-call-announced", Fail, `
			< {"method":"session/update","params":{"sessionId":"other","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"t"}}}
			< UPDATE "status":"completed";;`},
		{"a call without a status is pending", "tool-call-ended", Fail, `
			a> PROMPT
			< CALL "kind":"read";;
			< END`},
		{"its last update says nothing of the status", "tool-call-ended", Pass, `
			a> PROMPT
			< CALL "status":"completed";;
			< UPDATE "content":[];;
			< END`},
		{"the calls of a cancelled turn", "tool-call-ended", NotApplicable, `
			a> PROMPT
			< CALL "status":"pending";;
			b> {"method":"session/cancel","params":{"sessionId":"s"}}
			< {"id":9,"result":{"stopReason":"cancelled"}}`},
		{"a relative path in a permission request", "tool-call-path", Fail, `
			< {"id":1,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"c","locations":[{"path":"a.go"}]}}}`},
		{"a relative path in a diff", "tool-call-path", Fail, `
			< CALL "content":[{"type":"diff","path":"a.go","newText":""}];;`},
		{"a path of Windows", "tool-call-path", Pass, `
			< CALL "locations":[{"path":"C:\\a.go"}];;`},
		{"a terminal shown again after its release", "tool-call-terminal", Pass, `
			< {"id":1,"method":"terminal/create","params":{}}
			> {"id":1,"result":{"terminalId":"t"}}
			< CALL "content":[{"type":"terminal","terminalId":"t"}];;
			< {"id":2,"method":"terminal/release","params":{"terminalId":"t"}}
			< UPDATE "content":[{"type":"terminal","terminalId":"t"}];;`},
		{"a terminal first shown after its release", "tool-call-terminal", Fail, `
			< {"id":1,"method":"terminal/create","params":{}}
			> {"id":1,"result":{"terminalId":"t"}}
			< {"id":2,"method":"terminal/release","params":{"terminalId":"t"}}
			< UPDATE "content":[{"type":"terminal","terminalId":"t"}];;`},
		{"a call on a terminal after its release", "client-terminal-known", Fail, `
			< {"id":1,"method":"terminal/create","params":{}}
			> {"id":1,"result":{"terminalId":"t"}}
			< {"id":2,"method":"terminal/release","params":{"terminalId":"t"}}
			< {"id":3,"method":"terminal/output","params":{"terminalId":"t"}}`},
		{"a relative directory of a command", "client-path", Fail, `
			< {"id":1,"method":"terminal/create","params":{"command":"ls","cwd":"src"}}`},
		{"it did not wait for the answer", "permission-awaited", Fail, `
			allow> PROMPT
			< ASK
			< UPDATE "status":"completed";;
			> YES
			< END`},
		{"the turn ended before the answer", "permission-awaited", Fail, `
			allow> PROMPT
			< ASK
			< END
			> YES`},
		{"the tool was invoked, and failed", "permission-allowed", Pass, `
			allow> PROMPT
			< ASK
			> YES
			< UPDATE "status":"failed";;
			< END
			allow/files!`},
		{"nothing is reported, and it is done", "permission-allowed", Pass, `
			allow> PROMPT
			< ASK
			> YES
			< END
			allow/files! conformance.txt`},
		{"an error after an allow", "permission-allowed", Fail, `
			allow> PROMPT
			< ASK
			> YES
			< {"id":9,"error":{"code":-32603,"message":"no"}}`},
		{"the call is completed after a no", "permission-rejected", Fail, `
			reject> PROMPT
			< ASK
			> NO
			< UPDATE "status":"completed";;
			< END`},
		{"the prompt fails with its permission request", "permission-error", Fail, `
			error> PROMPT
			< ASK
			> {"id":"p","error":{"code":-32603,"message":"no"}}
			< {"id":9,"error":{"code":-32603,"message":"no"}}
			error-after> {"id":10,"method":"session/prompt","params":{"sessionId":"s"}}
			< {"id":10,"result":{"stopReason":"end_turn"}}`},
		{"nothing to say no with", "permission-rejected", NotApplicable, `
			reject> PROMPT
			< ASK
			> {"id":"p","result":{"outcome":{"outcome":"cancelled"}}}
			< END`},
		{"cancelled after our outcome said so", "prompt-cancelled-unasked", NotApplicable, `
			reject> PROMPT
			< ASK
			> {"id":"p","result":{"outcome":{"outcome":"cancelled"}}}
			< {"id":9,"result":{"stopReason":"cancelled"}}`},
		{"no stop reason", "prompt-stop-reason", Fail, `
			a> PROMPT
			< {"id":9,"result":{}}`},
		{"no result", "prompt-stop-reason", Fail, `
			a> PROMPT
			< {"id":9,"result":null}`},
		{"over by itself when it was cancelled", "cancel-mid-turn", NotApplicable, `
			mid> PROMPT
			mid-cancel> {"method":"session/cancel","params":{"sessionId":"s"}}
			< END
			control> {"id":10,"method":"session/prompt","params":{"sessionId":"s2"}}
			< {"id":10,"result":{"stopReason":"end_turn"}}`},
		{"another session's cancel", "cancel-mid-turn", NotApplicable, `
			mid> PROMPT
			mid-cancel> {"method":"session/cancel","params":{"sessionId":"s2"}}
			< END`},
		{"an error after a cancel", "cancel-mid-turn", Fail, `
			mid> PROMPT
			mid-cancel> {"method":"session/cancel","params":{"sessionId":"s"}}
			< {"id":9,"error":{"code":-32603,"message":"AbortError"}}`},
		{"refuses, by its id, an answer that nobody waits for", "jsonrpc-id", Pass, `
			> {"id":"stray","result":{}}
			< {"id":"stray","error":{"code":-32600,"message":"no"}}`},
		{"answers an answer", "jsonrpc-id", Fail, `
			> {"id":"stray","result":{}}
			< {"id":"stray","result":{}}`},
		{"an error before there is its id", "jsonrpc-id", Fail, `
			< {"id":"stray","error":{"code":-32600,"message":"no"}}
			> {"id":"stray","result":{}}`},
		{"refuses an answer after a line that is no JSON", "bad-json-id", NotApplicable, `
			> {"id":"stray","result":{}}
			bad-json> {"id":
			< {"id":"stray","error":{"code":-32600,"message":"no"}}
			odd-frame!`},
		{"the id of an old request for a line that is no JSON", "bad-json-id", Fail, `
			a> {"id":1,"method":"initialize","params":{}}
			< {"id":1,"result":{"protocolVersion":1}}
			bad-json> {"id":
			< {"id":1,"error":{"code":-32700,"message":"Parse error"}}
			odd-frame!`},
		{"an old request that is answered again after a line that is no JSON", "bad-json-id", NotApplicable, `
			a> {"id":1,"method":"_x","params":{}}
			< {"id":1,"error":{"code":-32601,"message":"no"}}
			bad-json> {"id":
			< {"id":1,"error":{"message":"no","code":-32601}}
			odd-frame!`},
		{"a late answer after a line that is no JSON", "bad-json-id", NotApplicable, `
			a> {"id":1,"method":"_x","params":{}}
			bad-json> {"id":
			< {"id":1,"error":{"code":-32601,"message":"no"}}
			odd-frame!`},
		{"a permission request that is none", "permission-shape", Fail, `
			< {"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[]}}`},
		{"an update that wants an answer", "update-shape", Fail, `
			< {"id":1,"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[]}}}`},
		{"an update with the id null", "update-shape", Pass, `
			< {"id":null,"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[]}}}`},
		{"a file written without a word back", "client-fs-shape", Fail, `
			< {"method":"fs/write_text_file","params":{"sessionId":"s","path":"/a","content":""}}`},
		{"a command without a word back", "client-terminal-shape", Fail, `
			< {"method":"terminal/create","params":{"sessionId":"s","command":"ls"}}`},
		{"a command without a word back, unadvertised", "client-terminal-not-advertised", Fail, `
			< {"method":"terminal/create","params":{"sessionId":"s","command":"ls"}}`},
		{"done after a cancel, and reported", "permission-rejected", Fail, asked + `
			> {"id":"p","result":{"outcome":{"outcome":"cancelled"}}}
			< UPDATE "status":"completed";;` + stopped + `
			answered/files!`},
		{"done after a cancel", "permission-rejected", Fail, asked + `
			> {"id":"p","result":{"outcome":{"outcome":"cancelled"}}}` + stopped + `
			answered/files! conformance.txt`},
		{"done after a cancel, without an answer", "permission-rejected", Fail, strings.ReplaceAll(asked, "answered", "unanswered") + stopped + `
			unanswered/files! conformance.txt`},
		{"not done after a cancel", "permission-rejected", NotApplicable, asked + `
			> {"id":"p","result":{"outcome":{"outcome":"cancelled"}}}
			< UPDATE "status":"failed";;` + stopped + `
			answered/files!`},
		{"an end without a word", "prompt-text", NotApplicable, `
			text> PROMPT
			< {"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"usage_update"}}}
			< END
			again> PROMPT
			< SAY
			< END`},
		{"a word in another session", "prompt-text", NotApplicable, `
			text> PROMPT
			< {"method":"session/update","params":{"sessionId":"s2","update":{"sessionUpdate":"agent_message_chunk"}}}
			< END`},
		{"a word", "prompt-text", Pass, `
			text> PROMPT
			< SAY
			< END`},
		{"a word after the end", "prompt-text", Pass, `
			text> PROMPT
			< END
			< SAY`},
		{"a question", "prompt-text", Pass, `
			text> PROMPT
			< ASK
			> NO
			< END`},
		{"again without a word", "prompt-again", NotApplicable, `
			text> PROMPT
			< SAY
			< END
			again> PROMPT
			< END`},
		{"without a word, and again with one", "prompt-again", NotApplicable, `
			text> PROMPT
			< END
			again> PROMPT
			< SAY
			< END`},
		{"again with a word", "prompt-again", Pass, `
			text> PROMPT
			< SAY
			< END
			again> PROMPT
			< SAY
			< END`},
		{"an image, and then nothing but ends", "prompt-not-advertised", NotApplicable, `
			initialize> {"id":0,"method":"initialize","params":{}}
			< {"id":0,"result":{"protocolVersion":1}}
			image> PROMPT
			< END
			again> PROMPT
			< END`},
		{"an image, and then a word", "prompt-not-advertised", Pass, `
			initialize> {"id":0,"method":"initialize","params":{}}
			< {"id":0,"result":{"protocolVersion":1}}
			image> PROMPT
			< END
			again> PROMPT
			< SAY
			< END`},
		{"no cancel has an effect, idle", "cancel-idle", NotApplicable, `
			idle-cancel> {"method":"session/cancel","params":{"sessionId":"s"}}
			idle-after> PROMPT
			< END`},
		{"no cancel has an effect, late", "cancel-after-turn", NotApplicable, `
			late-cancel> {"method":"session/cancel","params":{"sessionId":"s"}}
			late-after> PROMPT
			< END
			early> PROMPT
			early-cancel> {"method":"session/cancel","params":{"sessionId":"s"}}
			< END`},
		{"another cancel has an effect", "cancel-idle", Pass, `
			idle-cancel> {"method":"session/cancel","params":{"sessionId":"s"}}
			idle-after> PROMPT
			< END
			mid> PROMPT
			mid-cancel> {"method":"session/cancel","params":{"sessionId":"s"}}` + stopped},
		{"what is said in the first session whichever is prompted", "update-session", Fail, two + `
			< SAY` + twoEnds + three + `
			< SAY` + threeEnds},
		{"a late word of the turn before", "update-session", Pass, two + `
			< SAY` + twoEnds},
		{"a late word of another turn", "update-session", Pass, two + `
			< SAY` + twoSays + twoEnds},
		{"the title of another session", "update-session", Pass, two + `
			< {"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"session_info_update"}}}` + twoEnds},
		{"two turns at once", "update-session", Pass, two + `
			one-more> PROMPT
			< SAY` + twoEnds},
		{"a question in the first session whichever is prompted", "update-session", Fail, two + twoSays + `
			< ASK` + twoEnds},
		{"a question in a session that there is not", "update-session", Fail, `
			one> PROMPT
			< ASK
			< END`},
		{"a file of a session that there is not", "update-session", Fail, `
			< {"id":1,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/a"}}`},
		{"what an extension calls a session", "update-session", NotApplicable, `
			< {"id":1,"method":"_x/session","params":{"sessionId":"x"}}`},
		{"a notification answered after the next request", "notification-unanswered", Fail, `
			unknown-notification> {"method":"_x"}
			after-notification> {"id":2,"method":"session/new","params":{}}
			< {"id":2,"result":{"sessionId":"s"}}
			< {"id":null,"error":{"code":-32601,"message":"no"}}
			> {"id":3,"method":"_x"}`},
		{"a title after the answer", "update-after-turn", NotApplicable, `
			a> PROMPT
			< END
			< {"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"session_info_update"}}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, rule := range Rules() {
				if rule.ID != tt.rule {
					continue
				}
				scene := "content"
				if len(rule.scenes) > 0 {
					scene = rule.scenes[0]
				}
				if o := rule.judge(record(scene, tt.lines)); o.verdict != tt.want {
					t.Errorf("%s: %s: %s, want %s", rule.ID, o.verdict, o.why, tt.want)
				}
				return
			}
			t.Errorf("there is no rule %s", tt.rule)
		})
	}
}

// TestCancelWithoutPermission: where there was nothing to answer, it is said that nothing was
// asked, and not that the turn was short.
func TestCancelWithoutPermission(t *testing.T) {
	for _, tt := range []struct{ rule, lines, want string }{
		{"cancel-permission", "answered> PROMPT\n< END", noPermission},
		{"cancel-permission-unanswered", "unanswered> PROMPT\n< END", noPermission},
		{"cancel-permission", "answered> PROMPT\n" + `< {"id":9,"error":{"code":-32603,"message":"no"}}`, `session/prompt was answered with an error: "no" (-32603)`},
		{"cancel-mid-turn", "mid> PROMPT\n< END", tooShort},
	} {
		if o := outcomeOf(t, tt.rule, tt.lines); o.verdict != NotApplicable || o.why != tt.want {
			t.Errorf("%s: %s: %s, want %s", tt.rule, o.verdict, o.why, tt.want)
		}
	}
}

// TestDeadAtOnce: what needs no answer may be the end of an agent before the next request is
// written, and is to blame for it; not so what was written to nobody.
func TestDeadAtOnce(t *testing.T) {
	for _, tt := range []struct{ rule, what, then, line string }{
		{"bad-json", "bad-json", "after-bad-json", `{"id":`},
		{"odd-frames", "odd-frame", "after-odd-frames", `{}`},
		{"stray-answer", "stray-answer", "after-stray", `{"id":"stray","result":{}}`},
		{"notification-unknown", "unknown-notification", "after-notification", `{"method":"_x"}`},
		{"cancel-idle", "idle-cancel", "idle-after", `{"method":"session/cancel","params":{"sessionId":"s"}}`},
		{"cancel-after-turn", "late-cancel", "late-after", `{"method":"session/cancel","params":{"sessionId":"s"}}`},
	} {
		what, then := "\n"+tt.what+"> "+tt.line, "\n"+tt.then+"> PROMPT\n"+tt.then+"/unanswered! gone\n< GONE exit"
		for lines, want := range map[string]Verdict{what + "\nover!" + then: Fail, "\nover!" + what + then: NotApplicable} {
			if o := outcomeOf(t, tt.rule, `> {"id":1,"method":"initialize"}`+lines); o.verdict != want {
				t.Errorf("%s: %s: %s, want %s of%s", tt.rule, o.verdict, o.why, want, lines)
			}
		}
	}
}

// TestCancelShown: a turn that ended otherwise with a permission open is shown with what was
// asked, and what was answered.
func TestCancelShown(t *testing.T) {
	o := outcomeOf(t, "cancel-permission", `
		answered> PROMPT
		< CALL "status":"pending";;
		< ASK
		answered-cancel> {"method":"session/cancel","params":{"sessionId":"s"}}
		> {"id":"p","result":{"outcome":{"outcome":"cancelled"}}}
		< END`)
	var shown []time.Duration
	for _, e := range o.entries {
		shown = append(shown, e.At/time.Millisecond)
	}
	if diff := cmp.Diff([]time.Duration{0, 2, 3, 4, 5}, shown); o.verdict != Fail || diff != "" {
		t.Errorf("%s: %s (-want +got):\n%s", o.verdict, o.why, diff)
	}
}
