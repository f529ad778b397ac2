package faults

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/subagent"
)

// What is given to an agent that does not end by itself, and to one that SIGTERM does
// not end either.
var (
	isDeaf     = deafTo(client.RungCancel, client.RungClose, client.RungEOF)
	deafToTerm = deafTo(client.RungCancel, client.RungClose, client.RungEOF, client.RungTerm)
)

// soonAfter carries the run out and checks that its outcome comes after the agent has
// written the file without any of the waits, which are longer.
func soonAfter(file string) func(*scene) {
	return func(s *scene) {
		run := s.start()
		s.within(hang, "the outcome", func() { <-run.Done() })
		settled := time.Now()
		s.finish(run)
		info, err := os.Stat(filepath.Join(s.dir, file))
		if err != nil {
			s.Fatal(err)
		}
		if took := settled.Sub(info.ModTime()); took > hang/2 {
			s.Errorf("the outcome came %v after the end", took)
		}
	}
}

func exitWithPromptPending() row {
	return row{id: "T6", does: "exits with the prompt pending", forms: []form{
		{
			script: "t06-exits-with-prompt-pending", do: soonAfter("gone"),
			want: "error: exit at session/prompt; no text; exit status 7",
			check: func(s *scene) {
				check.Has(s, s.message(), "exit status 7", "panic: it is Monday")
				check.Equal(s, "stderr", s.result.StderrTail, "panic: it is Monday\n")
				check.Equal(s, "retryable", s.result.Error.Retryable, false)
			},
		},
		{
			name: "by a signal, in mid answer", script: `on session/prompt; text "half"; write gone; raise TERM`, do: soonAfter("gone"),
			want:  `error: exit at session/prompt; "half"; 1 updates; signal SIGTERM`,
			check: func(s *scene) { check.Has(s, s.message(), "SIGTERM") },
		},
		{
			name: "as if all were well", script: `on session/prompt; text "half"; tool c1 "Look"; exit 0`,
			want:  `error: exit at session/prompt; "half"; 2 updates; exit status 0`,
			check: func(s *scene) { check.Equal(s, "tool call", s.result.ToolCalls[0].Status, "unknown") },
		},
		{
			name: "after 1 MB of stderr", script: `on session/prompt; stderr "trace\n" size=1MB; stderr "\nfatal: the end\n"; exit 1`,
			want: "error: exit at session/prompt; no text; exit status 1",
			check: func(s *scene) {
				check.Has(s, s.message(), "fatal: the end")
				check.Equal(s, "stderr ends", strings.HasSuffix(s.result.StderrTail, "trace\ntrac\nfatal: the end\n"), true)
				check.Equal(s, "truncated", s.result.StderrTruncated, true)
			},
		},
		{
			name: "in the middle of a frame", script: `on session/prompt; text "half"; raw '{"jsonrpc":"2.0","id":3,"result":{"stopRea'; exit 9`,
			want: `error: exit at session/prompt; "half"; 1 updates; 1 lines of noise; exit status 9`,
			check: func(s *scene) {
				check.Equal(s, "noise", s.result.Noise.First[0], `{"jsonrpc":"2.0","id":3,"result":{"stopRea`)
			},
		},
		{
			name: "with a permission pending",
			script: `on session/prompt
				background
					wait file asked
					exit 6
				end
				permission c1 "Write"
					option no reject_once "No"
				end`,
			given: pends,
			want:  "error: exit at session/prompt; no text; cancelled; exit status 6",
			check: func(s *scene) { check.Equal(s, "rule", s.result.Permissions[0].Rule, "connection ended") },
		},
		{
			name: "before it has read the prompt", script: `on session/new; reply {"sessionId": "$session"}; exit 5`,
			want: "error: exit at session/prompt; no text; exit status 5",
		},
		{
			name: "with session/new pending", script: `on session/new; stderr "no disk\n"; exit 4`,
			want: "not started: exit at session/new",
			check: func(s *scene) {
				check.Has(s, s.message(), "exit status 4", "no disk")
				check.Equal(s, "exit", *s.err.Partial.Exit.Code, 4)
				check.Equal(s, "retryable", s.err.Retryable, true)
			},
		},
		{
			name: "with a consumer that is still at work", script: `on session/prompt; burst 50 "$i "; exit 7`, slow: 5 * time.Millisecond,
			want: "error: exit at session/prompt; 141 bytes of text; 50 updates; exit status 7",
			do: func(s *scene) {
				updates := 0
				for _, e := range s.told() {
					if e.Type == subagent.EventUpdate {
						updates++
					}
				}
				check.Equal(s, "update events", updates, 50)
			},
		},
	}}
}

func childHoldsStdout() row {
	const child = `on session/prompt
		spawn STREAMS
			append sleeper.pid $pid
			wait forever
		end
		wait file sleeper.pid
		text "half an answer"
	`
	with := func(streams, end string) string { return strings.Replace(child, "STREAMS", streams, 1) + end }
	return row{id: "T7", does: "is killed while a child of it holds its stdout", forms: []form{
		{script: "t07-child-holds-stdout", want: `error: exit at session/prompt; "half an answer"; 1 updates; signal SIGKILL`},
		{
			name: "exits, and the child is in a session of its own", script: with("session stdin stdout stderr", "exit 3"),
			want: `error: exit at session/prompt; "half an answer"; 1 updates; exit status 3`,
		},
		{
			name: "answers and exits", given: lingers(), script: with("stdout stderr", "stop end_turn; exit 0"),
			want: `completed; "half an answer"; 1 updates; exit status 0`,
		},
		{
			name: "answers and exits, and the child ignores SIGTERM", given: lingers(client.RungTerm),
			script: `on session/prompt
				spawn stdout
					ignore TERM
					append sleeper.pid $pid
					wait forever
				end
				wait file sleeper.pid
				stop end_turn
				exit 0`,
			want: "completed; no text; exit status 0",
		},
		{
			name: "and the child goes on writing",
			script: `on session/prompt
				spawn stdout
					noise "I am here"
					append sleeper.pid $pid
					repeat forever
						noise "still here"
						wait 1ms
					end
				end
				wait file sleeper.pid
				text "half"
				raise KILL`,
			check: func(s *scene) {
				check.Equal(s, "stop", s.result.Stop, "error")
				check.Equal(s, "kind", s.result.Error.Kind, client.KindExit)
				check.Equal(s, "text", s.text(), "half")
				check.Equal(s, "exit", s.result.Exit.String(), "signal SIGKILL")
				s.shortNoise()
			},
		},
		{
			name: "before there is a session",
			script: `on session/new
				spawn stdout stderr stdin session
					write ready
					wait forever
				end
				wait file ready
				raise KILL`,
			want:  "not started: exit at session/new",
			check: func(s *scene) { check.Has(s, s.message(), "SIGKILL") },
		},
	}}
}

func stderrWithoutNewline() row {
	bounded := func(s *scene) {
		if n := len(s.result.StderrTail); n > 64<<10 || n < 8<<10 {
			s.Errorf("%d bytes of stderr are kept", n)
		}
		check.Equal(s, "truncated", s.result.StderrTruncated, true)
	}
	return row{id: "T8", does: "writes 200 KB to stderr, without a newline, before it answers initialize", forms: []form{
		{script: "t08-stderr-without-newline", want: "completed; no text; exit status 0", check: bounded},
		{
			name: "10 MB in mid turn", script: `on session/prompt; text "one "; stderr size=10MB; text "two"`,
			want: `completed; "one two"; 2 updates; exit status 0`, check: bounded,
		},
		{
			name: "without end, until it is told to go",
			script: `on start
				background
					repeat 50
						stderr "on and on\n" size=4KB
					end
					write flooded
					repeat forever
						stderr "on and on\n" size=4KB
					end
				end
				on session/prompt; wait file flooded; text "done"`,
			want: `completed; "done"; 1 updates; exit status 0`, check: bounded,
		},
		{
			name: "to a run that keeps 1,000 bytes", script: `on initialize; stderr size=200KB; stderr "\nthe end\n"`,
			given: func(s *scene) { s.opts.StderrTail = 1000 },
			want:  "completed; no text; exit status 0",
			check: func(s *scene) {
				if n := len(s.result.StderrTail); n > 1000 || !strings.HasSuffix(s.result.StderrTail, "\nthe end\n") {
					s.Errorf("%d bytes are kept: %q", n, s.result.StderrTail)
				}
			},
		},
		{
			name: "of bytes that are no text", script: `on initialize; stderr "\xff\xfe\x00\x1b[31m" size=200KB; stderr "\nend\n"`,
			want: "completed; no text; exit status 0",
			check: func(s *scene) {
				check.Equal(s, "valid", strings.ToValidUTF8(s.result.StderrTail, ""), s.result.StderrTail)
				check.Equal(s, "truncated", s.result.StderrTruncated, true)
				check.Equal(s, "ends", strings.HasSuffix(s.result.StderrTail, "\nend\n"), true)
			},
		},
		{
			name: "and closes it", script: `on initialize; stderr "bye"; stderr close` + "\n" + `on session/prompt; text "done"`,
			want:  `completed; "done"; 1 updates; exit status 0`,
			check: func(s *scene) { check.Equal(s, "stderr", s.result.StderrTail, "bye") },
		},
		{
			name: "and then exits", script: `stderr size=200KB; exit 1`,
			want: "not started: exit at initialize",
			check: func(s *scene) {
				check.Has(s, s.message(), "exit status 1")
				if n := len(s.message()); n > 2000 {
					s.Errorf("the message has %d bytes", n)
				}
			},
		},
	}}
}

func closesStdout() row {
	return row{id: "T21", does: "closes its stdout in mid turn and lives on", forms: []form{
		{
			script: "t21-closes-stdout", given: deafToTerm,
			want:  `error: transport at session/prompt; "half an answer"; 1 updates; signal SIGKILL by sigkill`,
			check: func(s *scene) { check.Has(s, s.message(), "closed its stdout", "lives on") },
		},
		{
			name: "and ends on EOF", script: `on session/prompt; text "half"; stdout close; wait forever`,
			want: `error: transport at session/prompt; "half"; 1 updates; exit status 0`,
		},
		{
			name: "and its stderr", script: `on session/prompt; text "half"; stderr "bye\n"; stdout close; stderr close; wait forever`,
			want:  `error: transport at session/prompt; "half"; 1 updates; exit status 0`,
			check: func(s *scene) { check.Equal(s, "stderr", s.result.StderrTail, "bye\n") },
		},
		{
			name: "and its stdin too", given: isDeaf, script: `on session/prompt; text "half"; stdin close; stdout close; wait forever` + "\non eof; wait forever",
			want: `error: transport at session/prompt; "half"; 1 updates; signal SIGTERM by sigterm`,
		},
		{
			name: "after its answer", script: `on session/prompt; text "whole"; stop end_turn; stdout close; wait forever`,
			want: `completed; "whole"; 1 updates; exit status 0`,
		},
		{
			name: "and exits with its own status on SIGTERM", given: isDeaf,
			script: "on session/prompt; stdout close; wait forever\non eof; wait forever\non signal TERM; exit 42",
			want:   "error: transport at session/prompt; no text; exit status 42 by sigterm",
		},
		{
			name: "with initialize pending", script: `on initialize; stdout close; wait forever`,
			want:  "not started: transport at initialize",
			check: func(s *scene) { check.Has(s, s.message(), "closed its stdout") },
		},
		{
			name: "with session/new pending", given: isDeaf, script: "on session/new; stdout close; wait forever\non eof; wait forever",
			want: "not started: transport at session/new",
		},
		{
			name: "with a permission pending",
			script: `on session/prompt
				background
					wait file asked
					stdout close
				end
				permission c1 "Write"
					option no reject_once "No"
				end
				wait forever`,
			given: pends,
			want:  "error: transport at session/prompt; no text; cancelled; exit status 0",
		},
		{
			name: "but a child holds it, and nothing comes",
			script: `on session/new
				spawn stdout
					write ready
					wait forever
				end
				wait file ready
				on session/prompt
				text "half"
				stdout close
				wait forever`,
			given: all(isDeaf, idleTimeout(idle)),
			check: func(s *scene) {
				check.Equal(s, "stop", s.result.Stop, "aborted")
				check.Equal(s, "kind", s.result.Error.Kind, client.KindIdleTimeout)
				check.Equal(s, "text", s.text(), "half")
			},
		},
	}}
}

func closesStdin() row {
	return row{id: "T22", does: "closes its stdin and goes on answering", forms: []form{
		{script: "t22-closes-stdin", given: isDeaf, want: `completed; "an answer"; 1 updates; signal SIGTERM by sigterm`},
		{
			name: "and exits when it is done", script: `on session/prompt; stdin close; repeat 100; text "$i "; end; stop end_turn; exit 0`,
			want:  "completed; 292 bytes of text; 100 updates; exit status 0",
			check: func(s *scene) { s.same("text", s.text(), numbered("%d ", 100)) },
		},
		{
			name: "and asks, though it cannot hear the answer",
			script: `on session/prompt
				stdin close
				notify _vendor/note
				send {"jsonrpc": "2.0", "id": "p1", "method": "session/request_permission", "params": {"sessionId": "session-1", "toolCall": {"toolCallId": "c1"}, "options": [{"optionId": "no", "name": "No", "kind": "reject_once"}]}}
				text "done"
				stop end_turn
				exit 0`,
			check: func(s *scene) {
				check.Equal(s, "stop", s.result.Stop, "completed")
				check.Equal(s, "text", s.text(), "done")
				check.Equal(s, "permissions", len(s.result.Permissions), 1)
			},
		},
		{
			name: "with only a part of the prompt read", given: func(s *scene) { s.request.Prompt = subagent.Text(strings.Repeat("p", 4<<20)) },
			script: `on session/new
				stdin stop
				background
					wait file read-again
					stdin close
					text "an answer"
					send {"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn"}}
					exit 0
				end`,
			do: func(s *scene) {
				run := s.start()
				s.until("the prompt", s.stdinWaits)
				s.write("read-again")
				s.finish(run)
			},
			want: `completed; "an answer"; 1 updates; exit status 0`,
		},
		{
			name: "before the prompt, and is silent", given: isDeaf,
			script: `on session/new; stdin close; reply {"sessionId": "$session"}` + "\non eof; wait forever",
			check: func(s *scene) {
				check.Equal(s, "stop", s.result.Stop, "error")
				check.Equal(s, "kind", s.result.Error.Kind, client.KindTransport)
				check.Has(s, s.message(), "cannot write to the agent")
				check.Equal(s, "exit", s.result.Exit.String(), "signal SIGTERM")
			},
		},
		{
			name: "and is silent; then it is cancelled", given: isDeaf, cancelOn: "half",
			script: `on session/prompt; stdin close; text "half"; wait forever` + "\non eof; wait forever",
			want:   `aborted; "half"; 1 updates; signal SIGTERM by sigterm`,
		},
	}}
}
