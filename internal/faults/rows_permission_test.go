package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/permission"
)

func permissionRows() []row {
	return slices.Concat(cancelRows()[:1], optionRows(), askRows(), cancelRows()[1:])
}

const (
	// yesNo are the usual two options, for the block of a permission.
	yesNo = "\noption yes allow_once Yes\noption no reject_once No\n"
	// once asks, and told tells what came of it.
	once = "on session/prompt\npermission c1 \"Write a.txt\" kind=edit path=a.txt\n"
	told = "\nend\ntext \"$outcome $option\""
)

var (
	allow  = policy(permission.Allow())
	reject = policy(permission.Reject())
)

// asked is the summary of a turn with one question.
func asked(answer string, decision permission.Outcome) string {
	return fmt.Sprintf("completed; %q; 1 updates; %s; exit status 0", answer, decision)
}

// optionRows are about what is offered.
func optionRows() []row {
	const (
		allowed   = permission.Allowed
		denied    = permission.Denied
		cancelled = permission.Cancelled
	)
	options := func(lines ...string) string { return once + "option " + strings.Join(lines, "\noption ") + told }
	return []row{
		{id: "P2", does: "offers allow_once and reject_once to a policy that rejects", forms: []form{
			{script: "p02-allow-and-reject-once", given: reject, want: asked("selected no", denied), check: decided("c1 no reject false")},
			{name: "no policy is that one", script: "p02-allow-and-reject-once", want: asked("selected no", denied), check: decided("c1 no reject false")},
			{name: "allowed", script: "p02-allow-and-reject-once", given: allow, want: asked("selected yes", allowed), check: decided("c1 yes allow true")},
			{name: "the labels say the opposite", given: reject, script: options(`a allow_once "Reject"`, `b reject_once "Allow"`), want: asked("selected b", denied)},
			{name: "the ids say the opposite", given: reject, script: options(`reject_once allow_once "Yes"`, `allow_once reject_once "No"`), want: asked("selected allow_once", denied)},
			{name: "reject_always only", given: reject, script: options(`a allow_once "Yes"`, `r reject_always "Never"`), want: asked("selected r", denied)},
			{name: "reject_always first", given: reject, script: options(`r reject_always "Never"`, `a allow_once "Yes"`, `n reject_once "No"`), want: asked("selected n", denied)},
			{name: "two rejects of a kind", given: reject, script: options(`a allow_once "Yes"`, `n reject_once "No"`, `m reject_once "No, and why"`), want: asked("selected n", denied)},
			{name: "and runs it all the same", given: reject, script: once + yesNo + "end\ntool-update c1 status=completed\ntext done", want: `completed; "done"; 2 updates; denied; exit status 0`,
				check: func(s *scene) {
					check.Equal(s, "status", s.result.ToolCalls[0].Status, "completed")
					check.Equal(s, "permitted", *s.result.ToolCalls[0].Permitted, false)
				}},
			{name: "and takes the reject for a cancel", given: reject, script: once + yesNo + "when rejected\nstop cancelled\nend", want: "aborted; no text; denied; exit status 0", check: warns("nobody had cancelled")},
			{name: "and takes the reject for an error", given: reject, script: once + yesNo + "when rejected\nfail -32603 \"permission denied\"\nend", want: "error: agent at session/prompt; no text; denied; exit status 0"},
		}},
		{id: "P3", does: "options in odd order: allow_always, reject_once, allow_once", forms: []form{
			{script: "p03-odd-order", given: allow, want: asked("selected once", allowed), check: decided("c1 once allow true")},
			{name: "rejected", script: "p03-odd-order", given: reject, want: asked("selected no", denied)},
			{name: "the other way round", given: allow, script: options(`no reject_once "No"`, `once allow_once "Once"`, `never reject_always "Never"`, `always allow_always "Always"`), want: asked("selected once", allowed)},
			{name: "the other way round, rejected", given: reject, script: options(`never reject_always "Never"`, `always allow_always "Always"`, `once allow_once "Once"`, `no reject_once "No"`), want: asked("selected no", denied)},
		}},
		{id: "P4", does: "offers nothing but allow kinds to a policy that rejects", forms: []form{
			{script: "p04-only-allow", given: reject, want: asked("cancelled ", cancelled), check: decided("c1 - reject: no reject option false")},
			{name: "allowed", script: "p04-only-allow", given: allow, want: asked("selected once", allowed)},
			{name: "only reject kinds, allowed", given: allow, script: options(`no reject_once "No"`, `never reject_always "Never"`), want: asked("cancelled ", cancelled)},
			{name: "one, of allow_always", given: reject, script: options(`a allow_always "OK"`), want: asked("cancelled ", cancelled)},
			{name: "an id of both kinds", given: reject, script: options(`x allow_once "Yes"`, `x reject_once "No"`), want: asked("cancelled ", cancelled)},
		}},
		{id: "P5", does: "offers only allow_always and reject_once", forms: []form{
			{script: "p05-no-allow-once", given: allow, want: asked("selected always", allowed), check: decided("c1 always allow true")},
			{name: "rejected", script: "p05-no-allow-once", given: reject, want: asked("selected no", denied)},
			{name: "several of a kind", script: "p05-two-of-a-kind", given: allow, want: `completed; "selected once; selected no"; 2 updates; allowed; denied; exit status 0`,
				check: all(warns("several options"), decided("c1 once allow true; c2 no allow: ambiguous false"))},
			{name: "several of a kind, the first will do", script: "p05-two-of-a-kind", given: policy(permission.AllowPolicy{First: true}), want: `completed; "selected once; selected once"; 2 updates; allowed; allowed; exit status 0`, check: warns()},
			{name: "several of a kind, one is chosen", script: "p05-two-of-a-kind", given: policy(permission.AllowPolicy{Choose: []string{"and-accept"}}),
				want: `completed; "selected once; selected and-accept"; 3 updates; allowed; allowed; exit status 0`},
			{name: "several of allow_always", given: allow, script: options(`a allow_always "Always this"`, `b allow_always "Always anything"`, `n reject_once "No"`), want: asked("selected n", denied), check: warns("several options")},
			{name: "the same one twice", given: allow, script: options(`a allow_once "Yes"`, `a allow_once "Yes"`, `n reject_once "No"`), want: asked("selected a", allowed), check: warns()},
			{name: "a policy that selects what was not offered", given: policy(permission.PolicyFunc(func(context.Context, permission.Request) permission.Decision {
				return permission.Decision{OptionID: "allow_once"}
			})), script: options(`a allow_once "Yes"`, `n reject_once "No"`), want: asked("cancelled ", cancelled)},
			{name: "a policy that panics", given: policy(permission.PolicyFunc(func(context.Context, permission.Request) permission.Decision { panic("no") })),
				script: options(`a allow_once "Yes"`, `n reject_once "No"`), want: asked("cancelled ", cancelled)},
		}},
		{id: "P6", does: "options empty, null, or missing; a permission request with id null", forms: oddAskForms()},
	}
}

// decided checks the records: call, option, rule, and what the result says of the call.
func decided(want string) func(*scene) {
	return func(s *scene) {
		s.Helper()
		permitted := map[string]string{}
		for _, c := range s.result.ToolCalls {
			if c.Permitted != nil {
				permitted[c.ID] = fmt.Sprint(*c.Permitted)
			}
		}
		var got []string
		for _, r := range s.result.Permissions {
			option := "-"
			if r.OptionID != nil {
				option = *r.OptionID
			}
			got = append(got, strings.Join([]string{r.ToolCallID, option, r.Rule, permitted[r.ToolCallID]}, " "))
		}
		check.Equal(s, "decisions", strings.Join(got, "; "), want)
	}
}

// oddAskForms are permission requests that no schema allows.
func oddAskForms() []form {
	forms := []form{{
		script: "p06-no-options", given: allow, want: "completed; 75 bytes of text; 4 updates; 5 permissions; exit status 0",
		check: func(s *scene) {
			check.Equal(s, "text", s.text(), "empty: cancelled; null: cancelled; missing: cancelled; unknown: cancelled; ")
			for _, r := range s.result.Permissions {
				check.Equal(s, r.ToolCallID, r.Decision, permission.Cancelled)
			}
		},
	}}
	const call = `"toolCall": {"toolCallId": "c1"}`
	const yes = `{"optionId": "yes", "name": "Yes", "kind": "allow_once"}`
	for _, p := range []struct{ name, params, answer string }{
		{"options an object", `{"sessionId": "$session", ` + call + `, "options": {"yes": "allow_once"}}`, "cancelled "},
		{"options a string", `{"sessionId": "$session", ` + call + `, "options": "allow_once"}`, "cancelled "},
		{"options of odd elements", `{"sessionId": "$session", ` + call + `, "options": [null, 7, "allow_once", [], {}, ` + yes + `]}`, "selected yes"},
		{"an option without a kind", `{"sessionId": "$session", ` + call + `, "options": [{"optionId": "allow_once", "name": "allow_once"}]}`, "cancelled "},
		{"an option without an id", `{"sessionId": "$session", ` + call + `, "options": [{"name": "Yes", "kind": "allow_once"}]}`, "cancelled "},
		{"an option with an empty id", `{"sessionId": "$session", ` + call + `, "options": [{"optionId": "", "name": "Yes", "kind": "allow_once"}]}`, "cancelled "},
		{"an option without a name", `{"sessionId": "$session", ` + call + `, "options": [{"optionId": "yes", "kind": "allow_once"}]}`, "selected yes"},
		{"an id that is a number", `{"sessionId": "$session", ` + call + `, "options": [{"optionId": 7, "name": "Yes", "kind": "allow_once"}]}`, "selected 7"},
		{"an id that is an object", `{"sessionId": "$session", ` + call + `, "options": [{"optionId": {"x": 1}, "name": "Yes", "kind": "allow_once"}]}`, "cancelled "},
		{"a kind in capitals", `{"sessionId": "$session", ` + call + `, "options": [{"optionId": "yes", "name": "Yes", "kind": "ALLOW_ONCE"}]}`, "cancelled "},
		{"a kind that is a list", `{"sessionId": "$session", ` + call + `, "options": [{"optionId": "yes", "name": "Yes", "kind": ["allow_once"]}]}`, "cancelled "},
		{"no tool call", `{"sessionId": "$session", "options": [` + yes + `]}`, "selected yes"},
		{"tool call null", `{"sessionId": "$session", "toolCall": null, "options": [` + yes + `]}`, "selected yes"},
		{"tool call a list", `{"sessionId": "$session", "toolCall": ["c1"], "options": [` + yes + `]}`, "selected yes"},
		{"a number for the call's id", `{"sessionId": "$session", "toolCall": {"toolCallId": 7, "title": 7, "kind": {}}, "options": [` + yes + `]}`, "selected yes"},
		{"no session", `{` + call + `, "options": [` + yes + `]}`, "selected yes"},
		{"session null", `{"sessionId": null, ` + call + `, "options": [` + yes + `]}`, "selected yes"},
		{"an unknown session", `{"sessionId": "nobody", ` + call + `, "options": [` + yes + `]}`, "selected yes"},
		{"a session that is a number", `{"sessionId": 7, ` + call + `, "options": [` + yes + `]}`, "selected yes"},
		{"params null", `null`, "cancelled "}, {"params a list", `[]`, "cancelled "}, {"params empty", `{}`, "cancelled "},
	} {
		forms = append(forms, form{name: p.name, given: allow, script: "on session/prompt; request session/request_permission " + p.params + "\ntext \"$answer.outcome.outcome $answer.outcome.optionId\"", check: func(s *scene) {
			check.Equal(s, "outcome", s.result.Stop, "completed")
			check.Equal(s, "answer", s.text(), p.answer)
			check.Equal(s, "records", len(s.result.Permissions), 1)
		}})
	}
	for _, id := range []string{`""`, `"request with blanks"`, `0`, `-1`, `1.5`, `1e3`, `18446744073709551616`, `1e400`, `"7"`} {
		forms = append(forms, form{
			name: "a request with the id " + id, given: all(allow, hears(`"selected"`, 2)), script: `record heard
				on session/prompt
				  send {"jsonrpc": "2.0", "id": ` + id + `, "method": "session/request_permission", "params": {"sessionId": "$session", "toolCall": {"toolCallId": "c1"}, "options": [` + yes + `]}}
				  request session/request_permission {"sessionId": "$session", "toolCall": {"toolCallId": "c2"}, "options": [` + yes + `]}
				  wait file answered
				  text "answered"`,
			check: func(s *scene) {
				check.Equal(s, "outcome", s.result.Stop, "completed")
				check.Equal(s, "records", len(s.result.Permissions), 2)
				check.Has(s, s.file("heard"), `"id":`+id)
			},
		})
	}
	many := strings.Repeat(`{"optionId": "x", "name": "X", "kind": "someday"},`, 2000)
	return append(forms,
		form{name: "two thousand options", given: allow, script: "on session/prompt; request session/request_permission {\"sessionId\": \"$session\", " + call + `, "options": [` + many + yes + `]}
			text "$answer.outcome.optionId"`, want: `completed; "yes"; 1 updates; allowed; exit status 0`},
		form{name: "a title of 1 MB", given: allow, script: "on session/prompt; set t size=1MB; permission c1 $t" + yesNo + told, want: asked("selected yes", permission.Allowed)},
		form{name: "a notification", given: allow, script: `on session/prompt; send {"jsonrpc": "2.0", "method": "session/request_permission", "params": {"sessionId": "$session", ` + call + `, "options": [` + yes + `]}}; text "an answer"`,
			check: func(s *scene) {
				check.Equal(s, "outcome", s.result.Stop, "completed")
				check.Equal(s, "output", s.result.Output, "an answer")
			}},
		form{name: "the same id twice", given: allow, script: `on session/prompt
			repeat 2; send {"jsonrpc": "2.0", "id": "same", "method": "session/request_permission", "params": {"sessionId": "$session", ` + call + `, "options": [` + yes + `]}}; end
			permission c2 Write` + yesNo + told, check: func(s *scene) {
			check.Equal(s, "outcome", s.result.Stop, "completed")
			check.Equal(s, "text", s.text(), "selected yes")
		}},
	)
}

// askRows are about who asks, when, and for what.
func askRows() []row {
	// most is the number of goroutines at the worst moment, which is counted while
	// questions are open: a request is handled on one of its own, and 64 at once and 128
	// that wait are the most of a run.
	var most atomic.Int64
	counting := permission.PolicyFunc(func(context.Context, permission.Request) permission.Decision {
		most.Store(max(most.Load(), int64(runtime.NumGoroutine())))
		return permission.Decision{OptionID: "yes"}
	})
	bounded := func(s *scene) {
		s.Helper()
		if n := most.Load(); n == 0 || n > 500 {
			s.Errorf("%d goroutines", n)
		}
	}
	return []row{
		{id: "P7", does: "asks for 3,000 permissions at once", forms: []form{
			{script: "p07-three-thousand", alone: true, given: policy(counting), want: `completed; "all answered"; 1 updates; 3000 permissions; exit status 0`, check: bounded},
			{name: "and is cancelled while all are pending", script: `
				record wire.log
				on session/prompt
				  repeat 3000; background; permission "c$i" Write; option yes allow_once Yes; when cancelled; append cancelled x; when other; append other x; end; end; end
				  wait background
				  text "all answered"
				  stop cancelled`, do: cancelWhenAsked(10), check: all(noneSelected, func(s *scene) {
				check.Equal(s, "outcome", s.result.Stop, "aborted")
				check.Equal(s, "told otherwise", s.file("other"), "")
			})},
			{name: "for sessions of its own", given: allow, script: `
				on session/prompt
				  repeat 1000; background; permission "c$i" Write session="nested-$i"` + yesNo + `end; end; end
				  wait background
				  text "all answered"`, want: `completed; "all answered"; 1 updates; 1000 permissions; exit status 0`},
			{name: "and dies", given: allow, script: `
				on session/prompt
				  repeat 1000; send {"jsonrpc": "2.0", "id": "ask-$i", "method": "session/request_permission", "params": {"sessionId": "$session", "toolCall": {"toolCallId": "c$i"}, "options": []}}; end
				  raise KILL`, check: func(s *scene) {
				check.Equal(s, "outcome", s.result.Stop, "error")
				check.Has(s, s.message(), "signal SIGKILL")
			}},
			{name: "without waiting for an answer", given: allow, script: `
				on session/prompt
				  repeat 1000; send {"jsonrpc": "2.0", "id": "ask-$i", "method": "session/request_permission", "params": {"sessionId": "$session", "toolCall": {"toolCallId": "c$i"}, "options": []}}; end
				  text "never mind"
				  stop end_turn`, check: func(s *scene) {
				check.Equal(s, "outcome", s.result.Stop, "completed")
				check.Equal(s, "output", s.result.Output, "never mind")
				check.Equal(s, "records", len(s.result.Permissions), 1000)
			}},
		}},
		{id: "P8", does: "asks for tool calls that it has not announced", forms: []form{
			{script: "p08-never-announced", given: allow, want: "completed; no text; 4 updates; allowed; allowed; exit status 0", check: all(decided("c1 yes allow true; c2 yes allow true"), func(s *scene) {
				check.Equal(s, "tool calls", toolCalls(s), "c1 Write a.txt edit unknown; c2 Write b.txt edit completed")
				input, _ := json.Marshal(s.result.Permissions[0].RawInput)
				check.Equal(s, "input", string(input), `{"path":"a.txt"}`)
			})},
			{name: "rejected", script: "p08-never-announced", given: reject, want: "completed; no text; 4 updates; denied; denied; exit status 0", check: decided("c1 no reject false; c2 no reject false")},
			{name: "announced otherwise", given: allow, script: "on session/prompt; tool c1 \"Read a.txt\" kind=read; permission c1 \"Delete a.txt\" kind=delete" + yesNo + told, want: `completed; "selected yes"; 2 updates; allowed; exit status 0`, check: func(s *scene) {
				check.Equal(s, "what was decided", *s.result.Permissions[0].Title, "Delete a.txt")
				check.Equal(s, "of what kind", *s.result.Permissions[0].Kind, "delete")
			}},
			{name: "asked twice, with two answers", given: policy(onceOnly()), script: once + yesNo + "end\npermission c1 Again" + yesNo + told, want: `completed; "selected no"; 1 updates; allowed; denied; exit status 0`},
		}},
		{id: "P9", does: "runs a tool without asking", forms: []form{
			{script: "p09-never-asks", given: reject, want: `completed; "done"; 3 updates; exit status 0`, check: func(s *scene) {
				check.Equal(s, "tool calls", toolCalls(s), "c1 Write a.txt edit completed")
				check.Equal(s, "permitted: null", s.result.ToolCalls[0].Permitted == nil, true)
			}},
			{name: "beside one for which it asks", given: allow, script: "on session/prompt; tool c1 Read status=completed; permission c2 Write" + yesNo + told, want: `completed; "selected yes"; 2 updates; allowed; exit status 0`, check: func(s *scene) {
				check.Equal(s, "c1 permitted: null", s.result.ToolCalls[0].Permitted == nil, true)
				check.Equal(s, "c2 permitted", *s.result.ToolCalls[1].Permitted, true)
			}},
		}},
		{id: "P10", does: "asks from a session of its own", forms: []form{
			{script: "p10-nested-session", given: allow, want: `completed; "asking a colleague selected yes"; 2 updates; allowed; exit status 0`, check: func(s *scene) {
				check.Equal(s, "session", s.result.Permissions[0].SessionID, "colleague-7")
				check.Equal(s, "tool calls of ours", len(s.result.ToolCalls), 0)
			}},
			{name: "rejected", script: "p10-nested-session", given: reject, want: `completed; "asking a colleague selected no"; 2 updates; denied; exit status 0`},
			{name: "with updates of its own", given: allow, script: "on session/prompt; text psst session=nested; tool c1 Write session=nested; permission c1 Write session=nested" + yesNo + told, want: `completed; "selected yes"; 1 updates; 2 foreign; allowed; exit status 0`,
				check: func(s *scene) { check.Equal(s, "tool calls of ours", len(s.result.ToolCalls), 0) }},
			{name: "the same call as one of ours", given: policy(onceOnly()), script: "on session/prompt; permission c1 Write" + yesNo + "end; permission c1 Write session=nested" + yesNo + told, want: `completed; "selected no"; 1 updates; allowed; denied; exit status 0`,
				check: func(s *scene) { check.Equal(s, "permitted", *s.result.ToolCalls[0].Permitted, true) }},
			{name: "pending at cancel", script: "record wire.log\non session/prompt; permission c1 Write session=nested; option yes allow_once Yes; when cancelled; append answers.txt cancelled; when other; append answers.txt \"$outcome\"; end; stop cancelled", do: cancelWhenAsked(1),
				want: "aborted; no text; cancelled; exit status 0", check: all(noneSelected, wrote("answers.txt", "cancelled\n"))},
		}},
	}
}

// onceOnly returns a policy that says yes once and no from then on.
func onceOnly() permission.Policy {
	var asked atomic.Bool
	return permission.PolicyFunc(func(ctx context.Context, r permission.Request) permission.Decision {
		if asked.Swap(true) {
			return permission.Reject().Decide(ctx, r)
		}
		return permission.Allow().Decide(ctx, r)
	})
}

// cancelRows are about what is asked when the turn is cancelled: P1 and P11.
func cancelRows() []row {
	pending := func(how string) string {
		return "record wire.log\non session/prompt; permission c1 Delete" + how + "; option yes allow_once Yes; option no reject_once No\n" +
			"when cancelled; append answers.txt cancelled\nwhen other; append answers.txt \"$outcome $option\"; end"
	}
	const aborted = "aborted; no text; cancelled; exit status 0"
	// late asks, and does not go before it has asked.
	const late = `send {"jsonrpc": "2.0", "id": "late", "method": "session/request_permission", "params": {"sessionId": "$session", "toolCall": {"toolCallId": "c1"}, "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]}}; write sent
		on eof; wait file sent; exit 0`
	return []row{
		{id: "P1", does: "a permission is pending at cancel, and the agent waits for its answer", forms: []form{
			{script: "p01-pending-at-cancel", do: cancelWhenAsked(1), want: aborted, check: all(wrote("answers.txt", "cancelled\n"), decided("c1 - turn cancelled false"))},
			{name: "two are", script: `
				record wire.log
				on session/prompt
				  repeat 2; background; permission "c$i" Delete; option yes allow_once Yes; when cancelled; append answers.txt cancelled; end; end; end
				  wait cancel
				  wait background
				  stop cancelled`, do: cancelWhenAsked(2), want: "aborted; no text; cancelled; cancelled; exit status 0", check: all(noneSelected, wrote("answers.txt", "cancelled\ncancelled\n"))},
			{name: "the answer comes before session/cancel is heard of", script: pending("") + "\non session/cancel; wait 300ms; interrupt", do: cancelWhenAsked(1), want: aborted, check: all(noneSelected, wrote("answers.txt", "cancelled\n"))},
			{name: "the agent does not wait", script: pending(" cancel=leave"), do: cancelWhenAsked(1), want: aborted, check: noneSelected},
			{name: "the agent withdraws it", script: pending(" cancel=withdraw"), do: cancelWhenAsked(1), want: aborted, check: noneSelected},
			{name: "withdrawn without a cancel", script: `on session/prompt
				send {"jsonrpc": "2.0", "id": "ask", "method": "session/request_permission", "params": {"sessionId": "$session", "toolCall": {"toolCallId": "c1"}, "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]}}
				notify "$$/cancel_request" {"requestId": "ask"}
				text "never mind"`, given: policy(permission.PolicyFunc(func(ctx context.Context, _ permission.Request) permission.Decision {
				<-ctx.Done()
				return permission.Decision{OptionID: "yes"}
			})), want: `completed; "never mind"; 1 updates; cancelled; exit status 0`, check: decided("c1 - withdrawn by the agent false")},
			{name: "a policy that does not hear of the cancel", script: pending(""), do: func(s *scene) {
				over := make(chan struct{})
				defer close(over)
				s.cancelWhenAsked(1, func(context.Context) { <-over })
			}, want: aborted, check: all(noneSelected, wrote("answers.txt", "cancelled\n"))},
			{name: "and text comes after it", script: strings.Replace(pending(""), "append answers.txt cancelled", "append answers.txt cancelled; text \"I stop.\"", 1), do: cancelWhenAsked(1),
				want: `aborted; "I stop."; 1 updates; cancelled; exit status 0`, check: noneSelected},
		}},
		{id: "P11", does: "asks on after our session/cancel", forms: []form{
			{script: "p11-asks-after-cancel", given: allow, cancelOn: "working", want: `aborted; "working "; 1 updates; cancelled; cancelled; cancelled; exit status 0`,
				check: wrote("answers.txt", "cancelled \ncancelled \ncancelled \n")},
			{name: "on and on, across the cancel", given: allow, cancelOn: "working", script: `
				record wire.log
				on session/prompt
				  background; repeat 100; permission "c$i" Write` + yesNo + `when allowed; write begun; end; end; end
				  wait file begun
				  text working
				  wait cancel
				  wait background
				  stop cancelled`, check: all(noneSelected, func(s *scene) {
				check.Equal(s, "outcome", s.result.Stop, "aborted")
				check.Equal(s, "records", len(s.result.Permissions), 100)
			})},
			{name: "for a session of its own", given: allow, cancelOn: "working", script: "record wire.log\non session/prompt; text working; wait cancel; permission c1 Write session=nested" + yesNo + "end; append answers.txt $outcome; stop cancelled",
				want: `aborted; "working"; 1 updates; cancelled; exit status 0`, check: all(noneSelected, wrote("answers.txt", "cancelled\n"))},
			{name: "after its answer to the cancelled turn", given: allow, cancelOn: "working", script: "record wire.log\non session/prompt; text working; wait cancel; stop cancelled; " + late,
				want: `aborted; "working"; 1 updates; cancelled; exit status 0`, check: all(noneSelected, warns("after it had ended the turn"))},
			{name: "after its answer to a turn that nobody cancelled", given: allow, script: "record wire.log\non session/prompt; text done; stop end_turn; " + late,
				want: `completed; "done"; 1 updates; cancelled; exit status 0`, check: all(noneSelected, warns("after it had ended the turn"))},
		}},
	}
}

// cancelWhenAsked cancels the run when so many questions are pending, which the policy
// then answers with yes.
func cancelWhenAsked(n int) func(*scene) {
	return func(s *scene) {
		s.cancelWhenAsked(n, func(ctx context.Context) { <-ctx.Done() })
	}
}

func (s *scene) cancelWhenAsked(n int, wait func(context.Context)) {
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	var asked atomic.Int64
	s.opts.Permission = permission.PolicyFunc(func(ctx context.Context, _ permission.Request) permission.Decision {
		if asked.Add(1) == int64(n) {
			cancel()
		}
		wait(ctx)
		return permission.Decision{OptionID: "yes"}
	})
	s.delegate(ctx)
}

// noneSelected checks that the agent was sent no permission after session/cancel, or
// none at all where it was not sent that.
func noneSelected(s *scene) {
	s.Helper()
	wire := s.file("wire.log")
	if wire == "" {
		s.Error("the agent does not record what it reads")
	}
	if _, after, ok := strings.Cut(wire, `"session/cancel"`); ok {
		wire = after
	}
	check.Lacks(s, wire, `"selected"`)
}
