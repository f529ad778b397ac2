package subagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// What a turn comes to, and what of it is the output.
func parityOutcome(t *testing.T) {
	t.Run("A1 stop reasons", func(t *testing.T) {
		t.Parallel()
		for _, tt := range []struct {
			answer string // statement
			raw    *string
			stop   stopreason.Outcome
			kind   client.ErrorKind
		}{
			{"stop end_turn", ptr("end_turn"), stopreason.Completed, ""},
			{"stop max_tokens", ptr("max_tokens"), stopreason.MaxTokens, ""},
			{"stop refusal", ptr("refusal"), stopreason.Refusal, ""},
			{"stop cancelled", ptr("cancelled"), stopreason.Aborted, ""},
			{"stop max_turn_requests", ptr("max_turn_requests"), stopreason.Error, client.KindRemoteLimit},
			{"stop error", ptr("error"), stopreason.Error, client.KindProtocol},
			{"stop END_TURN", ptr("END_TURN"), stopreason.Error, client.KindProtocol},
			{`stop ""`, ptr(""), stopreason.Error, client.KindProtocol},
			{`reply {"stopReason":7}`, ptr("7"), stopreason.Error, client.KindProtocol},
			{`reply {"stopReason":null}`, nil, stopreason.Error, client.KindProtocol},
			{`reply {}`, nil, stopreason.Error, client.KindProtocol},
			{`reply null`, nil, stopreason.Error, client.KindProtocol},
		} {
			t.Run(tt.answer, func(t *testing.T) {
				res := play(t, "on session/prompt; text hello; "+tt.answer, nil).run("go")
				ended(t, res, tt.stop, tt.kind)
				if diff := cmp.Diff(tt.raw, res.StopReason); diff != "" {
					t.Errorf("the raw value (-want +got):\n%s", diff)
				}
				check.Equal(t, "output", res.Output, "hello")
				check.Equal(t, "success", res.Err() == nil, tt.stop == stopreason.Completed)
			})
		}
	})

	t.Run("A2 only text is output", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt
			text "one "
			update {"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"aGk=","mimeType":"image/png"}}
			update {"sessionUpdate":"agent_message_chunk","content":{"type":"resource_link","name":"n","uri":"file:///n"}}
			text "two"`, nil)
		run := s.start(t.Context())
		var contents []string
		for u := range run.Updates() {
			chunk := u.Value.AgentMessageChunk
			if chunk == nil {
				t.Fatalf("update %s", u.Raw)
			}
			contents = append(contents, client.BlockType(chunk.Content))
		}
		res := closed(t, run)
		check.Equal(t, "output", res.Output, "one two")
		check.Equal(t, "updates", strings.Join(contents, " "), "text image resource_link text")
	})

	t.Run("A17 max_tokens and refusal", func(t *testing.T) {
		t.Parallel()
		for _, stop := range []stopreason.Outcome{stopreason.MaxTokens, stopreason.Refusal} {
			res := play(t, fmt.Sprintf(`on session/prompt; text "so far"; stop %s`, stop), nil).run("go")
			ended(t, res, stop, "")
			check.Equal(t, "output", res.Output, "so far")
			var e *subagent.StopError
			if !errors.As(res.Err(), &e) || e.Stop != stop || errors.Is(res.Err(), context.Canceled) {
				t.Errorf("%s: Err() is %v", stop, res.Err())
			}
		}
	})

	t.Run("A26 thoughts are no output", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt
			thought "\n\nlet me think"
			text "the answer"
			thought "was that right?"`, nil)
		var thoughts []string
		run := s.start(t.Context())
		for u := range run.Updates() {
			if c := u.Value.AgentThoughtChunk; c != nil {
				thoughts = append(thoughts, c.Content.Text.Text)
			}
		}
		res := closed(t, run)
		ended(t, res, stopreason.Completed, "")
		check.Equal(t, "output", res.Output, "the answer")
		check.Equal(t, "messages", len(res.Messages), 1)
		check.Equal(t, "thoughts among the updates", strings.Join(thoughts, "|"), "\n\nlet me think|was that right?")

		res = play(t, `on session/prompt; thought "only this"`, nil).run("go")
		check.Equal(t, "output of thoughts alone", res.Output, "")
		check.Equal(t, "empty", res.Empty, true)
	})

	t.Run("A35 the last message that is not empty", func(t *testing.T) {
		t.Parallel()
		res := play(t, `on session/prompt
			text "Let me " message=m1
			text "look." message=m1
			text "I see." message=m2
			tool c1 "Read" status=completed
			text "Still there"
			thought "hm"
			text "The " message=m3
			text "answer." message=m3
			plan "done"
			text ""
			text " \n"`, nil).run("go")
		want := []subagent.Message{
			{ID: ptr("m1"), Text: "Let me look."}, {ID: ptr("m2"), Text: "I see."}, {Text: "Still there"},
			{ID: ptr("m3"), Text: "The answer."}, {Text: " \n"},
		}
		if diff := cmp.Diff(want, res.Messages); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
		check.Equal(t, "output", res.Output, "The answer.")
	})

	t.Run("A36 another session's update", func(t *testing.T) {
		t.Parallel()
		run := play(t, `on session/new
				text "early " session=session-1
				text "and theirs" session=session-9
			on session/prompt
				text "mine"
				text " and theirs" session=session-9
				tool c1 "Theirs" session=session-9
				text " again"`, nil).start(t.Context())
		read := ""
		for u := range run.Updates() {
			read += u.Value.AgentMessageChunk.Content.Text.Text
		}
		res := closed(t, run)
		ended(t, res, stopreason.Completed, "")
		check.Equal(t, "output", res.Output, "early mine again")
		check.Equal(t, "read", read, "early mine again")
		check.Equal(t, "tool calls", len(res.ToolCalls), 0)
		check.Equal(t, "counts", res.Counts, subagent.Counts{Updates: 3, Foreign: 3})
	})

	t.Run("A53 what adds nothing to the output", func(t *testing.T) {
		t.Parallel()
		res := play(t, `on session/prompt
			user "$prompt"
			tool c1 "A card" kind=edit status=completed text="content of a card"
			tool-update c1 text="more of it"
			plan "[x] a plan"
			commands "web: search"
			usage used=10 size=100
			mode architect
			update {"sessionUpdate":"brand_new","content":{"type":"text","text":"not a message"}}
			update {"content":{"type":"text","text":"of no kind"}}
			text "only this"`, nil).run("go")
		ended(t, res, stopreason.Completed, "")
		check.Equal(t, "output", res.Output, "only this")
		check.Equal(t, "messages", len(res.Messages), 1)
		check.Equal(t, "counts", res.Counts, subagent.Counts{Updates: 10, Unknown: 2})
		wantCalls := []subagent.ToolCall{{ID: "c1", Title: ptr("A card"), Kind: ptr("edit"), Status: "completed"}}
		if diff := cmp.Diff(wantCalls, res.ToolCalls); diff != "" {
			t.Errorf("tool calls (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]subagent.PlanEntry{{Content: "a plan", Priority: "medium", Status: "completed"}}, res.Plan); diff != "" {
			t.Errorf("plan (-want +got):\n%s", diff)
		}
	})

	t.Run("A44 noise on stdout", func(t *testing.T) {
		t.Parallel()
		const key = "hunter2-hunter2-hunter2"
		s := play(t, `on session/prompt
			noise "Loading plugins"
			noise "using key $env.AGENT_KEY"
			noise "x" size=100KB
			repeat 20
				noise '{"level":"info","msg":"$i"}'
			end
			text "fine"`, nil, "AGENT_KEY="+key)
		res := s.run("go")
		ended(t, res, stopreason.Completed, "")
		check.Equal(t, "output", res.Output, "fine")
		check.Equal(t, "lines", res.Noise.Lines, 23)
		if n := len(res.Noise.First); n < 3 || n >= 23 {
			t.Fatalf("%d lines of noise are kept, want the first few", n)
		}
		check.Equal(t, "the first line", res.Noise.First[0], "Loading plugins")
		check.Has(t, res.Noise.First[1], "using key ")
		for _, line := range res.Noise.First {
			if len(line) > 1000 || strings.Contains(line, key) {
				t.Errorf("kept %.1000q", line)
			}
		}

		// Where it is the reason, the error has it.
		s = play(t, `noise "Usage: agent [acp] $env.AGENT_KEY"; exit 2`, nil, "AGENT_KEY="+key)
		e := s.refused(t.Context(), s.request("go"), client.KindExit)
		check.Has(t, e.Error(), "Usage: agent [acp]", "exit status 2")
		if strings.Contains(e.Error(), key) {
			t.Errorf("the error shows the key: %v", e)
		}
	})

	t.Run("A45 the error of a failed run", func(t *testing.T) {
		t.Parallel()
		res := play(t, `on session/prompt; text "so far"; stderr "ran out of cheese\n"; exit 3`, nil).run("go")
		ended(t, res, stopreason.Error, client.KindExit)
		check.Equal(t, "step", res.Error.Step, client.StepPrompt)
		check.Equal(t, "exit", res.Exit.String(), "exit status 3")
		check.Equal(t, "rung", res.Exit.Rung, client.RungExit)
		check.Equal(t, "stderr", res.StderrTail, "ran out of cheese\n")
		check.Equal(t, "output", res.Output, "so far")
		check.Equal(t, "retryable", res.Error.Retryable, false)
		check.Has(t, res.Error.Message, "exit status 3", "ran out of cheese")

		res = play(t, `on session/prompt; raise KILL`, nil).run("go")
		ended(t, res, stopreason.Error, client.KindExit)
		check.Equal(t, "exit", res.Exit.String(), "signal SIGKILL")
		check.Equal(t, "code", res.Exit.Code, nil)
		check.Has(t, res.Error.Message, "SIGKILL")
	})

	t.Run("B7 typed errors", func(t *testing.T) {
		t.Parallel()
		for name, tt := range map[string]struct {
			script string
			kind   client.ErrorKind
			check  func(t *testing.T, res *subagent.Result)
		}{
			"the agent's own": {`on session/prompt; fail -32603 "no luck" {"detail":"very little"}`, client.KindAgent, func(t *testing.T, res *subagent.Result) {
				if res.Error.Code == nil || *res.Error.Code != -32603 || string(res.Error.Data) != `{"detail":"very little"}` {
					t.Errorf("code %v, data %s", res.Error.Code, res.Error.Data)
				}
				re, ok := errors.AsType[*acp.RequestError](res.Err())
				if !ok || re.Code != -32603 || re.Message != "no luck" {
					t.Errorf("it wraps %#v", re)
				}
				check.Has(t, res.Error.Message, "no luck")
			}},
			"a code of its own": {`on session/prompt; reply error 401 "bad key" ["a list"]`, client.KindAgent, func(t *testing.T, res *subagent.Result) {
				if res.Error.Code == nil || *res.Error.Code != 401 || string(res.Error.Data) != `["a list"]` {
					t.Errorf("code %v, data %s", res.Error.Code, res.Error.Data)
				}
			}},
			"silence": {`on session/prompt; never reply`, client.KindIdleTimeout, func(t *testing.T, res *subagent.Result) {
				check.Equal(t, "stop", res.Stop, stopreason.Aborted)
			}},
			"a violation of the protocol": {`on session/prompt; reply "what?"`, client.KindProtocol, nil},
			"a closed transport": {`on session/prompt; stderr "bye\n"; exit 9`, client.KindExit, func(t *testing.T, res *subagent.Result) {
				check.Equal(t, "exit", res.Exit.String(), "exit status 9")
				check.Equal(t, "stderr", res.StderrTail, "bye\n")
			}},
			"a closed stdout": {`on session/prompt; stdout close; wait forever`, client.KindTransport, nil},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				o := &subagent.ACPOptions{Graces: shortGraces}
				if tt.kind == client.KindIdleTimeout {
					o.IdleTimeout = 300 * time.Millisecond
				}
				res := play(t, tt.script, o).run("go")
				check.Equal(t, "kind", res.Error.Kind, tt.kind)
				e, ok := errors.AsType[*subagent.Error](res.Err())
				if !ok || e != res.Error || e.Step != client.StepPrompt || e.Message == "" {
					t.Errorf("Err() is %#v", res.Err())
				}
				if tt.check != nil {
					tt.check(t, res)
				}
			})
		}
	})

	t.Run("C8 exit code and stderr", func(t *testing.T) {
		t.Parallel()
		res := play(t, `on session/prompt; stderr "one line of log\n"; text ok`, nil).run("go")
		ended(t, res, stopreason.Completed, "")
		if res.Exit == nil || res.Exit.Code == nil || *res.Exit.Code != 0 || res.Exit.Signal != nil {
			t.Errorf("exit %v", res.Exit)
		}
		check.Equal(t, "stderr", res.StderrTail, "one line of log\n")
		check.Equal(t, "stderr truncated", res.StderrTruncated, false)

		res = play(t, `on session/prompt; stderr "Traceback (most recent call last):\n"; text ok
			on eof; exit 1`, nil).run("go")
		check.Equal(t, "exit", res.Exit.String(), "exit status 1")
		check.Has(t, res.StderrTail, "Traceback")
	})

	t.Run("C12 versions are recorded together", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on initialize
				answer {"agentInfo":{"name":"thinker","version":"4.5"}}
			on session/new
				answer {"modes":{"currentModeId":"plan","availableModes":[{"id":"plan","name":"Plan"}]},
					"configOptions":[{"id":"m","name":"Model","category":"model","type":"select","currentValue":"big-1","options":[]}]}
			on session/prompt
				mode code
				text ok`, nil)
		var start *subagent.Start
		req := s.request("go")
		req.Labels = map[string]string{"tenant": "t1"}
		req.Events = func(e subagent.Event) {
			if e.Type == subagent.EventStart {
				start = e.Start
			}
		}
		res := s.do(req)
		if start == nil {
			t.Fatal("there was no start event")
		}
		self := client.Self()
		for _, got := range []struct {
			of       string
			protocol *int
			client   client.Implementation
			agent    subagent.Agent
			model    *string
			mode     *string
			wantMode string
			labels   map[string]string
			session  *string
		}{
			{"start", start.ProtocolVersion, start.Client, start.Agent, start.Model, start.Mode, "plan", start.Labels, start.SessionID},
			{"result", res.ProtocolVersion, res.Client, res.Agent, res.Model, res.Mode, "code", res.Labels, res.SessionID},
		} {
			want := fmt.Sprint(1, self.Name, self.Version, "thinker", "4.5", "big-1", got.wantMode, map[string]string{"tenant": "t1"}, "session-1")
			deref := func(s *string) string {
				if s == nil {
					return "null"
				}
				return *s
			}
			is := fmt.Sprint(*got.protocol, got.client.Name, got.client.Version, deref(got.agent.Name), deref(got.agent.Version),
				deref(got.model), deref(got.mode), got.labels, deref(got.session))
			check.Equal(t, got.of, is, want)
		}
		var told struct{ ClientInfo client.Implementation }
		if err := json.Unmarshal([]byte(s.Params("initialize")), &told); err != nil {
			t.Fatal(err)
		}
		check.Equal(t, "what the agent was told", told.ClientInfo, res.Client)
	})

	t.Run("C20 cancel is no rollback", func(t *testing.T) {
		t.Parallel()
		const calls = `on session/prompt
			tool done "Done" status=completed
			tool bad "Failed" status=failed
			tool open "Begun" status=in_progress
			tool asked "Only announced" status=pending
			text "at work"
			`
		statuses := func(res *subagent.Result) string {
			var all []string
			for _, c := range res.ToolCalls {
				all = append(all, c.ID+" "+c.Status)
			}
			return strings.Join(all, ", ")
		}
		run := play(t, calls+"wait cancel; stop cancelled", nil).start(t.Context())
		for u := range run.Updates() {
			if u.Value.AgentMessageChunk != nil {
				run.Cancel()
			}
		}
		res := closed(t, run)
		ended(t, res, stopreason.Aborted, "")
		check.Equal(t, "after a cancel", statuses(res), "done completed, bad failed, open cancelled, asked cancelled")

		res = play(t, calls, nil).run("go")
		ended(t, res, stopreason.Completed, "")
		check.Equal(t, "without one", statuses(res), "done completed, bad failed, open unknown, asked unknown")
	})

	t.Run("C21 what is late is not output", func(t *testing.T) {
		t.Parallel()
		const late = `on session/prompt
			text "the answer"
			stop end_turn
			text ", and more"
			tool c1 "Late"
			write sent
			`
		s := play(t, late, nil)
		run := s.start(t.Context())
		outcome(t, run)
		s.Await("sent")
		res := closed(t, run)
		check.Equal(t, "output", res.Output, "the answer")
		check.Equal(t, "counts", res.Counts, subagent.Counts{Updates: 3, Late: 2})
		check.Has(t, strings.Join(res.Warnings, "\n"), "after it had ended the turn")

		res = play(t, late+"exit 0", &subagent.ACPOptions{SettleTime: hang / 2}).run("go")
		check.Equal(t, "output with a settle time", res.Output, "the answer, and more")
		check.Equal(t, "late", res.Counts.Late, 0)
	})
}

func ptr[T any](v T) *T { return &v }
