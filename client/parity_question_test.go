package client_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/permission"
)

// What a question says, and that it does not stay open.
func parityQuestion(t *testing.T) {
	t.Run("D3 edits as diffs, for the policy and in updates", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt
			tool c1 "Edit" kind=edit path=$cwd/a old="one" new="two"
			tool-update c1 path=$cwd/a old="one" new="three"
			permission c2 "Edit" kind=edit path=$cwd/b old="four" new="five"
				option yes allow_once Yes
			end
			permission c3 "Make" kind=edit path=$cwd/c new="six"
				option yes allow_once Yes
			end`)
		var told []acp.ToolCallContent // the connection calls one at a time
		s.opts.Observe = func(u *client.Update) {
			if c := u.Value.ToolCall; c != nil {
				told = append(told, c.Content...)
			}
			if c := u.Value.ToolCallUpdate; c != nil {
				told = append(told, c.Content...)
			}
		}
		asked := make(chan permission.Request, 2)
		s.opts.Permission = policy(func(r permission.Request) permission.Decision {
			asked <- r
			return permission.Decision{OptionID: "yes"}
		})
		s.completes(s.session(), "go", "end_turn")
		diff := func(c []acp.ToolCallContent) string {
			if len(c) != 1 || c[0].Diff == nil {
				return "no diff"
			}
			old := "nothing"
			if c[0].Diff.OldText != nil {
				old = *c[0].Diff.OldText
			}
			return c[0].Diff.Path + ": " + old + " to " + c[0].Diff.NewText
		}
		if len(told) != 2 {
			t.Fatalf("%d diffs in updates", len(told))
		}
		check.Equal(t, "the announcement", diff(told[:1]), s.Dir+"/a: one to two")
		check.Equal(t, "the update", diff(told[1:]), s.Dir+"/a: one to three")
		for _, want := range []string{
			`[{"path":"` + s.Dir + `/b","old":"four","new":"five"}]`,
			`[{"path":"` + s.Dir + `/c","old":null,"new":"six"}]`,
		} {
			req := receive(t, asked)
			facts, err := json.Marshal(req.Facts().Diffs)
			require(t, err)
			check.Equal(t, "facts", string(facts), want)
			check.Equal(t, "the call's own", diff(req.ToolCall.Content) != "no diff", true)
		}
	})

	for name, cancelled := range map[string]bool{"D5 nobody answers, until the deadline": false, "D5 nobody answers, until the cancel": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t, asks)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			heard, release := make(chan struct{}), make(chan struct{})
			defer close(release)
			timeout := 50 * time.Millisecond
			if cancelled {
				timeout = 10 * hang
			}
			// It knows that nobody waits for it any more, and does not return all the same.
			s.opts.Permission = permission.Ask{Timeout: timeout, Func: func(ctx context.Context, q permission.Question) (permission.Answer, error) {
				if cancelled {
					cancel()
				}
				<-ctx.Done()
				close(heard)
				<-release
				return permission.Answer{QuestionID: q.ID, OptionID: "yes"}, nil
			}}
			answer, err := s.await(s.ask(ctx, s.session(), "go"))
			receive(t, heard)
			check.Equal(t, "error", err, nil)
			check.Equal(t, "cancelled", answer.Cancelled, cancelled)
			want, decision := "initialize session/new session/prompt selected:no", permission.Denied
			if cancelled {
				want, decision = "initialize session/new session/prompt session/cancel cancelled", permission.Cancelled
			}
			check.Equal(t, "wire", s.wire(), want)
			check.Equal(t, "decision", s.permissions()[0].Decision, decision)
			check.Equal(t, "done", s.Exists("done"), false)
		})
	}
}
