package faults

import (
	"fmt"
	"slices"
	"strings"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/subagent"
)

func protocolRows() []row {
	return slices.Concat(answerRows(), refusalRows(), updateRows())
}

// prompt is what the agent is asked.
func prompt(text string) func(*scene) {
	return func(s *scene) { s.request.Prompt = subagent.Text(text) }
}

// answerRows are about what a prompt is answered with.
func answerRows() []row {
	return []row{
		{id: "S1", does: "each of the five stop reasons, with text and without", forms: stopForms()},
		{id: "S2", does: "a stop reason that is none: `error`, empty, null, a number, or missing", forms: oddStopForms()},
		{id: "S3", does: "usage with fractions and strings, usage null, no usage", forms: []form{
			{script: "s03-odd-usage", given: prompt("floats"), want: completed, check: usage(`10 25 35`)},
			{name: "strings", script: "s03-odd-usage", given: prompt("strings"), want: completed, check: usage(`10 - -`)},
			{name: "null", script: "s03-odd-usage", given: prompt("null"), want: completed, check: usage("")},
			{name: "an array", script: "s03-odd-usage", given: prompt("array"), want: completed, check: usage("")},
			{name: "absent", script: `on session/prompt; reply {"stopReason": "end_turn"}`, want: completed, check: usage("")},
			{name: "a string", script: `on session/prompt; reply {"stopReason": "end_turn", "usage": "a lot"}`, want: completed, check: usage("")},
			{name: "a number", script: `on session/prompt; reply {"stopReason": "end_turn", "usage": 12}`, want: completed, check: usage("")},
			{name: "negative", script: `on session/prompt; reply {"stopReason": "end_turn", "usage": {"inputTokens": -1, "totalTokens": 7}}`, want: completed, check: usage("-1 - 7")},
			{name: "beyond all numbers", script: `on session/prompt; reply {"stopReason": "end_turn", "usage": {"inputTokens": 1e400, "outputTokens": -1e400, "totalTokens": 18446744073709551616}}`, want: completed, check: usage("- - 1.8446744073709552e+19")},
			{name: "nulls, nested, other names", script: `on session/prompt; reply {"stopReason": "end_turn", "usage": {"inputTokens": null, "outputTokens": {"total": 5}, "totalTokens": [5], "input_tokens": 5, "thoughtTokens": true}}`, want: completed, check: usage("")},
			{name: "strings that are no numbers", script: `on session/prompt; reply {"stopReason": "end_turn", "usage": {"inputTokens": "NaN", "outputTokens": "Infinity", "totalTokens": ""}}`, want: completed, check: usage("")},
			{name: "in an update", script: `on session/prompt; update {"sessionUpdate": "usage_update", "used": "many", "size": 1e400, "cost": {"amount": "1.5", "currency": 7}}; usage used=10 size=100`,
				want: "completed; no text; 2 updates; exit status 0", check: func(s *scene) { check.Equal(s, "context", *s.result.Usage.ContextUsed, 10) }},
		}},
		{id: "S4", does: "the prompt is answered with error -32603 and data", forms: []form{
			{script: "s04-internal-error", want: failed, check: all(code(-32603), says("Internal error"), data(`{"details":"out of cheese","status":500}`))},
			{name: "-32700", script: failing(`{"code": -32700, "message": "Parse error"}`), want: failed, check: all(code(-32700), data(""))},
			{name: "401", script: failing(`{"code": 401, "message": "Unauthorized"}`), want: failed, check: code(401)},
			{name: "0", script: failing(`{"code": 0, "message": "zero"}`), want: failed, check: all(code(0), says("zero"))},
			{name: "a code in a string", script: failing(`{"code": "ECONNREFUSED", "message": "cannot connect"}`), want: failed, check: says("cannot connect")},
			{name: "a fraction for a code", script: failing(`{"code": 429.5, "message": "slow down"}`), want: failed, check: says("slow down")},
			{name: "a huge code", script: failing(`{"code": 1e300, "message": "far out"}`), want: failed, check: says("far out")},
			{name: "no code", script: failing(`{"message": "nothing else"}`), want: failed, check: says("nothing else")},
			{name: "no message", script: failing(`{"code": -32000}`), want: failed, check: code(-32000)},
			{name: "an object for a message", script: failing(`{"code": -32603, "message": {"en": "no"}}`), want: failed, check: code(-32603)},
			{name: "nothing in it", script: failing(`{}`), want: failed},
			{name: "a string", script: failing(`"boom"`), want: failed, check: says("boom")},
			{name: "a string for data", script: failing(`{"code": 1, "message": "m", "data": "why"}`), want: failed, check: data(`"why"`)},
			{name: "data null", script: failing(`{"code": 1, "message": "m", "data": null}`), want: failed, check: data("")},
			{name: "data that is deep", script: failing(`{"code": 1, "message": "m", "data": ` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`), want: failed, check: func(s *scene) {
				// Whoever reads the result must be able to.
				check.Has(s, string(s.result.Error.Data), "left out")
			}},
			{name: "data that is less deep", script: failing(`{"code": 1, "message": "m", "data": [[{"a": [[1]]}]]}`), want: failed, check: data(`[[{"a":[[1]]}]]`)},
			{name: "data of 2 MB", script: `on session/prompt; text "some text"; set big size=2MB; send {"jsonrpc": "2.0", "id": $id, "error": {"code": 1, "message": "m", "data": "$big"}}; never reply`, want: failed,
				check: func(s *scene) {
					if n := len(s.message()); n > 10_000 {
						s.Errorf("a message of %d bytes", n)
					}
				}},
			{name: "a message of 2 MB over many lines", script: `on session/prompt; text "some text"; set big size=2MB; fail -32603 "first\nsecond $big"`, want: failed,
				check: func(s *scene) {
					if n := len(s.message()); n > 10_000 || strings.Contains(s.message(), "\n") {
						s.Errorf("a message of %d bytes", n)
					}
				}},
			{name: "a result beside it", script: `on session/prompt; text "some text"; send {"jsonrpc": "2.0", "id": $id, "result": null, "error": {"code": 5, "message": "m"}}; never reply`, want: failed, check: code(5)},
		}},
		{id: "S5", does: "after our cancel answers the prompt with error -32800, or with end_turn", forms: cancelledForms()},
		{id: "S6", does: "answers with error -32800 although nobody has cancelled", forms: []form{
			{script: "s06-cancelled-unasked", want: failed, check: code(-32800)},
			{name: "without text", script: "on session/prompt; fail -32800 \"Request cancelled\"", want: "error: agent at session/prompt; no text; exit status 0", check: code(-32800)},
			{name: "at session/new", script: "on session/new; fail -32800 \"Request cancelled\"", want: "not started: agent at session/new", check: says("-32800")},
			{name: "at initialize", script: "on initialize; fail -32800 \"Request cancelled\"", want: "not started: agent at initialize", check: says("-32800")},
		}},
	}
}

const (
	completed = "completed; no text; exit status 0"
	failed    = `error: agent at session/prompt; "some text"; 1 updates; exit status 0`
)

// failing is an agent that answers with an error of any shape.
func failing(err string) string {
	return `on session/prompt; text "some text"; send {"jsonrpc": "2.0", "id": $id, "error": ` + err + `}; never reply`
}

// stopForms are the stop reasons of the protocol.
func stopForms() []form {
	var forms []form
	for _, r := range []struct{ reason, outcome string }{
		{"end_turn", "completed"}, {"max_tokens", "max_tokens"}, {"refusal", "refusal"}, {"cancelled", "aborted"},
		{"max_turn_requests", "error: remote_limit at session/prompt"},
	} {
		for _, says := range []struct {
			name, src, text string
			empty           bool
		}{
			{"with text", "", `"some text"; 1 updates`, false},
			{"without", "", "no text", true},
			{"thoughts only", "thought hm", "no text; 1 updates", true},
			{"blanks only", "text \" \\n\"", `" \n"; 1 updates`, true},
			{"a tool call only", "tool c1 Build status=completed", "no text; 1 updates", true},
		} {
			f := form{
				name: r.reason + ", " + says.name, script: "s01-stop-reasons", given: prompt(r.reason + strings.TrimSuffix(" "+says.name, " without")),
				want: r.outcome + "; " + says.text + "; exit status 0",
				check: func(s *scene) {
					check.Equal(s, "stop reason", *s.result.StopReason, r.reason)
					check.Equal(s, "empty", s.result.Empty, says.empty)
					check.Equal(s, "success", s.result.Stop.Success(), r.reason == "end_turn")
					check.Equal(s, "unasked cancel told", strings.Contains(fmt.Sprint(s.result.Warnings), "nobody had cancelled"), r.reason == "cancelled")
				},
			}
			if says.src != "" {
				f.script, f.given = "on session/prompt; "+says.src+"; stop "+r.reason, nil
			}
			forms = append(forms, f)
		}
	}
	return forms
}

// oddStopForms are answers to a prompt without a stop reason of the protocol.
func oddStopForms() []form {
	const want = `error: protocol at session/prompt; "some text"; 1 updates; exit status 0`
	raw := func(reason string) func(*scene) {
		return func(s *scene) {
			s.Helper()
			got := "none"
			if s.result.StopReason != nil {
				got = *s.result.StopReason
			}
			check.Equal(s, "stop reason", got, reason)
		}
	}
	var forms []form
	for _, p := range []struct{ prompt, reason, says string }{
		{"error", "error", `unknown stop reason "error"`}, {"empty", "", `stop reason ""`}, {"null", "none", "without a stop reason"},
		{"missing", "none", "without a stop reason"}, {"number", "42", `"42"`}, {"no object", "none", "without a stop reason"},
	} {
		forms = append(forms, form{name: p.prompt, script: "s02-odd-stop-reasons", given: prompt(p.prompt), want: want, check: all(raw(p.reason), says(p.says))})
	}
	for _, a := range []struct{ name, reply, reason string }{
		{"an object", `{"stopReason": {"type": "end_turn"}}`, `{"type":"end_turn"}`},
		{"an array", `{"stopReason": ["end_turn"]}`, `["end_turn"]`},
		{"true", `{"stopReason": true}`, "true"},
		{"capitals", `{"stopReason": "END_TURN"}`, "END_TURN"},
		{"blanks", `{"stopReason": " end_turn "}`, " end_turn "},
		{"of another protocol", `{"stopReason": "stop"}`, "stop"},
		{"an outcome of ours", `{"stopReason": "completed"}`, "completed"},
		{"control characters", `{"stopReason": "end\u0000\u001b[2J\n"}`, "end\x00\x1b[2J\n"},
		{"under another name", `{"stop_reason": "end_turn"}`, "none"},
		{"a string for a result", `"end_turn"`, "none"},
		{"a list for a result", `["end_turn"]`, "none"},
		{"false for a result", `false`, "none"},
	} {
		forms = append(forms, form{name: a.name, script: `on session/prompt; text "some text"; reply ` + a.reply, want: want, check: raw(a.reason)})
	}
	return append(forms, form{name: "a very long one", script: `on session/prompt; text "some text"; set r size=100KB; reply {"stopReason": "$r"}`, want: want, check: func(s *scene) {
		if n := len(s.message()); n > 10_000 {
			s.Errorf("a message of %d bytes", n)
		}
	}})
}

// cancelledForms are ways to answer a prompt that was cancelled.
func cancelledForms() []form {
	const want = `aborted; "working"; 1 updates; exit status 0`
	forms := []form{
		{script: "s05-cancelled-by-error", cancelOn: "working", want: want},
		{name: "end_turn", script: "s05-end-turn-after-cancel", cancelOn: "working", want: want, check: func(s *scene) { check.Equal(s, "raw", *s.result.StopReason, "end_turn") }},
		{name: "last words", script: "on session/prompt; text working; wait cancel; text \" and stopped\"; stop cancelled", cancelOn: "working", want: `aborted; "working and stopped"; 2 updates; exit status 0`},
		{name: "a tool call that is completed meanwhile", script: "on session/prompt; tool c1 Build status=in_progress; text working; wait cancel; tool-update c1 status=completed; stop cancelled", cancelOn: "working", want: `aborted; "working"; 3 updates; exit status 0`,
			check: func(s *scene) { check.Equal(s, "status of the call", s.result.ToolCalls[0].Status, "completed") }},
	}
	for name, answer := range map[string]string{
		"refusal": "stop refusal", "max_tokens": "stop max_tokens", "max_turn_requests": "stop max_turn_requests", "an unknown reason": "stop interrupted",
		"-32603": `fail -32603 "AbortError: the operation was aborted"`, "-32000": `fail -32000 "Authentication required"`, "null": "reply null", "nothing in it": "reply {}",
	} {
		forms = append(forms, form{name: name, script: "on session/prompt; text working; wait cancel; " + answer, cancelOn: "working", want: want, check: func(s *scene) {
			check.Equal(s, "no error", s.result.Error == nil, true)
		}})
	}
	slices.SortFunc(forms[4:], func(a, b form) int { return strings.Compare(a.name, b.name) })
	return forms
}

// refusalRows are about agents that refuse to begin.
func refusalRows() []row {
	const auth = "not started: auth_required at session/new"
	return []row{
		{id: "S7", does: "answers session/new with error -32000 and ways to log in", forms: []form{
			{script: "s07-auth-required", want: auth, check: says("key", "login", "log in")},
			{name: "methods in initialize only", script: `on initialize; answer {"authMethods": [{"id": "oauth", "name": "OAuth"}]}
				on session/new; fail -32000 "Authentication required"`, want: auth, check: says("oauth")},
			{name: "methods in data only", script: `on session/new; fail -32000 "Please log in" {"authMethods": [{"id": "oauth", "name": "OAuth"}]}`, want: auth, check: says("oauth", "Please log in")},
			{name: "methods null", script: `on initialize; answer {"authMethods": null}
				on session/new; fail -32000 "Authentication required" {"authMethods": null}`, want: auth, check: says("Authentication required")},
			{name: "no methods at all", script: `on initialize; reply {"protocolVersion": 1}
				on session/new; fail -32000 "Authentication required"`, want: auth},
			{name: "methods of odd shapes", script: `on initialize; reply {"protocolVersion": 1, "authMethods": ["key", 7, null, {"id": null}, {"id": ""}, {"name": "no id"}, {"id": "good"}, [{}]]}
				on session/new; fail -32000 "Authentication required" {"authMethods": {"id": "not in a list"}}`, want: auth, check: says("good")},
			{name: "methods a string", script: `on initialize; reply {"protocolVersion": 1, "authMethods": "all"}
				on session/new; fail -32000 "Authentication required" "no"`, want: auth},
			{name: "four thousand methods", script: manyMethods(4_000) + "\non session/new; fail -32000 \"Authentication required\"", want: auth, check: func(s *scene) {
				if n := len(s.message()); n > 10_000 {
					s.Errorf("a message of %d bytes", n)
				}
			}},
			{name: "at initialize", script: `on initialize; fail -32000 "Authentication required" {"authMethods": [{"id": "key"}]}`, want: "not started: auth_required at initialize", check: says("key")},
			{name: "at the prompt", script: `on session/prompt; text "some text"; fail -32000 "Authentication required: the token has expired"`, want: `error: auth_required at session/prompt; "some text"; 1 updates; exit status 0`, check: says("expired")},
			{name: "and dies", script: `on session/new; stderr "log in first\n"; fail -32000 "Authentication required" {"authMethods": [{"id": "key"}]}; exit 1`, want: auth, check: says("key", "log in first")},
			{name: "which it does not heed then", given: deafTo(toEOF), script: "on session/new; fail -32000 \"Authentication required\"\non eof; wait forever", want: auth},
			{name: "by another code", script: `on session/new; fail -32603 "no session" {"authMethods": [{"id": "key"}]}`, want: auth, check: says("key")},
			{name: "a code that means something else", script: `on session/new; fail -32000 "the disk is full"
				on initialize; reply {"protocolVersion": 1}`, want: "not started: agent at session/new", check: says("the disk is full")},
		}},
		{id: "S8", does: "speaks version 2, 0, \"2025-01-01\", or names none", forms: versionForms()},
	}
}

func manyMethods(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,{"id":"method-%d"}`, i)
	}
	return `on initialize; reply {"protocolVersion": 1, "authMethods": [` + b.String()[1:] + "]}"
}

// versionForms are answers to initialize with a version that is not ours.
func versionForms() []form {
	const want = "not started: version at initialize"
	var forms []form
	for _, e := range []struct{ example, version string }{{"two", "2"}, {"zero", "0"}, {"date", `"2025-01-01"`}, {"missing", "none"}} {
		forms = append(forms, form{name: e.example, script: "s08-version-" + e.example, want: want, check: says("version "+e.version+",", "speaks 1")})
	}
	forms[0].name = ""
	for _, version := range []string{`"1"`, `1.5`, `-1`, `65536`, `1e400`, `true`, `null`, `[1]`, `{"major": 1}`, `""`, `"v1"`} {
		forms = append(forms, form{name: version, script: `on initialize; reply {"protocolVersion": ` + version + `, "agentCapabilities": {}}`, want: want,
			check: says("version "+strings.ReplaceAll(version, ": ", ":")+",", "speaks 1")})
	}
	return append(forms,
		form{name: "one, with a point", script: `on initialize; reply {"protocolVersion": 1.0}`, want: completed},
		form{name: "under another name", script: `on initialize; reply {"protocol_version": 1}`, want: want, check: says("none")},
		form{name: "no object", script: `on initialize; reply "1"`, want: "not started: protocol at initialize", check: says(`"1"`)},
		form{name: "nothing but null", script: `on initialize; reply null`, want: want, check: says("none")},
		form{name: "and is deaf", given: deafTo(toEOF, toTerm), script: "ignore TERM\non initialize; reply {\"protocolVersion\": 2}\non eof; wait forever", want: want},
		form{name: "and no session is asked for", script: "on initialize; reply {\"protocolVersion\": 2}\non session/new; write asked", want: want, check: func(s *scene) { check.Equal(s, "asked", s.file("asked"), "") }},
	)
}

// code checks the code that an agent's error had.
func code(want int) func(*scene) {
	return func(s *scene) {
		s.Helper()
		if c := s.result.Error.Code; c == nil || *c != want {
			s.Errorf("code %v, want %d", c, want)
		}
		check.Equal(s, "retryable", s.result.Error.Retryable, false)
	}
}

// data checks the data of an agent's error, empty for none.
func data(want string) func(*scene) {
	return func(s *scene) {
		s.Helper()
		check.Equal(s, "data", string(s.result.Error.Data), want)
	}
}

// usage checks input, output and total tokens, with a dash for null; empty: there is
// no usage.
func usage(want string) func(*scene) {
	return func(s *scene) {
		s.Helper()
		got := ""
		if u := s.result.Usage; u != nil {
			for _, n := range []*float64{u.InputTokens, u.OutputTokens, u.TotalTokens} {
				if n == nil {
					got += " -"
				} else {
					got += fmt.Sprint(" ", *n)
				}
			}
		}
		check.Equal(s, "usage", strings.TrimSpace(got), want)
	}
}
