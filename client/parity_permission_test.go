package client_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
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

// policy is one by a function of the options.
func policy(f func(permission.Request) permission.Decision) permission.Policy {
	return permission.PolicyFunc(func(_ context.Context, r permission.Request) permission.Decision { return f(r) })
}
