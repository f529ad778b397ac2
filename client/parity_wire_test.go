package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/internal/traces"
)

// What goes over the wire, and what is made of it.
func parityWire(t *testing.T) {
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
}

// parityHandlers has an agent ask a Conn that is used alone.
func parityHandlers(t *testing.T) {
	h := &client.Handlers{
		OnReadTextFile: func(context.Context, acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
			return acp.ReadTextFileResponse{}, fmt.Errorf("open /home/user/.ssh/id_rsa: canary")
		},
		OnCreateTerminal: func(context.Context, acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
			panic("canary")
		},
		OnWriteTextFile: func(context.Context, acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
			return acp.WriteTextFileResponse{}, &acp.RequestError{Code: 17, Message: "read-only", Data: map[string]any{"disk": "full"}}
		},
		OnMethod: func(_ context.Context, method string, _ json.RawMessage) (any, error) {
			if method != "_vendor/known" {
				return nil, acp.NewMethodNotFound(method)
			}
			return map[string]string{"it": "works"}, nil
		},
	}
	var said strings.Builder
	h.OnSessionUpdate = func(_ context.Context, n acp.SessionNotification) error {
		said.WriteString(n.Update.AgentMessageChunk.Content.Text.Text)
		return nil
	}
	conn := inProcess(t, `on session/prompt
		request fs/read_text_file {"sessionId":"session-1","path":"/x"}
		text "$error\n"
		request terminal/create {"sessionId":"session-1","command":"x"}
		text "$error\n"
		request fs/write_text_file {"sessionId":"session-1","path":"/x","content":"x"}
		text "$error\n"
		request terminal/kill {"sessionId":"session-1","terminalId":"t"}
		text "$error\n"
		request _vendor/known {}
		text "$answer\n"
		request _vendor/unknown {}
		text "$error\n"`, h)
	made, err := conn.NewSession(t.Context(), acp.NewSessionRequest{Cwd: t.TempDir(), McpServers: []acp.McpServer{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Prompt(t.Context(), acp.PromptRequest{SessionId: made.SessionId, Prompt: textPrompt("go")}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(said.String(), "\n")
	for i, want := range [][]string{
		{"-32603"}, {"-32603"}, {"17", "read-only", `"disk":"full"`}, {"-32601"}, {`"it":"works"`}, {"-32601"},
	} {
		check.Has(t, lines[i], want...)
	}
	check.Lacks(t, said.String(), "canary", "id_rsa")
}

// inProcess connects a Conn, over pipes of this process, with an agent that follows the
// script. Both end with the test.
func inProcess(t testing.TB, src string, c acp.Client) *client.Conn {
	t.Helper()
	agent, err := script.Parse("script", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	fromAgent, stdout := io.Pipe()
	stdin, toAgent := io.Pipe()
	ended := make(chan struct{})
	go func() { // ends with the agent's stdin
		defer close(ended)
		agent.Run(context.Background(), stdin, stdout, io.Discard)
		stdout.Close()
	}()
	conn := client.NewConn(c, toAgent, fromAgent, nil)
	t.Cleanup(func() {
		toAgent.Close()
		receive(t, ended)
		receive(t, conn.Done())
	})
	return conn
}
