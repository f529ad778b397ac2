package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

func TestExplain(t *testing.T) {
	code := -32603
	title, kind := "Delete \x1b[31m all", "edit"
	tests := []struct {
		name  string
		res   subagent.Result
		why   string
		at    client.Step
		agent choice
		want  []string
	}{
		{name: "completed", res: subagent.Result{Stop: stopreason.Completed}},
		{name: "completed, after a signal", res: subagent.Result{Stop: stopreason.Completed}, why: "interrupt signal"},
		{name: "cancelled by us", res: subagent.Result{Stop: stopreason.Aborted}, why: "interrupt signal", want: []string{"errand: cancelled: interrupt signal"}},
		{name: "cancelled during the start", res: subagent.Result{Provider: "x", Stop: stopreason.Aborted}, why: "interrupt", at: client.StepInitialize, want: []string{"errand: cancelled while x was starting (initialize): interrupt"}},
		{name: "cancelled before the start", res: subagent.Result{Provider: "x", Stop: stopreason.Aborted}, why: "interrupt", at: client.StepConfig, want: []string{"errand: cancelled before x was started: interrupt"}},
		{name: "cancelled, and deaf", res: subagent.Result{Provider: "x", Stop: stopreason.Aborted, Exit: &client.Exit{Rung: client.RungKill}}, why: "interrupt", want: []string{"errand: cancelled: interrupt", "  it took SIGKILL to end x"}},
		{name: "completed, and deaf", res: subagent.Result{Provider: "x", Stop: stopreason.Completed, Exit: &client.Exit{Rung: client.RungTerm}}},
		{name: "cancelled, and polite", res: subagent.Result{Provider: "x", Stop: stopreason.Aborted, Exit: &client.Exit{Rung: client.RungCancel}}, why: "interrupt", want: []string{"errand: cancelled: interrupt"}},
		{name: "cancelled by the agent", res: subagent.Result{Provider: "x", Stop: stopreason.Aborted}, want: []string{"errand: x ended the turn as cancelled"}},
		{name: "refused", res: subagent.Result{Provider: "x", Stop: stopreason.Refusal}, want: []string{"errand: x refused"}},
		{name: "cut short", res: subagent.Result{Stop: stopreason.MaxTokens}, want: []string{"errand: the answer was cut short at the model's token limit"}},
		{name: "an outcome without an error", res: subagent.Result{Stop: stopreason.Error}, want: []string{"errand: the run ended as error"}},
		{
			name: "configuration", res: subagent.Result{Provider: "x", Stop: stopreason.Error, Error: &subagent.Error{Kind: client.KindConfig, Step: client.StepConfig, Message: "--dir is empty"}},
			want: []string{"errand: --dir is empty"},
		},
		{
			name: "an agent that is errand itself",
			res:  subagent.Result{Provider: "errand", Stop: stopreason.Error, Error: &subagent.Error{Kind: client.KindAgent, Step: client.StepPrompt, Message: "no"}},
			want: []string{"errand: session/prompt: no"},
		},
		{
			name: "not installed", agent: choice{install: "npm install x"},
			res:  subagent.Result{Provider: "x", Stop: stopreason.Error, Error: &subagent.Error{Kind: client.KindSpawn, Step: client.StepSpawn, Message: "no x"}},
			want: []string{"errand: x: spawn: no x", "  to install it: npm install x"},
		},
		{
			name: "installed, but what it runs is not", agent: choice{install: "npm install x", absent: true},
			res:  subagent.Result{Provider: "x", Error: &subagent.Error{Kind: client.KindExit, Step: client.StepInitialize, Message: "exit status 1"}},
			want: []string{"errand: x: initialize: exit status 1", "  to install it: npm install x"},
		},
		{
			name: "installed, and ended", agent: choice{install: "npm install x"},
			res:  subagent.Result{Provider: "x", Error: &subagent.Error{Kind: client.KindExit, Step: client.StepInitialize, Message: "exit status 1"}},
			want: []string{"errand: x: initialize: exit status 1"},
		},
		{
			name: "the agent's own error", agent: choice{install: "npm install x"},
			res: subagent.Result{Provider: "x", Stop: stopreason.Error, StderrTail: "one line, which the message has\n", Error: &subagent.Error{
				Kind: client.KindAgent, Step: client.StepPrompt, Message: "bad\nthing\x1b", Code: &code, Data: json.RawMessage(`{"a":"` + "\u202e" + `"}`),
			}},
			want: []string{`errand: x: session/prompt: bad\u{a}thing\u{1b}`, "  code -32603", `  data {"a":"\u{202e}"}`},
		},
		{
			name: "the agent's own error, told in its message",
			res: subagent.Result{Provider: "x", Stop: stopreason.Error, Error: &subagent.Error{
				Kind: client.KindAgent, Step: client.StepPrompt, Message: `error -32603: no; its data: {"a":1}`, Code: &code, Data: json.RawMessage(`{"a":1}`),
			}},
			want: []string{`errand: x: session/prompt: error -32603: no; its data: {"a":1}`},
		},
		{
			name: "a slip of the pen",
			res:  subagent.Result{Provider: "gemni", Error: &subagent.Error{Kind: client.KindSpawn, Step: client.StepSpawn, Message: "no"}},
			want: []string{"errand: gemni: spawn: no", "  errand knows an agent like that: --agent gemini, which starts gemini --acp"},
		},
		{
			name: "a known agent with other arguments",
			res:  subagent.Result{Provider: "opencode", Agent: subagent.Agent{Command: []string{"/x/opencode", "--acp"}}, Error: &subagent.Error{Kind: client.KindExit, Step: client.StepInitialize, Message: "no"}},
			want: []string{"errand: opencode: initialize: no", "  errand knows an agent like that: --agent opencode, which starts opencode acp"},
		},
		{
			name: "a known agent with its own arguments",
			res:  subagent.Result{Provider: "opencode", Agent: subagent.Agent{Command: []string{"/x/opencode", "acp"}}, Error: &subagent.Error{Kind: client.KindExit, Step: client.StepInitialize, Message: "no"}},
			want: []string{"errand: opencode: initialize: no"},
		},
		{
			name: "not ready in time",
			res:  subagent.Result{Provider: "x", Error: &subagent.Error{Kind: client.KindStartupTimeout, Step: client.StepNewSession, Message: "no"}},
			want: []string{"errand: x: session/new: no", "  to give it more time: --start-timeout"},
		},
		{
			name: "silent for too long",
			res:  subagent.Result{Provider: "x", Error: &subagent.Error{Kind: client.KindIdleTimeout, Step: client.StepPrompt, Message: "no"}},
			want: []string{"errand: x: session/prompt: no", "  to give it more time: --idle-timeout"},
		},
		{
			name: "held back", agent: choice{hints: []string{"X_KEY", "Y_KEY"}},
			res:  subagent.Result{Provider: "x", WithheldEnv: []string{"A_TOKEN", "Y_KEY"}, Error: &subagent.Error{Kind: client.KindAuthRequired, Step: client.StepNewSession, Message: "no"}},
			want: []string{"errand: x: session/new: no", "  to let a variable through: --env Y_KEY"},
		},
		{
			name: "held back from an agent that is not known",
			res:  subagent.Result{Provider: "x", WithheldEnv: []string{"A_TOKEN"}, Error: &subagent.Error{Kind: client.KindExit, Step: client.StepPrompt, Message: "no"}},
			want: []string{"errand: x: session/prompt: no", "  to let a variable through: --env NAME"},
		},
		{
			name: "held back, but not what it misses", agent: choice{hints: []string{"X_KEY"}},
			res:  subagent.Result{Provider: "x", WithheldEnv: []string{"A_TOKEN"}, Error: &subagent.Error{Kind: client.KindExit, Step: client.StepPrompt, Message: "no"}},
			want: []string{"errand: x: session/prompt: no"},
		},
		{
			name: "open calls and stderr",
			res: subagent.Result{
				Provider: "x", Stop: stopreason.Aborted, StderrTail: strings.Repeat("old\n", 20) + "a\r\nb \x1b]0;x\a\n\n",
				ToolCalls: []subagent.ToolCall{{ID: "1", Title: &title, Status: "cancelled"}, {ID: "2", Kind: &kind, Status: "unknown"}, {ID: "5", Status: "unknown"}, {ID: "3", Status: "completed"}, {ID: "4", Status: "failed"}},
				Error:     &subagent.Error{Kind: client.KindTimeout, Step: client.StepPrompt, Message: "late"},
			},
			want: append(append([]string{
				"errand: x: session/prompt: late",
				`  still open, and perhaps done in part: Delete \u{1b}[31m all`,
				"  still open, and perhaps done in part: edit",
				"  still open, and perhaps done in part: a tool call",
				"  the end of its stderr:",
			}, slices.Repeat([]string{"  | old"}, stderrLines-2)...), "  | a", `  | b \u{1b}]0;x\u{7}`),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, explain(&tt.res, tt.why, tt.at, tt.agent)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDeniedHint(t *testing.T) {
	record := func(d permission.Outcome) permission.Record { return permission.Record{Decision: d} }
	unasked := permission.Record{Decision: permission.Denied, Rule: "ask: default: nobody to ask"}
	for _, tt := range []struct {
		records []permission.Record
		want    string
	}{
		{nil, ""},
		{[]permission.Record{record(permission.Allowed), record(permission.Cancelled)}, ""},
		{[]permission.Record{record(permission.Denied)}, "a permission request was denied"},
		{[]permission.Record{record(permission.Denied), record(permission.Denied)}, "2 permission requests were denied"},
		{[]permission.Record{unasked}, "the policy asks about a permission request, and nobody was there to answer; --permission ask or --permission-command would"},
		{[]permission.Record{unasked, unasked, record(permission.Allowed)}, "the policy asks about 2 permission requests"},
		{[]permission.Record{{Decision: permission.Denied, Rule: "deny: rule 1"}, {Decision: permission.Denied, Rule: "ask: x: ask"}}, ""},
	} {
		got := deniedHint(&subagent.Result{Permissions: tt.records})
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%d records: %q, want %q", len(tt.records), got, tt.want)
		}
	}
}
