package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/traces"
	"github.com/errand-acp/errand/permission"
)

// The rows of PARITY that an agent and its sessions answer for; those of a whole run are
// in package subagent.
func TestParity(t *testing.T) {
	parityStart(t)
	parityEnd(t)
	parityProtocol(t)
	parityPermission(t)
	parityPlatform(t)
}

func parityStart(t *testing.T) {
	t.Run("A38 silence at the start", func(t *testing.T) {
		t.Parallel()
		for _, tt := range []struct {
			step    client.Step
			timeout time.Duration
		}{
			// The second is long enough for the answer to the first on a busy machine.
			{client.StepInitialize, 200 * time.Millisecond},
			{client.StepNewSession, 4 * time.Second},
		} {
			t.Run(string(tt.step), func(t *testing.T) {
				t.Parallel()
				s := play(t, fmt.Sprintf(`on %s; write pid "$pid"; stderr "waiting for a login\n"; never reply`, tt.step))
				s.opts.StartTimeout, s.opts.Graces = tt.timeout, deafToEOF
				a, err := client.Start(t.Context(), s.command, &s.opts)
				if err == nil {
					_, err = a.NewSession(t.Context(), nil)
					a.Close()
				}
				e := s.asError(err, client.KindStartupTimeout, tt.step)
				check.Has(t, e.Error(), "no answer to "+string(tt.step), tt.timeout.String())
				if tt.step == client.StepNewSession {
					check.Has(t, e.Error(), "waiting for a login")
					s.Reaped("pid")
				}
			})
		}
	})

	t.Run("A41 another protocol version", func(t *testing.T) {
		t.Parallel()
		for _, version := range []string{"99", "2", "0", "-1", "1.5", `"2025-01-01"`, `"1"`, "null", "true", "[1]", "{}", ""} {
			answer := `{"protocolVersion":` + version + `,"agentInfo":{"name":"a","version":"9"}}`
			says := "version " + version + ", "
			if version == "" {
				answer, says = `{"version":1}`, "version none, "
			}
			s := play(t, `on initialize; write pid "$pid"; reply `+answer)
			_, err := client.Start(t.Context(), s.command, &s.opts)
			e := s.asError(err, client.KindVersion, client.StepInitialize)
			check.Has(t, e.Error(), says, "speaks 1")
			check.Equal(t, "wire", s.wire(), "initialize")
			s.Reaped("pid")
		}
	})

	t.Run("A42 an agent that needs authentication", func(t *testing.T) {
		t.Parallel()
		const announces = `on initialize; answer {"authMethods":[{"id":"oauth","name":"Log in"},{"id":"api-key","name":"Key"}]}
			`
		for _, tt := range []struct {
			name string
			src  string
			step client.Step
			kind client.ErrorKind
			says []string
		}{
			{"methods announced", announces + `on session/new; fail -32000 "Authentication required"`, client.StepNewSession, client.KindAuthRequired, []string{"oauth", "api-key", "Authentication required"}},
			{"methods announced, another word", announces + `on session/new; fail -32000 "no"`, client.StepNewSession, client.KindAuthRequired, []string{"oauth", "api-key"}},
			{"methods in the data", `on session/new; reply error -32000 "no" {"authMethods":[{"id":"device","name":"D"}]}`, client.StepNewSession, client.KindAuthRequired, []string{"device"}},
			{"methods in the data, another code", `on session/new; reply error -32603 "no" {"authMethods":[{"id":"device"}]}`, client.StepNewSession, client.KindAuthRequired, []string{"device"}},
			{"methods are the data", `on session/new; reply error -32000 "no" [{"id":"device"}]`, client.StepNewSession, client.KindAuthRequired, []string{"device"}},
			{"methods in both", announces + `on session/new; reply error -32000 "no" {"authMethods":[{"id":"oauth"},{"id":"device"}]}`, client.StepNewSession, client.KindAuthRequired, []string{"api-key, device, oauth"}},
			{"no methods", `on session/new; fail -32000 "Authentication required"`, client.StepNewSession, client.KindAuthRequired, []string{"Authentication required"}},
			{"no methods, other words", `on session/new; fail -32000 "Please log in first"`, client.StepNewSession, client.KindAuthRequired, []string{"Please log in first"}},
			{"at initialize", `on initialize; fail -32000 "Authentication required"`, client.StepInitialize, client.KindAuthRequired, []string{"Authentication required"}},
			{"at the prompt", announces + `on session/prompt; fail -32000 "Authentication required"`, client.StepPrompt, client.KindAuthRequired, []string{"oauth"}},

			{"the code for something else", `on session/new; fail -32000 "overloaded"`, client.StepNewSession, client.KindAgent, []string{"-32000", "overloaded"}},
			{"for something else at the prompt", announces + `on session/prompt; fail -32000 "overloaded"`, client.StepPrompt, client.KindAgent, []string{"overloaded"}},
			{"another code", `on session/new; fail -32603 "Internal error"`, client.StepNewSession, client.KindAgent, []string{"-32603"}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				s := play(t, tt.src)
				a, err := client.Start(t.Context(), s.command, &s.opts)
				if err == nil {
					var session *client.Session
					if session, err = a.NewSession(t.Context(), nil); err == nil {
						_, err = s.prompt(session, "go")
					}
					a.Close()
				}
				e := s.asError(err, tt.kind, tt.step)
				check.Has(t, e.Error(), tt.says...)
				if tt.kind == client.KindAuthRequired {
					check.Has(t, e.Error(), "log in with the agent's own program")
				}
				if e.Code == nil {
					t.Error("the code is missing")
				}
			})
		}
	})

	t.Run("A45 the error of a failed start", func(t *testing.T) {
		t.Setenv("ERRAND_TEST_TOKEN", "canary-0123456789")
		s := play(t, `on session/new; noise "loading…"; stderr "one\nfatal: no key\n"; exit 3`)
		_, err := s.start().NewSession(t.Context(), nil)
		e := s.asError(err, client.KindExit, client.StepNewSession)
		check.Has(t, e.Error(), "session/new", "exit status 3", `"fatal: no key"`, `"loading…"`, "ERRAND_TEST_TOKEN")
		check.Lacks(t, e.Error(), "canary", "one")
		check.Equal(t, "exit", e.Exit.String(), "exit status 3")
		check.Equal(t, "stderr", e.StderrTail, "one\nfatal: no key\n")
		check.Equal(t, "noise", fmt.Sprint(e.Noise), "{1 [loading…]}")
		if !slices.Contains(e.WithheldEnv, "ERRAND_TEST_TOKEN") {
			t.Errorf("withheld %q", e.WithheldEnv)
		}
	})

	t.Run("B3 directory and MCP servers", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/new; fail -32602 "mcpServers are not supported"`)
		s.command.Dir = "a/b"
		_, err := client.Start(t.Context(), s.command, &s.opts)
		check.Has(t, s.asError(err, client.KindConfig, client.StepConfig).Message, `"a/b"`, "not absolute")
		s.NotStarted()

		s.command.Dir = s.Dir
		a := s.start()
		_, err = a.NewSession(t.Context(), &client.SessionOptions{Dir: "a/b"})
		check.Has(t, s.asError(err, client.KindConfig, client.StepConfig).Message, `"a/b"`, "not absolute")
		check.Equal(t, "wire", s.wire(), "initialize")

		_, err = a.NewSession(t.Context(), nil)
		check.Has(t, s.asError(err, client.KindAgent, client.StepNewSession).Error(), "mcpServers are not supported")
		check.Equal(t, "params", s.Params("session/new"), fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, s.Dir))
	})

	t.Run("B9 an explicit command", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt; write args "$args"`)
		literal := []string{"$HOME", "*", "a b", "", "--", "`id`", `"`}
		// The hook leaves what stands behind the script to whoever reads $args.
		s.command.Args = append(s.command.Args[:len(s.command.Args):len(s.command.Args)], literal...)
		s.command.Path = "sh"
		s.command.Args = append([]string{"-c", `exec "$0" "$1" "$2" "$3"`, play(t, "").command.Path}, s.command.Args...)
		a := s.start()
		check.Equal(t, "command", strings.Join(a.Command(), "|"), strings.Join(append([]string{"sh"}, s.command.Args...), "|"))
		if !filepath.IsAbs(a.Path()) || filepath.Base(a.Path()) != "sh" {
			t.Errorf("path %q, want where sh is", a.Path())
		}
		s.completes(s.newSession(a, ""), "go", "end_turn")
	})
}

func parityEnd(t *testing.T) {
	t.Run("A39 a grandchild holds the pipe", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt
			text "so far"
			spawn stdout stderr
				write sleeper "$pid"
				wait forever
			end
			wait file sleeper
			raise KILL`)
		session := s.session()
		answer, err := s.prompt(session, "go")
		e := s.asError(err, client.KindExit, client.StepPrompt)
		check.Equal(t, "exit", e.Exit.String(), "signal SIGKILL")
		check.Has(t, e.Error(), "SIGKILL")
		check.Equal(t, "answer", string(answer.Raw), "")
		check.Equal(t, "text", s.text(), "so far")
	})

	t.Run("A40 close without a cancel", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt
			text "before"
			wait cancel
			text " and after"
			stop cancelled`)
		session := s.session()
		turn := s.ask(t.Context(), session, "go")
		s.says("before")
		s.close(s.agent, client.RungEOF, "exit status 0")
		answer, err := s.await(turn)
		s.ended(answer, err, "cancelled")
		check.Equal(t, "cancelled", answer.Cancelled, true)
		check.Equal(t, "text", s.text(), "before and after")
		check.Equal(t, "wire", s.wire(), "initialize session/new session/prompt session/cancel")
		check.Equal(t, "params", s.Params("session/cancel"), `{"sessionId":"session-1"}`)
	})

	t.Run("A54 a torn pipe", func(t *testing.T) {
		t.Parallel()
		// That this process is alive afterwards is a part of the test: no SIGPIPE.
		t.Run("at the prompt", func(t *testing.T) {
			t.Parallel()
			s := play(t, `on session/new
				reply {"sessionId":"s1"}
				stdin close
				wait forever`)
			s.opts.Graces = deafToEOF
			session := s.session()
			// Written until the pipe is full: that stdin is closed shows for certain.
			answer, err := s.prompt(session, "a long prompt "+strings.Repeat("x", 1<<20))
			s.asError(err, client.KindTransport, client.StepPrompt)
			check.Equal(t, "answer", string(answer.Raw), "")
			s.close(s.agent, client.RungTerm, "signal SIGTERM")
		})
		t.Run("an answer already sent", func(t *testing.T) {
			t.Parallel()
			s := play(t, `on session/prompt
				stdin close
				text "the answer"
				stop end_turn
				wait forever`)
			s.opts.Graces = deafToEOF
			s.completes(s.session(), "go", "end_turn")
			check.Equal(t, "text", s.text(), "the answer")
		})
		t.Run("at the cancel", func(t *testing.T) {
			t.Parallel()
			s := play(t, `on session/prompt
				stdin close
				text "so far"
				wait forever`)
			s.opts.Graces = deafToEOF
			s.opts.Graces.Cancel = 400 * time.Millisecond
			session := s.session()
			turn := s.ask(t.Context(), session, "go")
			s.says("so far")
			session.Cancel()
			answer, err := s.await(turn)
			check.Equal(t, "cancelled", answer.Cancelled, true)
			if err == nil {
				t.Error("no error without an answer")
			}
			s.close(s.agent, client.RungTerm, "signal SIGTERM")
		})
		t.Run("at the close", func(t *testing.T) {
			t.Parallel()
			s := play(t, `on session/prompt
				text "the answer"
				stop end_turn
				stdin close
				stdout close
				write torn
				wait forever`)
			s.opts.Graces = deafToEOF
			session := s.session()
			s.completes(session, "go", "end_turn")
			s.Await("torn")
			s.close(s.agent, client.RungTerm, "signal SIGTERM")
		})
	})

	t.Run("B8 every rung in its order", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt
				text "busy"
				wait cancel
				append rungs cancel
				stop cancelled
			on session/close
				append rungs "close of $params.sessionId"
			on eof
				append rungs eof
				wait forever
			on signal TERM
				append rungs term
				wait forever`)
		s.opts.Graces = client.Graces{EOF: time.Second, Term: time.Second}
		session := s.session()
		turn := s.ask(t.Context(), session, "go")
		s.says("busy")
		begin := time.Now()
		s.close(s.agent, client.RungKill, "signal SIGKILL")
		if took := time.Since(begin); took < s.opts.Graces.EOF+s.opts.Graces.Term {
			t.Errorf("it took %v, less than its graces", took)
		}
		check.Equal(t, "rungs", s.File("rungs"), "cancel\nclose of session-1\neof\nterm\n")
		answer, err := s.await(turn)
		s.ended(answer, err, "cancelled")
	})

	t.Run("C8 exit code and stderr", func(t *testing.T) {
		t.Parallel()
		s := play(t, `stderr "ready\n"
			on eof; stderr "bye\n"; exit 0`)
		session := s.session()
		s.completes(session, "go", "end_turn")
		a := s.agent
		r := s.close(a, client.RungEOF, "exit status 0")
		tail, truncated := a.Stderr()
		check.Equal(t, "stderr", tail, "ready\nbye\n")
		check.Equal(t, "truncated", truncated, false)
		check.Equal(t, "leftover", len(r.Leftover), 0)
	})
}

func parityProtocol(t *testing.T) {
	t.Run("A44 noise on stdout", func(t *testing.T) {
		t.Setenv("ERRAND_TEST_TOKEN", "canary-0123456789")
		s := play(t, `noise "npm WARN old"
			noise "token canary-0123456789 loaded"
			on session/prompt
				text "a"
				noise "{\"level\":\"info\",\"id\":3}"
				text "b"
			on eof; noise "bye"`)
		session := s.session()
		s.completes(session, "go", "end_turn")
		a := s.agent
		s.close(a, client.RungEOF, "exit status 0")
		check.Equal(t, "text", s.text(), "ab")
		noise := a.Noise()
		check.Equal(t, "lines", noise.Lines, int64(4))
		check.Has(t, noise.First[0], "npm WARN old")
		check.Has(t, noise.First[1], "token", "loaded")
		check.Lacks(t, strings.Join(noise.First, "\n"), "canary")
	})

	t.Run("A46 requests for what was not advertised", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt
			request fs/read_text_file {"sessionId":"$session","path":"/etc/passwd"}
			append answers "$error"
			request fs/write_text_file {"sessionId":"$session","path":"/tmp/x","content":"x"}
			append answers "$error"
			request terminal/create {"sessionId":"$session","command":"id"}
			append answers "$error"
			request terminal/output {"sessionId":"$session","terminalId":"never-created"}
			append answers "$error"
			request _vendor/ask {}
			append answers "$error"`)
		s.completes(s.session(), "go", "end_turn")
		for line := range strings.Lines(s.File("answers")) {
			check.Has(t, line, "-32601")
		}
		check.Equal(t, "answers", strings.Count(s.File("answers"), "\n"), 5)
	})

	t.Run("A47 the wait after SIGKILL is bounded", func(t *testing.T) {
		t.Parallel()
		parityUnkillable(t)
	})

	t.Run("B1 frames on stdout, diagnostics on stderr", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt
			stderr "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"session-1\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"from stderr\"}}}}\n"
			text "$prompt"`)
		session := s.session()
		s.completes(session, "two\nlines\r\nand \u2028 more", "end_turn")
		s.close(s.agent, client.RungEOF, "exit status 0")
		check.Equal(t, "text", s.text(), "two\nlines\r\nand \u2028 more")
		for _, f := range s.Frames() { // one line each, or they would not parse
			if f.Method == "" && f.ID == nil {
				t.Errorf("the agent read %+v", f)
			}
		}
		raw := strings.Split(strings.TrimSuffix(s.File(s.Wire), "\n"), "\n")
		check.Equal(t, "lines", len(raw), 3)
		for _, line := range raw {
			check.Has(t, line, `"jsonrpc":"2.0"`)
		}
	})

	t.Run("B2 the seven methods", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on initialize; answer {"authMethods":[{"id":"key","name":"Key"}]}
			on authenticate; write method "$params.methodId"
			on session/prompt
				text "hi"
				permission c1 "Write" kind=edit
					option yes allow_once "Yes"
					option no reject_once "No"
					when rejected
						text " no"
				end
				wait cancel
				stop cancelled`)
		a := s.start()
		if _, err := a.Conn().Authenticate(t.Context(), acp.AuthenticateRequest{MethodId: "key"}); err != nil {
			t.Fatal(err)
		}
		session := s.newSession(a, "")
		turn := s.ask(t.Context(), session, "go")
		s.says("hi no")
		session.Cancel()
		answer, err := s.await(turn)
		s.ended(answer, err, "cancelled")
		check.Equal(t, "method", s.File("method"), "key")
		check.Equal(t, "wire", s.wire(), "initialize authenticate session/new session/prompt selected:no session/cancel")
		check.Equal(t, "initialize", s.Params("initialize"), fmt.Sprintf(
			`{"clientCapabilities":{"auth":{},"fs":{}},"clientInfo":{"name":"errand","version":%q},"protocolVersion":1}`, client.Self().Version))
	})

	t.Run("B5 several sessions on a connection", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt
			text "$session "
			text "$prompt. "`)
		a := s.start()
		one, two := s.newSession(a, ""), s.newSession(a, "")
		check.Equal(t, "first", string(one.ID()), "session-1")
		check.Equal(t, "second", string(two.ID()), "session-2")
		s.completes(two, "b", "end_turn")
		s.completes(one, "a", "end_turn")
		s.completes(two, "c", "end_turn")
		check.Equal(t, "text", s.text(), "session-2 b. session-1 a. session-2 c. ")
	})

	t.Run("B6 a low-level client beside the agent", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt; text "$prompt"
			on session/list; answer {"sessions":[{"sessionId":"old","cwd":"/"}]}`)
		a := s.start()
		list, err := a.Conn().ListSessions(t.Context(), acp.ListSessionsRequest{})
		if err != nil || len(list.Sessions) != 1 || list.Sessions[0].SessionId != "old" {
			t.Errorf("sessions %v, %v", list.Sessions, err)
		}
		made, err := a.Conn().NewSession(t.Context(), acp.NewSessionRequest{Cwd: s.Dir, McpServers: []acp.McpServer{}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := a.Conn().Prompt(t.Context(), acp.PromptRequest{SessionId: made.SessionId, Prompt: textPrompt("by hand")})
		if err != nil || r.StopReason != acp.StopReasonEndTurn {
			t.Errorf("%v, %v", r, err)
		}
		check.Equal(t, "text", s.text(), "by hand")
	})

	t.Run("B7 typed errors", func(t *testing.T) {
		t.Parallel()
		t.Run("an answer that is an error", func(t *testing.T) {
			t.Parallel()
			s := play(t, `on session/prompt; text "so far"; fail -32603 "no luck" {"why":[1,2]}`)
			answer, err := s.prompt(s.session(), "go")
			e := s.asError(err, client.KindAgent, client.StepPrompt)
			check.Equal(t, "code", *e.Code, -32603)
			check.Equal(t, "data", string(e.Data), `{"why":[1,2]}`)
			check.Has(t, e.Error(), "-32603", "no luck")
			var re *acp.RequestError
			if !errors.As(err, &re) || re.Code != -32603 || re.Message != "no luck" {
				t.Errorf("the cause is %v", re)
			}
			check.Equal(t, "sent", answer.Sent, true)
			check.Equal(t, "text", s.text(), "so far")
		})
		t.Run("a timeout", func(t *testing.T) {
			t.Parallel()
			s := play(t, `on session/prompt; text "up"; wait cancel; wait forever`)
			s.opts.Graces = deafToCancel
			session := s.session()
			ctx := &lateContext{make(chan struct{})}
			turn := s.ask(ctx, session, "go")
			s.says("up")
			close(ctx.done)
			answer, err := s.await(turn)
			e := s.asError(err, client.KindTimeout, client.StepPrompt)
			check.Has(t, e.Error(), "no answer to session/prompt within the caller's deadline", "nor after session/cancel")
			check.Equal(t, "is DeadlineExceeded", errors.Is(err, context.DeadlineExceeded), true)
			check.Equal(t, "cancelled", answer.Cancelled, true)
		})
		t.Run("a protocol violation", func(t *testing.T) {
			t.Parallel()
			s := play(t, `on session/new; answer {"sessionId":7}`)
			_, err := s.start().NewSession(t.Context(), nil)
			s.asError(err, client.KindProtocol, client.StepNewSession)
		})
		t.Run("a transport that is closed", func(t *testing.T) {
			t.Parallel()
			s := play(t, `on session/prompt; text "so far"; stderr "fatal: out of cheese\n"; exit 3`)
			answer, err := s.prompt(s.session(), "go")
			e := s.asError(err, client.KindExit, client.StepPrompt)
			check.Equal(t, "exit", *e.Exit.Code, 3)
			check.Equal(t, "rung", e.Exit.Rung, client.RungExit)
			check.Equal(t, "stderr", e.StderrTail, "fatal: out of cheese\n")
			check.Has(t, e.Error(), "exit status 3", "out of cheese")
			check.Equal(t, "answer", string(answer.Raw), "")
			check.Equal(t, "text", s.text(), "so far")
			var closed *client.ClosedError
			check.Equal(t, "wraps a *ClosedError", errors.As(err, &closed), true)
		})
	})

	t.Run("B11 any request and notification by name", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on _vendor/ask; answer {"got":"$params.q"}
			on _vendor/tell; append told "$params.n"
			on session/prompt
				request _vendor/client {"a":1}
				append answers "$error"
				notify _vendor/event {"b":2}`)
		a := s.start()
		var got struct{ Got string }
		if err := a.Conn().Call(t.Context(), "_vendor/ask", map[string]any{"q": "x"}, &got); err != nil || got.Got != "x" {
			t.Errorf("got %+v, %v", got, err)
		}
		if err := a.Conn().Notify(t.Context(), "_vendor/tell", map[string]any{"n": 1}); err != nil {
			t.Error(err)
		}
		raw, err := a.Conn().CallExtension(t.Context(), "_vendor/ask", json.RawMessage(`{"q":"y"}`))
		check.Equal(t, "extension", string(raw), `{"got":"y"}`)
		if err != nil {
			t.Error(err)
		}
		if err := a.Conn().NotifyExtension(t.Context(), "_vendor/tell", map[string]any{"n": 2}); err != nil {
			t.Error(err)
		}
		s.completes(s.newSession(a, ""), "go", "end_turn")
		traces.Until(t, "told", func() bool { return s.Exists("told") && strings.Count(s.File("told"), "\n") == 2 })
		check.Has(t, s.File("answers"), "-32601") // an agent's question by name is for who uses Conn alone

		// A missing method keeps its code too.
		err = a.Conn().Call(t.Context(), "_vendor/none", nil, nil)
		var re *acp.RequestError
		if !errors.As(err, &re) || re.Code != -32601 {
			t.Errorf("%v, want -32601", err)
		}
	})

	t.Run("B12 errors of our handlers", func(t *testing.T) {
		t.Parallel()
		parityHandlers(t)
	})

	t.Run("B13 two sessions, two directories, one cancelled", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt "first"
				text "one "
				write here
				wait cancel
				stop cancelled
			on session/prompt "second"
				text "two "
				write here
				wait file go
				text "done"`)
		a := s.start()
		other := traces.Canonical(t, t.TempDir())
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(other, link); err != nil {
			t.Skip(err)
		}
		one, two := s.newSession(a, ""), s.newSession(a, link)
		check.Equal(t, "first directory", one.Dir(), s.Dir)
		check.Equal(t, "second directory", two.Dir(), other)
		first, second := s.ask(t.Context(), one, "first"), s.ask(t.Context(), two, "second")
		s.says("one ")
		s.says("two ")
		one.Cancel()
		answer, err := s.await(first)
		s.ended(answer, err, "cancelled")
		if err := os.WriteFile(filepath.Join(other, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		answer, err = s.await(second)
		s.ended(answer, err, "end_turn")
		check.Equal(t, "cancelled", answer.Cancelled, false)
		check.Has(t, s.text(), "done")
		check.Equal(t, "params", s.Params("session/cancel"), `{"sessionId":"session-1"}`)
		check.Equal(t, "files", s.Exists("here") && s.Exists(filepath.Join(other, "here")), true)
	})

	t.Run("C1 a handshake", func(t *testing.T) {
		t.Parallel()
		s := play(t, "")
		a := s.start()
		session := s.newSession(a, "")
		check.Equal(t, "agent", a.Info().Name+" "+a.Info().Version, "scripted-agent 1")
		check.Equal(t, "session", string(session.ID()), "session-1")
		check.Equal(t, "raw", string(session.Raw()), `{"sessionId":"session-1"}`)
		check.Equal(t, "wire", s.wire(), "initialize session/new")
	})

	t.Run("C2 the prompt's text", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt; text "you said: $prompt"`)
		s.completes(s.session(), "häagen ✓", "end_turn")
		check.Equal(t, "text", s.text(), "you said: häagen ✓")
	})

	t.Run("C3 cancel of a slow turn", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt; text "slow"; wait forever`)
		session := s.session()
		ctx, cancel := context.WithCancel(t.Context())
		turn := s.ask(ctx, session, "go")
		s.says("slow")
		cancel()
		answer, err := s.await(turn)
		s.ended(answer, err, "cancelled")
		check.Equal(t, "cancelled", answer.Cancelled, true)
		check.Equal(t, "wire", s.wire(), "initialize session/new session/prompt session/cancel")
	})

	t.Run("C21 a cancelled turn does not end the session", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt 1; text "one"; wait forever
			on session/prompt 2; text " two"`)
		session := s.session()
		turn := s.ask(t.Context(), session, "go")
		s.says("one")
		session.Cancel()
		answer, err := s.await(turn)
		s.ended(answer, err, "cancelled")
		answer = s.completes(session, "go on", "end_turn")
		check.Equal(t, "cancelled", answer.Cancelled, false)
		check.Equal(t, "text", s.text(), "one two")
	})
}

// policy is one by a function of the options.
func policy(f func(permission.Request) permission.Decision) permission.Policy {
	return permission.PolicyFunc(func(_ context.Context, r permission.Request) permission.Decision { return f(r) })
}
