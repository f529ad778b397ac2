package faults

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

func orderRows() []row {
	return []row{lateChunks(), beforeTheSession(), betweenTurns(), foreignSession(), updatesThenPermission()}
}

func lateChunks() row {
	// Long enough for what comes late; the agent's exit ends it.
	settles := func(s *scene) { s.opts.SettleTime = 10 * hang }
	const late = "on session/prompt\ntext 'the answer'\nstop end_turn\nwait 80ms\n"
	const eof = "\non eof; wait file said; exit 0"
	warned := warns("text after it had ended the turn")
	return row{id: "O1", does: "answers, and sends two more chunks 80 ms later", forms: []form{
		{
			script: "o01-late-chunks", check: warned,
			want: `completed; "the answer"; 3 updates; 2 late; exit status 0`,
		},
		{
			name: "to a run that settles", script: late + `text " and"; text " more"; exit 0`, given: settles,
			want:  "completed; \"the answer and more\"; 3 updates; exit status 0",
			check: warns(),
		},
		{
			name: "1,000 at once", script: `on session/prompt; text "the answer"; stop end_turn; burst 1000 "."; write said` + eof, check: warned,
			want: `completed; "the answer"; 1001 updates; 1000 late; exit status 0`,
		},
		{
			name: "1,000 to a run that settles", script: `on session/prompt; text "the answer"; stop end_turn; burst 1000 "."; exit 0`, given: settles,
			want: "completed; 1010 bytes of text; 1001 updates; exit status 0",
		},
		{
			name: "in one write with the answer",
			script: `on session/prompt
				text "the answer"
				never reply
				raw "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"stopReason\":\"end_turn\"}}\n{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"session-1\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\" late\"}}}}\n"`,
			check: warned, want: `completed; "the answer"; 2 updates; 1 late; exit status 0`,
		},
		{
			name: "a tool call, a thought and a plan, but no text", script: late + `tool c1 "Look"; thought "hm"; plan "more"; write said` + eof,
			want:  `completed; "the answer"; 4 updates; 3 late; exit status 0`,
			check: func(s *scene) { check.Equal(s, "tool calls", len(s.result.ToolCalls), 0) },
		},
		{
			name: "a question", given: policy(permission.Allow()),
			script: `on session/prompt
				text "the answer"
				stop end_turn
				send {"jsonrpc": "2.0", "id": "p", "method": "session/request_permission", "params": {"sessionId": "session-1", "toolCall": {"toolCallId": "c1"}, "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]}}
				write said` + eof,
			want:  `completed; "the answer"; 1 updates; cancelled; exit status 0`,
			check: warns("permission after it had ended the turn"),
		},
		{
			name: "a question to a run that settles", given: all(settles, policy(permission.Allow())),
			script: late + `permission c1 "Write"
				option yes allow_once "Yes"
				when allowed; text ", allowed"
				end
				exit 0`,
			want: `completed; "the answer, allowed"; 2 updates; allowed; exit status 0`,
		},
		{
			name: "the run is cancelled while it settles", given: settles,
			script: late + `text " and more"; write said; wait forever`,
			do: func(s *scene) {
				run := s.start()
				s.until("the late text", func() bool { return s.exists("said") })
				run.Cancel()
				s.within(hang, "the outcome", func() { <-run.Done() })
				s.finish(run)
			},
			check: func(s *scene) { check.Has(s, s.text(), "the answer") },
		},
		{
			name: "after an error", script: `on session/prompt; text "half"; fail -32603 "no"; text " more"; write said` + eof, check: warned,
			want: `error: agent at session/prompt; "half"; 2 updates; 1 late; exit status 0`,
		},
	}}
}

func beforeTheSession() row {
	return row{id: "O2", does: "sends updates for the session before it has answered session/new", forms: []form{
		{
			script: "o02-updates-before-the-session", want: `completed; "early late"; 3 updates; exit status 0`,
			do: func(s *scene) {
				var kinds []string
				for _, e := range s.told() {
					kinds = append(kinds, string(e.Type))
				}
				check.Equal(s, "events", strings.Join(kinds, " "), "start update update update end")
			},
		},
		{
			name:   "and for others",
			script: "on session/new; text 'early ' session=session-1; text 'wrong ' session=session-2; text 'wrong ' session=session-0; text 'too '\non session/prompt; text 'late'; text 'wrong' session=session-2",
			want:   `completed; "early too late"; 3 updates; 3 foreign; exit status 0`,
		},
		{
			name:   "before initialize is answered",
			script: "on initialize; text 'early ' session=session-1\non session/prompt; text 'late'",
			want:   `completed; "early late"; 2 updates; exit status 0`,
		},
		{
			name:   "5,000 of them",
			script: "on session/new; burst 5000 '$i ' session=session-1\non session/prompt; text 'late'",
			want:   "completed; 23897 bytes of text; 5001 updates; exit status 0",
			check:  func(s *scene) { s.same("text", s.text(), numbered("%d ", 5000)+"late") },
		},
		{
			name:   "10 MB",
			script: "on session/new; burst 10000 'u' size=1KB session=session-1\non session/prompt; text 'late'",
			want:   "completed; 10000004 bytes of text; 10001 updates; exit status 0",
		},
		{
			name: "more of it than is kept of text", given: maxOutput(1 << 20),
			script: "on session/new; burst 2000 'u' size=1KB session=session-1\non session/prompt; text 'late'",
			check: func(s *scene) {
				check.Equal(s, "stop", s.result.Stop, "completed")
				check.Equal(s, "updates", s.result.Counts.Updates+s.result.Counts.Dropped, 2001)
				check.Equal(s, "truncated", s.result.Truncated, true)
				check.Has(s, strings.Join(s.result.Warnings, "\n"), "not complete")
			},
		},
		{
			name:   "a tool call that goes on, a mode and a plan",
			script: "on session/new; tool c1 'Load' kind=read session=session-1; mode fast session=session-1; plan 'one' session=session-1\non session/prompt; tool-update c1 status=completed",
			want:   "completed; no text; 4 updates; exit status 0",
			check: func(s *scene) {
				check.Equal(s, "tool call", s.result.ToolCalls[0].Status, "completed")
				check.Equal(s, "title", *s.result.ToolCalls[0].Title, "Load")
				check.Equal(s, "mode", *s.result.Mode, "fast")
				check.Equal(s, "plan", s.result.Plan[0].Content, "one")
			},
		},
		{
			name:   "under an id written otherwise",
			script: "on session/new; noise '{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"\\u0073ession-\\u0031\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"early \"}}}}'\non session/prompt; text 'late'",
			want:   `completed; "early late"; 2 updates; exit status 0`,
		},
		{
			name: "and a question", given: policy(permission.Allow()),
			script: `on session/new
				permission c1 "Load" session=session-1
					option yes allow_once "Yes"
					when allowed; text "allowed " session=session-1
				end
				on session/prompt; text "late"`,
			want: `completed; "allowed late"; 2 updates; allowed; exit status 0`,
		},
		{
			name:   "and then refuses the session",
			script: "on session/new; text 'early' session=session-1; fail -32603 'no room'",
			want:   "not started: agent at session/new", check: func(s *scene) { check.Has(s, s.message(), "no room") },
		},
	}}
}

func betweenTurns() row {
	const eof = "\non eof; wait file said; exit 0"
	return row{id: "O3", does: "sends an update when no turn is open", forms: []form{
		{
			script: "o03-between-turns", want: `completed; "an answer"; 3 updates; 1 late; exit status 0`,
		},
		{
			name:   "usage and mode between session/new and the prompt",
			script: "on session/new; reply {\"sessionId\": \"session-1\"}; usage used=10 size=100; mode fast; write told\non session/prompt; wait file told; text 'an answer'",
			want:   `completed; "an answer"; 3 updates; exit status 0`,
			check: func(s *scene) {
				check.Equal(s, "usage", *s.result.Usage.ContextUsed, 10)
				check.Equal(s, "mode", *s.result.Mode, "fast")
			},
		},
		{
			name: "of an unknown kind, afterwards", script: `on session/prompt; text "an answer"; stop end_turn; update {"sessionUpdate": "weather", "content": {"type": "text", "text": "rain"}}; write said` + eof,
			want: `completed; "an answer"; 2 updates; 1 unknown; 1 late; exit status 0`,
		},
		{
			name: "for another session, afterwards", script: `on session/prompt; text "an answer"; stop end_turn; text "no" session=x; write said` + eof,
			want: `completed; "an answer"; 1 updates; 1 foreign; exit status 0`,
		},
		{
			name: "while it is closed", script: `on session/prompt; text "an answer"` + "\n" + `on session/close; usage used=1 size=2; text "bye"`,
			want: `completed; "an answer"; 3 updates; 2 late; exit status 0`,
		},
	}}
}

func foreignSession() row {
	send := func(sessions ...string) string {
		script := "on session/prompt\ntext 'ours '\n"
		for _, id := range sessions {
			script += `send {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": ` + id + `, "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "theirs"}}}}` + "\n"
		}
		return script + "text 'too'\nstop end_turn"
	}
	const ours = `completed; "ours too"; 2 updates; `
	return row{id: "O4", does: "sends updates for a session that is not ours", forms: []form{
		{
			script: "o04-foreign-session", want: `completed; "ours ours again"; 2 updates; 2 foreign; exit status 0`,
			check: func(s *scene) {
				check.Equal(s, "tool calls", len(s.result.ToolCalls), 0)
				check.Equal(s, "messages", len(s.result.Messages), 1)
			},
		},
		{
			name: "ids much like ours", script: send(`"session-1 "`, `" session-1"`, `"SESSION-1"`, `"session-1\u0000"`, `"session-11"`, `"session-"`, `"sessi\u00f6n-1"`),
			want: ours + "7 foreign; exit status 0",
		},
		{
			name: "ids that are none", script: send(`""`, `null`, `1`, `["session-1"]`, `{"id": "session-1"}`, `true`),
			want: ours + "6 foreign; exit status 0",
		},
		{
			name: "no id at all", script: `on session/prompt; text "ours "; send {"jsonrpc": "2.0", "method": "session/update", "params": {"update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "theirs"}}}}; text "too"`,
			want: ours + "1 foreign; exit status 0",
		},
		{
			name:   "one after each of ours, a thousand times",
			script: `on session/prompt; repeat 1000; burst 1 "$i "; burst 1 "theirs" session="child-$i"; end`,
			check: func(s *scene) {
				check.Equal(s, "updates", s.result.Counts.Updates, 1000)
				check.Equal(s, "foreign", s.result.Counts.Foreign, 1000)
				check.Lacks(s, s.text(), "theirs")
			},
		},
		{
			name:   "plan, mode, usage, commands and tool calls",
			script: `on session/prompt; plan "theirs" session=x; mode theirs session=x; usage used=1 size=2 session=x; commands "theirs: no" session=x; tool c1 "theirs" session=x; text "ours too"`,
			want:   `completed; "ours too"; 1 updates; 5 foreign; exit status 0`,
			check: func(s *scene) {
				if s.result.Plan != nil || s.result.Mode != nil || s.result.Usage != nil || len(s.result.ToolCalls) > 0 {
					s.Errorf("%+v %v %+v %+v", s.result.Plan, s.result.Mode, s.result.Usage, s.result.ToolCalls)
				}
			},
		},
		{
			name: "Updates has none of them, Events all", script: send(`"x"`, `"y"`),
			do: func(s *scene) {
				var told []string
				s.listen(func(e subagent.Event) {
					if e.Type == subagent.EventUpdate {
						told = append(told, e.SessionID)
					}
				})
				run := s.start()
				for u := range run.Updates() {
					check.Equal(s, "session", string(u.SessionID), "session-1")
				}
				s.finish(run)
				check.Equal(s, "sessions", strings.Join(told, " "), "session-1 x y session-1")
			},
			want: ours + "2 foreign; exit status 0",
		},
	}}
}

func updatesThenPermission() row {
	// handled is a run with a policy that says how many updates were told before it
	// was asked, and what of it the caller was told in which order.
	handled := func(before int, order string) func(*scene) {
		return func(s *scene) {
			var told, asked atomic.Int64
			asked.Store(-1)
			s.opts.Permission = permission.PolicyFunc(func(_ context.Context, req permission.Request) permission.Decision {
				asked.CompareAndSwap(-1, told.Load())
				return permission.Allow().Decide(s.Context(), req)
			})
			var got strings.Builder
			s.listen(func(e subagent.Event) {
				switch e.Type {
				case subagent.EventUpdate:
					time.Sleep(5 * time.Millisecond) // a slow one: the updates could be overtaken
					got.WriteString(said(e))
					told.Add(1)
				case subagent.EventPermission:
					got.WriteString("? ")
				}
			})
			s.delegate(s.Context())
			check.Equal(s, "updates before the request", int(asked.Load()), before)
			if order != "" {
				s.same("events", got.String(), order)
			}
		}
	}
	return row{id: "O5", does: "sends five updates, then a permission request", forms: []form{
		{
			script: "o05-updates-then-permission", do: handled(5, "1 2 3 4 5 ? "),
			want: `completed; "1 2 3 4 5 "; 5 updates; allowed; exit status 0`,
		},
		{
			name: "and the updates after it come after it", do: handled(2, "1 2 ? 3 4 ? 5 "),
			script: `on session/prompt
				text "1 "; text "2 "
				permission c1 "One"
					option yes allow_once "Yes"
				end
				text "3 "; text "4 "
				permission c2 "Two"
					option yes allow_once "Yes"
				end
				text "5 "`,
			want: `completed; "1 2 3 4 5 "; 5 updates; allowed; allowed; exit status 0`,
		},
		{
			name: "300 updates", do: handled(300, numbered("%d ", 300)+"? "),
			script: `on session/prompt; burst 300 "$i "
				permission c1 "After"
					option yes allow_once "Yes"
				end`,
			want: "completed; 1092 bytes of text; 300 updates; allowed; exit status 0",
		},
		{
			name: "all in one array of frames", given: hears(`"optionId":"yes"`, 1), do: handled(2, "1 2 ? 3 "),
			script: `record heard
				on session/prompt
				send [{"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "session-1", "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "1 "}}}},
					{"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "session-1", "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "2 "}}}},
					{"jsonrpc": "2.0", "id": "p", "method": "session/request_permission", "params": {"sessionId": "session-1", "toolCall": {"toolCallId": "c1"}, "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]}}]
				wait file answered
				text "3 "`,
			want: `completed; "1 2 3 "; 3 updates; allowed; exit status 0`,
		},
		{
			name: "a tool call, and the request for it", do: handled(2, ""),
			script: `on session/prompt
				tool c1 "Write" kind=edit status=pending
				tool-update c1 status=in_progress
				permission c1 "Write"
					option yes allow_once "Yes"
				end
				tool-update c1 status=completed`,
			want: "completed; no text; 3 updates; allowed; exit status 0",
			check: func(s *scene) {
				check.Equal(s, "tool calls", len(s.result.ToolCalls), 1)
				check.Equal(s, "status", s.result.ToolCalls[0].Status, "completed")
				check.Equal(s, "permitted", *s.result.ToolCalls[0].Permitted, true)
			},
		},
		{
			name: "ten times, each with updates before it", do: handled(1, ""),
			script: `on session/prompt
				repeat 10
					text "$i "
					permission "c$i" "Ask"
						option yes allow_once "Yes"
					end
				end`,
			want: `completed; "` + numbered("%d ", 10) + `"; 10 updates; 10 permissions; exit status 0`,
			check: func(s *scene) {
				for i, p := range s.result.Permissions {
					check.Equal(s, "permission", p.ToolCallID, "c"+strconv.Itoa(i+1))
				}
			},
		},
	}}
}
