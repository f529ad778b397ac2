package faults

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// longPrompt is given to a run whose prompt has so many bytes.
func longPrompt(bytes int) func(*scene) {
	return func(s *scene) { s.request.Prompt = subagent.Text(strings.Repeat("p", bytes)) }
}

func writesBeforeItReads() row {
	echoed := func(bytes int) func(*scene) {
		return func(s *scene) { s.same("the prompt as it came", s.text(), strings.Repeat("p", bytes)) }
	}
	return row{id: "T9", does: "writes 256 KB to stdout before it reads; the prompt has 128 KB", forms: []form{
		{
			script: "t09-writes-before-it-reads", given: longPrompt(128 << 10), check: echoed(128 << 10),
			want: "completed; 131072 bytes of text; 1 updates; 256 foreign; exit status 0",
		},
		{
			name: "2 MB each way", given: longPrompt(2 << 20), check: echoed(2 << 20),
			script: `on start; burst 2000 "u" size=1KB session=nobody` + "\n" + `on session/prompt; text "$prompt"`,
			want:   "completed; 2097152 bytes of text; 1 updates; 2000 foreign; exit status 0",
		},
		{
			name: "lines that are no frames", given: longPrompt(128 << 10), check: echoed(128 << 10),
			script: `on start; repeat 4096; noise "loading the model, please wait ................................"; end` + "\n" + `on session/prompt; text "$prompt"`,
			want:   "completed; 131072 bytes of text; 1 updates; 4096 lines of noise; exit status 0",
		},
		{
			name: "in mid turn, to a consumer that stops until then", given: longPrompt(1 << 20),
			script: `on session/new
					stdin stop
					background
						wait file read-again
						burst 2000 "u" size=1KB
						stdin resume
					end
				on session/prompt; text "heard"`,
			do: func(s *scene) {
				once := false
				s.listen(func(e subagent.Event) {
					if e.Type == subagent.EventUpdate && !once {
						once = true
						time.Sleep(500 * time.Millisecond) // the fault
					}
				})
				run := s.start()
				s.until("the prompt", s.stdinWaits)
				s.write("read-again")
				s.finish(run)
			},
			want: "completed; 2000005 bytes of text; 2001 updates; exit status 0",
		},
		{
			name: "more than is kept of what comes before the session", given: longPrompt(128 << 10), check: echoed(128 << 10),
			script: `on start; burst 200 "u" size=100KB session=nobody` + "\n" + `on session/prompt; text "$prompt"`,
			want:   "completed; 131072 bytes of text, truncated; 1 updates; 167 foreign; 33 dropped; exit status 0",
		},
	}}
}

func stopsReading() row {
	// bounded starts the run, ends its turn by end as soon as the prompt is on its way,
	// and closes it. Each has to return within its bound.
	bounded := func(end func(*scene, subagent.Run)) func(*scene) {
		return func(s *scene) {
			run := s.start()
			s.until("the prompt", s.stdinWaits)
			end(s, run)
			s.finish(run)
		}
	}
	cancel := func(_ *scene, run subagent.Run) { run.Cancel() }
	return row{id: "T10", does: "stops reading stdin; a prompt of 1 MB, then cancel, then close", forms: []form{
		{
			script: "t10-stops-reading", given: all(isDeaf, longPrompt(1e6)), do: bounded(cancel),
			want: "aborted; no text; signal SIGTERM by sigterm",
		},
		{
			name: "8 MB, and it ignores SIGTERM", script: "ignore TERM\non session/new; stdin stop", given: all(deafToTerm, longPrompt(8<<20)), do: bounded(cancel),
			want: "aborted; no text; signal SIGKILL by sigkill",
		},
		{
			name: "and talks on", given: all(isDeaf, longPrompt(1e6)), do: bounded(cancel),
			script: `on session/new
					stdin stop
					background
						repeat forever
							text "."
							wait 1ms
						end
					end`,
			check: func(s *scene) {
				check.Equal(s, "stop", s.result.Stop, "aborted")
				check.Equal(s, "error", s.message(), "")
				check.Equal(s, "exit", s.result.Exit.String(), "signal SIGTERM")
				check.Equal(s, "text", strings.Trim(s.text(), "."), "")
			},
		},
		{
			name: "closed without a cancel", script: "t10-stops-reading", given: all(isDeaf, longPrompt(1e6)), do: func(s *scene) {
				run := s.start()
				s.until("the prompt", s.stdinWaits)
				s.within(hang, "closing", func() { s.result = run.Close() })
			},
			want: "aborted; no text; signal SIGTERM by sigterm",
		},
		{
			name: "the caller's deadline passes", script: "t10-stops-reading", given: all(isDeaf, longPrompt(1e6)),
			do: func(s *scene) {
				d := newDeadline(s.Context())
				run := s.startIn(d)
				s.until("the prompt", s.stdinWaits)
				d.pass()
				s.finish(run)
			},
			want: "aborted: timeout at session/prompt; no text; signal SIGTERM by sigterm",
		},
		{
			name: "the idle clock ends it", script: "t10-stops-reading",
			given: all(isDeaf, longPrompt(1e6), idleTimeout(300*time.Millisecond)),
			want:  "aborted: idle_timeout at session/prompt; no text; signal SIGTERM by sigterm",
		},
		{
			name: "a short prompt that fits into the pipe", script: "t10-stops-reading", given: isDeaf, do: bounded(cancel),
			want: "aborted; no text; signal SIGTERM by sigterm",
		},
		{
			name: "with more questions than the pipe holds answers to",
			script: `on session/prompt
					stdin stop
					repeat 2000
						send {"jsonrpc": "2.0", "id": "p$i", "method": "session/request_permission", "params": {"sessionId": "session-1", "toolCall": {"toolCallId": "c$i"}, "options": [{"optionId": "no", "name": "No", "kind": "reject_once"}]}}
					end
					text "deaf"
					wait forever`,
			given: all(isDeaf, policy(permission.Allow())), cancelOn: "deaf",
			check: func(s *scene) {
				check.Equal(s, "stop", s.result.Stop, "aborted")
				check.Equal(s, "exit", s.result.Exit.String(), "signal SIGTERM")
				check.Equal(s, "permissions", len(s.result.Permissions), 2000)
			},
		},
		{
			name: "before it has read anything", script: "on start; stdin stop; wait forever",
			given: all(isDeaf, startTimeout(300*time.Millisecond)),
			want:  "not started: startup_timeout at initialize",
		},
		{
			name: "and exits after the cancel", given: all(isDeaf, longPrompt(1e6)),
			script: `on session/new
					stdin stop
					background
						wait file cancelled
						text "half"
						exit 3
					end`,
			do: bounded(func(s *scene, run subagent.Run) { run.Cancel(); s.write("cancelled") }),
			check: func(s *scene) {
				check.Equal(s, "stop", s.result.Stop, "aborted")
				check.Equal(s, "error", s.message(), "")
			},
		},
	}}
}

func readsAgain() row {
	// heard are the frames that the agent has read, each of which must be whole.
	heard := func(s *scene) (methods string, prompt int) {
		for line := range strings.Lines(s.file("heard")) {
			var frame struct {
				Method string
				Params struct{ Prompt []struct{ Text string } }
			}
			if err := json.Unmarshal([]byte(line), &frame); err != nil {
				s.Fatalf("the agent was sent %.100q: %v", line, err)
			}
			methods += frame.Method + " "
			for _, block := range frame.Params.Prompt {
				prompt += len(block.Text)
			}
		}
		return strings.TrimSpace(methods), prompt
	}
	// cancelled cancels the run when a part of the prompt is written, and has the agent
	// read again once that is under way.
	cancelled := func(bytes int) func(*scene) {
		return func(s *scene) {
			run := s.start()
			s.until("the prompt", s.stdinWaits)
			run.Cancel()
			s.write("read-again")
			s.finish(run)
			methods, prompt := heard(s)
			check.Equal(s, "what the agent has read", methods, "initialize session/new session/prompt session/cancel")
			check.Equal(s, "bytes of its prompt", prompt, bytes)
		}
	}
	const waits = `record heard
		on session/new
			stdin stop
			background
				wait file read-again
				stdin resume
			end
		on session/prompt; wait cancel`
	return row{id: "T24", does: "reads half of a 1 MB prompt, which is then cancelled, and reads on", forms: []form{
		{
			script: waits, given: longPrompt(1e6),
			want: "aborted; no text; exit status 0", do: cancelled(1e6),
		},
		{
			name: "4 MB", script: waits, given: longPrompt(4 << 20),
			want: "aborted; no text; exit status 0", do: cancelled(4 << 20),
		},
		{
			name: "after the cancel has been given up",
			script: `record heard
				on session/new
					stdin stop
					background
						wait file read-again
						stdin resume
					end
				on session/prompt; write prompted; wait cancel
				on session/close; write closed`,
			given: all(deafTo(client.RungCancel), longPrompt(1e6)),
			do: func(s *scene) {
				run := s.start()
				s.until("the prompt", s.stdinWaits)
				run.Cancel()
				s.within(hang, "the outcome", func() { <-run.Done() })
				s.write("read-again")
				s.until("the prompt's end", func() bool { return s.exists("prompted") })
				s.finish(run)
				methods, bytes := heard(s)
				check.Equal(s, "what the agent has read", methods, "initialize session/new session/prompt session/cancel")
				check.Equal(s, "bytes of its prompt", bytes, 1e6)
			},
			want: "aborted; no text; exit status 0",
		},
		{
			name: "and is not cancelled", script: "t24-reads-again", given: longPrompt(2e6),
			do: func(s *scene) {
				run := s.start()
				s.until("the prompt", s.stdinWaits)
				s.write("read-again")
				s.finish(run)
				methods, bytes := heard(s)
				check.Equal(s, "what the agent has read", methods, "initialize session/new session/prompt")
				check.Equal(s, "bytes of its prompt", bytes, 2e6)
			},
			want: `completed; "heard"; 1 updates; exit status 0`,
		},
		{
			name: "and has asked meanwhile", given: all(longPrompt(1e6), hears("-32601", 2)),
			script: `record heard
				on session/new
					stdin stop
					background
						wait file read-again
						send {"jsonrpc": "2.0", "id": "v1", "method": "_vendor/ask"}
						send {"jsonrpc": "2.0", "id": "v2", "method": "_vendor/ask"}
						text "asked "
						stdin resume
					end
				on session/prompt; wait file answered; text "heard"`,
			do: func(s *scene) {
				run := s.start()
				s.until("the prompt", s.stdinWaits)
				s.write("read-again")
				s.finish(run)
				_, bytes := heard(s)
				check.Equal(s, "bytes of its prompt", bytes, 1e6)
				check.Equal(s, "answers", strings.Count(s.file("heard"), "-32601"), 2)
			},
			want: `completed; "asked heard"; 2 updates; exit status 0`,
		},
	}}
}
