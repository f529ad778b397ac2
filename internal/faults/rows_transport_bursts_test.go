package faults

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/subagent"
)

// heldBack is a consumer that stops until the agent is a third of so many steps before
// it, and a while longer, and then checks ten times a step that it is not more than all
// of them. A step is what the script does between two times that it writes its count to the
// file sent.
func heldBack(ahead, updatesPerStep int) func(*scene) {
	return func(s *scene) {
		sent := func() int {
			n, _ := strconv.Atoi(s.file("sent"))
			return n
		}
		updates, most := 0, 0
		s.listen(func(e subagent.Event) {
			if e.Type != subagent.EventUpdate {
				return
			}
			if updates++; updates == 1 {
				for begin := time.Now(); sent() < ahead/3+1 && time.Since(begin) < hang; {
					time.Sleep(2 * time.Millisecond)
				}
				time.Sleep(500 * time.Millisecond) // the fault: it could go on
			}
			if updates%max(1, updatesPerStep/10) == 0 || updates == 1 {
				most = max(most, sent()-updates/updatesPerStep)
			}
		})
		s.delegate(s.Context())
		if most > ahead {
			s.Errorf("the agent was %d steps ahead, more than %d: its updates fill the memory", most, ahead)
		}
		if most < ahead/3 {
			s.Errorf("the agent was only %d steps ahead", most)
		}
	}
}

func burstToSlowConsumer() row {
	return row{id: "T1", does: "sends 5,000 updates in one burst to a slow consumer, then its answer", forms: []form{
		{
			script: "t01-burst", slow: time.Millisecond,
			want: "completed; 53893 bytes of text; 5000 updates; exit status 0",
			do: func(s *scene) {
				var told strings.Builder
				for _, e := range s.told() {
					told.WriteString(said(e))
				}
				s.same("text", s.text(), numbered("chunk %d\n", 5000))
				s.same("events", told.String(), s.text())
			},
		},
		{
			name: "to one that reads Run.Updates", script: `on session/prompt; burst 2000 "chunk $i\n"`,
			want: "completed; 20893 bytes of text; 2000 updates; exit status 0",
			do: func(s *scene) {
				run := s.start()
				var got strings.Builder
				s.within(hang, "reading", func() {
					for u := range run.Updates() {
						time.Sleep(500 * time.Microsecond) // the fault
						text, _ := u.Text()
						got.WriteString(text)
					}
				})
				s.finish(run)
				s.same("updates", got.String(), numbered("chunk %d\n", 2000))
			},
		},
		{
			name: "30 MB of 100 KB each",
			script: `on session/prompt
				repeat 300
					burst 1 "x" size=100KB
					write sent "$i"
				end`,
			given: func(s *scene) { s.opts.MaxOutput = 32 << 20 },
			want:  "completed; 30000000 bytes of text; 300 updates; exit status 0",
			do:    heldBack(100, 1), // 8 MiB, and what the pipe and the buffers hold
		},
		{
			name: "100,000 tiny ones",
			script: `on session/prompt
				repeat 100
					burst 1000 "$i "
					write sent "$i"
				end`,
			want: "completed; 389300 bytes of text; 100000 updates; exit status 0",
			do:   heldBack(50, 1000),
		},
		{
			name: "thoughts, plans and tool calls among them", slow: 100 * time.Microsecond,
			script: `on session/prompt
				repeat 500
					thought "t$i "
					tool "c$i" "Look" kind=read
					text "$i "
					plan "[x] one" "two $i"
					tool-update "c$i" status=completed
				end`,
			want: "completed; 1892 bytes of text; 2500 updates; exit status 0",
			check: func(s *scene) {
				s.same("text", s.text(), numbered("%d ", 500))
				check.Equal(s, "messages", len(s.result.Messages), 500)
				check.Equal(s, "tool calls", len(s.result.ToolCalls), 500)
				check.Equal(s, "plan", s.result.Plan[1].Content, "two 500")
			},
		},
		{
			name:   "cancelled in the middle",
			script: `on session/prompt; repeat forever; burst 100 "x" size=1KB; end`,
			slow:   100 * time.Microsecond, cancelOn: "xxx",
			check: func(s *scene) {
				check.Equal(s, "stop", s.result.Stop, "aborted")
				check.Equal(s, "raw stop reason", *s.result.StopReason, "cancelled")
				check.Equal(s, "exit", s.result.Exit.String(), "exit status 0")
				if n := len(s.text()); n == 0 || n%1000 != 0 && !s.result.Truncated {
					s.Errorf("%d bytes of text", n)
				}
			},
		},
	}}
}

// deafToEOF is for an agent that must not end by the end of its stdin before it ends by
// itself.
const deafToEOF = "\non eof; wait forever"

func burstThenExit() row {
	whole := func(s *scene) {
		want := ""
		for i := range 900 {
			want += filled("chunk "+strconv.Itoa(i+1)+" ", 2000)
		}
		s.same("text", s.text(), want)
	}
	return row{id: "T5", does: "sends 900 updates of 2 KB and its answer, and exits at once", forms: []form{
		{
			script: "t05-burst-then-exit",
			want:   "completed; 1800000 bytes of text; 900 updates; exit status 0",
			check:  whole,
		},
		{
			name: "to a slow consumer", script: "t05-burst-then-exit", slow: time.Millisecond,
			want: "completed; 1800000 bytes of text; 900 updates; exit status 0",
			do: func(s *scene) {
				updates := 0
				for _, e := range s.told() {
					if e.Type == subagent.EventUpdate {
						updates++
					}
				}
				check.Equal(s, "update events", updates, 900)
				whole(s)
			},
		},
		{
			name:   "killed",
			script: `on session/prompt; burst 900 "chunk $i " size=2KB; stop end_turn; raise KILL` + deafToEOF,
			want:   "completed; 1800000 bytes of text; 900 updates; signal SIGKILL",
			check:  whole,
		},
		{
			name:   "with another status",
			script: `on session/prompt; burst 900 "chunk $i " size=2KB; stop end_turn; exit 3` + deafToEOF,
			want:   "completed; 1800000 bytes of text; 900 updates; exit status 3",
			check:  whole,
		},
		{
			name:   "and no newline after the answer",
			script: `on session/prompt; burst 900 "chunk $i " size=2KB; newline ""; stop end_turn; exit 0`,
			want:   "completed; 1800000 bytes of text; 900 updates; exit status 0",
			check:  whole,
		},
		{
			name:   "the last update of 1 MB",
			script: `on session/prompt; burst 99 "." size=2KB; text "y" size=1MB; stop end_turn; exit 0`,
			want:   "completed; 1198000 bytes of text; 100 updates; exit status 0",
			check: func(s *scene) {
				s.same("text", s.text(), strings.Repeat(".", 198000)+strings.Repeat("y", 1000000))
			},
		},
		{
			name:   "20,000 tiny updates",
			script: `on session/prompt; burst 20000 "$i "; stop max_tokens; exit 0`,
			want:   "max_tokens; 108894 bytes of text; 20000 updates; exit status 0",
			check:  func(s *scene) { s.same("text", s.text(), numbered("%d ", 20000)) },
		},
		{
			name: "updates of every other kind",
			script: `on session/prompt
				repeat 100
					text "$i "
					thought "hm"
					user "echo"
					tool "c$i" "Look" kind=read status=in_progress
					tool-update "c$i" status=completed
					plan "step $i"
					usage used=$i size=1000
					mode "mode-$i"
					commands "test: it"
				end
				stop refusal
				exit 0`,
			want: "refusal; 292 bytes of text; 900 updates; exit status 0",
			check: func(s *scene) {
				s.same("text", s.text(), numbered("%d ", 100))
				check.Equal(s, "last call", s.result.ToolCalls[99].Status, "completed")
				check.Equal(s, "plan", s.result.Plan[0].Content, "step 100")
				check.Equal(s, "usage", *s.result.Usage.ContextUsed, 100)
				check.Equal(s, "mode", *s.result.Mode, "mode-100")
			},
		},
		{
			name:   "with 1 MB of stderr in between",
			script: `on session/prompt; burst 450 "a" size=2KB; stderr size=1MB; burst 450 "b" size=2KB; stderr "\nbye\n"; stop end_turn; exit 0`,
			want:   "completed; 1800000 bytes of text; 900 updates; exit status 0",
			check: func(s *scene) {
				check.Equal(s, "stderr ends", strings.HasSuffix(s.result.StderrTail, "\nbye\n"), true)
				check.Equal(s, "truncated", s.result.StderrTruncated, true)
			},
		},
		{
			name: "ten times in a row", script: "t05-burst-then-exit",
			want: "completed; 1800000 bytes of text; 900 updates; exit status 0",
			do: func(s *scene) {
				for range 10 {
					s.delegate(s.Context())
					whole(s)
					check.Equal(s, "exit", s.result.Exit.String(), "exit status 0")
				}
			},
		},
	}}
}

func responseThenExit() row {
	// Wait is called before the agent answers.
	waiting := func(s *scene) {
		run := s.start()
		var waiters sync.WaitGroup
		for range 5 {
			waiters.Go(func() {
				res, err := run.Wait(s.Context())
				if err != nil || !res.Stop.Success() {
					s.Errorf("Wait: %+v, %v", res, err)
				}
			})
		}
		s.within(hang, "Wait", waiters.Wait)
		s.finish(run)
	}
	return row{id: "T17", does: "sends one answer and exits, while it is waited for", forms: []form{
		{script: "t17-response-then-exit", do: waiting, want: "completed; no text; exit status 0"},
		{name: "status 1", script: `on session/prompt; stop end_turn; exit 1` + deafToEOF, do: waiting, want: "completed; no text; exit status 1"},
		{name: "killed", script: `on session/prompt; stop end_turn; raise KILL` + deafToEOF, do: waiting, want: "completed; no text; signal SIGKILL"},
		{
			name: "no newline", do: waiting, script: `on session/prompt; newline ""; stop end_turn; exit 0`,
			want: "completed; no text; exit status 0",
		},
		{
			name: "answer and updates in one write", do: waiting,
			script: `on session/prompt
				never reply
				set u '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"all"}}}}'
				raw "$u\n{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"stopReason\":\"end_turn\"}}\n"
				exit 0`,
			want: `completed; "all"; 1 updates; exit status 0`,
		},
		{
			name: "stdout closed first", do: waiting, script: `on session/prompt; stop end_turn; stdout close; stderr close; exit 5` + deafToEOF,
			want: "completed; no text; exit status 5",
		},
		{
			name: "an error as the answer", script: `on session/prompt; text "half"; fail -32603 "out of cheese"; exit 4` + deafToEOF,
			want:  `error: agent at session/prompt; "half"; 1 updates; exit status 4`,
			check: func(s *scene) { check.Has(s, s.message(), "out of cheese") },
		},
	}}
}

func inOrder() row {
	return row{id: "T18", does: "sends 200 numbered chunks", forms: []form{
		{
			script: "t18-numbered", want: "completed; 692 bytes of text; 200 updates; exit status 0",
			do: func(s *scene) {
				var told strings.Builder
				for _, e := range s.told() {
					told.WriteString(said(e))
				}
				s.same("text", s.text(), numbered("%d ", 200))
				s.same("events", told.String(), s.text())
			},
		},
		{
			name: "each a message of its own", want: "completed; 692 bytes of text; 200 updates; exit status 0",
			script: `on session/prompt; repeat 200; text "$i " message="m$i"; end`,
			check: func(s *scene) {
				check.Equal(s, "messages", len(s.result.Messages), 200)
				for i, m := range s.result.Messages {
					check.Equal(s, "message", m.Text, strconv.Itoa(i+1)+" ")
					check.Equal(s, "id", *m.ID, "m"+strconv.Itoa(i+1))
				}
				check.Equal(s, "output", s.result.Output, "200 ")
			},
		},
		{
			name: "in pieces of lines", want: "completed; 492 bytes of text; 200 updates; exit status 0",
			script: `on session/prompt
				repeat 200
					raw '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1",'
					raw '"update":{"sessionUpdate":"agent_message_chunk",'
					raw "\"content\":{\"type\":\"text\",\"text\":\"$i"
					raw "\"}}}}\n"
				end`,
			check: func(s *scene) { s.same("text", s.text(), numbered("%d", 200)) },
		},
		{
			name: "a request after each", want: "completed; 492 bytes of text; 100 updates; 100 permissions; exit status 0",
			script: `on session/prompt
				repeat 100
					text "$i,$n "
					permission "c$i" "Ask $i"
						option no reject_once "No"
					end
				end`,
			do: func(s *scene) {
				var order strings.Builder
				for _, e := range s.told() {
					switch e.Type {
					case subagent.EventUpdate:
						order.WriteString(strings.TrimSuffix(said(e), ",1 "))
					case subagent.EventPermission:
						order.WriteString(e.Permission.ToolCallID)
					}
				}
				want := ""
				for i := range 100 {
					n := strconv.Itoa(i + 1)
					want += n + "c" + n
				}
				s.same("events", order.String(), want)
			},
		},
	}}
}
