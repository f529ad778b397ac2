package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/permission"
)

// asks is a script whose turn asks for one permission and says what came of it.
const asks = `on session/prompt
	permission call-1 "Write hello.txt" kind=edit path=hello.txt input={"path":"hello.txt","n":[1,2]}
		option always allow_always "Always"
		option yes allow_once "Yes"
		option no reject_once "No"
		when allowed
			append done "$option"
			text "did it"
		when rejected
			text "did not"
		when other
			text "$outcome"
	end
`

func parityPermission(t *testing.T) {
	t.Run("B4 no usable answer fails closed", func(t *testing.T) {
		t.Parallel()
		for name, p := range map[string]permission.Policy{
			"nothing": policy(func(permission.Request) permission.Decision { return permission.Decision{Rule: "mine"} }),
			"a panic": policy(func(permission.Request) permission.Decision { panic("canary") }),
			"what is not": policy(func(permission.Request) permission.Decision {
				return permission.Decision{OptionID: "maybe", Rule: "mine"}
			}),
			"another label": policy(func(permission.Request) permission.Decision {
				return permission.Decision{OptionID: "Yes", Rule: "mine"}
			}),
		} {
			t.Run(name, func(t *testing.T) {
				s := play(t, asks)
				s.opts.Permission = p
				s.completes(s.session(), "go", "end_turn")
				check.Equal(t, "text", s.text(), "cancelled")
				check.Equal(t, "done", s.Exists("done"), false)
				r := s.permissions()[0]
				if r.Decision != permission.Cancelled || r.OptionID != nil || strings.Contains(r.Rule, "canary") {
					t.Errorf("record %+v", r)
				}
			})
		}
	})

	t.Run("C4 only what was offered is selected", func(t *testing.T) {
		t.Parallel()
		for _, tt := range []struct{ options, choice, wire string }{
			{`{"optionId":"a","kind":"allow_once","name":"A"}`, "b", "cancelled"},
			{`{"optionId":"a","kind":"allow_once","name":"A"}`, "a", "selected:a"},
			{`{"optionId":"a","kind":"later_kind","name":"A"}`, "a", "cancelled"},
			{``, "a", "cancelled"},
		} {
			s := play(t, `on session/prompt
				request session/request_permission {"sessionId":"session-1","toolCall":{"toolCallId":"c"},"options":[`+tt.options+`]}`)
			s.opts.Permission = policy(func(permission.Request) permission.Decision {
				return permission.Decision{OptionID: tt.choice, Rule: "mine"}
			})
			s.completes(s.session(), "go", "end_turn")
			check.Equal(t, "wire", s.wire(), "initialize session/new session/prompt "+tt.wire)
		}
	})

	t.Run("C5 once if approved, never if rejected", func(t *testing.T) {
		t.Parallel()
		s := play(t, asks)
		s.opts.Permission = permission.Allow()
		s.completes(s.session(), "go", "end_turn")
		check.Equal(t, "done", s.File("done"), "yes\n")

		s = play(t, asks)
		s.completes(s.session(), "go", "end_turn")
		check.Equal(t, "done", s.Exists("done"), false)
	})

	t.Run("C6 a reject is a normal end", func(t *testing.T) {
		t.Parallel()
		s := play(t, asks)
		session := s.session()
		s.completes(session, "go", "end_turn")
		check.Equal(t, "text", s.text(), "did not")
		check.Equal(t, "wire", s.wire(), "initialize session/new session/prompt selected:no")
		s.close(s.agent, client.RungEOF, "exit status 0")
	})

	t.Run("C7 the session and the raw input of the call", func(t *testing.T) {
		t.Parallel()
		asked := make(chan permission.Request, 1)
		s := play(t, asks)
		s.opts.Permission = permission.PolicyFunc(func(ctx context.Context, r permission.Request) permission.Decision {
			asked <- r
			return permission.Allow().Decide(ctx, r)
		})
		s.completes(s.session(), "go", "end_turn")
		r := <-asked
		check.Equal(t, "session", r.SessionID, "session-1")
		check.Equal(t, "directory", r.Dir, s.Dir)
		check.Equal(t, "call", string(r.ToolCall.ToolCallId), "call-1")
		check.Equal(t, "input", fmt.Sprint(r.ToolCall.RawInput), "map[n:[1 2] path:hello.txt]")

		rec := s.permissions()[0]
		check.Equal(t, "recorded session", rec.SessionID, "session-1")
		check.Equal(t, "recorded call", rec.ToolCallID, "call-1")
		check.Equal(t, "recorded kind", *rec.Kind, "edit")
		check.Equal(t, "recorded title", *rec.Title, "Write hello.txt")
		check.Equal(t, "recorded input", fmt.Sprint(rec.RawInput), "map[n:[1 2] path:hello.txt]")
		check.Equal(t, "recorded options", fmt.Sprint(rec.Options), "[{always allow_always} {yes allow_once} {no reject_once}]")
		check.Equal(t, "recorded choice", *rec.OptionID, "yes")
		check.Equal(t, "recorded decision", rec.Decision, permission.Allowed)
		check.Equal(t, "recorded rule", rec.Rule, "allow")
	})

	t.Run("C9 an approval is bound to its call", func(t *testing.T) {
		t.Parallel()
		// Even a standing grant of the agent's is a new question to us each time: changed
		// arguments, another session, and the same again.
		ask := func(session, input string) string {
			return `permission call-1 "Run" kind=execute session=` + session + ` input={"command":"` + input + `"}
				option yes allow_once "Yes"
				option no reject_once "No"
			end
			append got "$outcome $option"
			`
		}
		s := play(t, `on session/prompt
			`+ask("session-1", "ls")+ask("session-1", "rm -r /")+ask("session-2", "ls")+ask("session-1", "ls"))
		s.opts.Permission = policy(func(r permission.Request) permission.Decision {
			input, _ := r.ToolCall.RawInput.(map[string]any)
			if r.SessionID == "session-1" && input["command"] == "ls" {
				return permission.Decision{OptionID: "yes", Rule: "ls"}
			}
			return permission.Decision{OptionID: "no", Rule: "rest"}
		})
		s.completes(s.session(), "go", "end_turn")
		check.Equal(t, "answers", s.File("got"), "selected yes\nselected no\nselected no\nselected yes\n")
		check.Equal(t, "records", len(s.permissions()), 4)
	})

	t.Run("C10 each answer goes to its own", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt
			background
				permission a "A"
					option a-yes allow_once "Yes"
					option a-no reject_once "No"
				end
				append "got-$session" "a $option"
			end
			background
				permission b "B"
					option b-yes allow_once "Yes"
					option b-no reject_once "No"
				end
				append "got-$session" "b $option"
			end
			wait background`)
		// All four are asked before the first is answered, the last one first.
		var waiting = make(chan chan struct{}, 4)
		s.opts.Permission = policy(func(r permission.Request) permission.Decision {
			turn := make(chan struct{})
			waiting <- turn
			<-turn
			verb := "-no"
			if (r.SessionID == "session-1") == (r.ToolCall.ToolCallId == "a") {
				verb = "-yes"
			}
			return permission.Decision{OptionID: string(r.ToolCall.ToolCallId) + verb, Rule: "mine"}
		})
		a := s.start()
		one, two := s.newSession(a, ""), s.newSession(a, "")
		first, second := s.ask(t.Context(), one, "go"), s.ask(t.Context(), two, "go")
		var turns []chan struct{}
		for range 4 {
			turns = append(turns, receive(t, waiting))
		}
		for _, turn := range slices.Backward(turns) {
			close(turn)
		}
		answer, err := s.await(first)
		s.ended(answer, err, "end_turn")
		answer, err = s.await(second)
		s.ended(answer, err, "end_turn")
		for file, want := range map[string]string{"got-session-1": "a a-yes\nb b-no\n", "got-session-2": "a a-no\nb b-yes\n"} {
			lines := strings.Split(strings.TrimSpace(s.File(file)), "\n")
			slices.Sort(lines)
			check.Equal(t, file, strings.Join(lines, "\n")+"\n", want)
		}
	})
}

func receive[T any](t testing.TB, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(hang):
		t.Fatal("nothing comes")
		panic("unreachable")
	}
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
