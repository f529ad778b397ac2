package permission_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/permission"
)

// What an agent does with options, and with the time between a question and its answer.
func TestAnswerAttacks(t *testing.T) {
	const (
		once   = acp.PermissionOptionKindAllowOnce
		always = acp.PermissionOptionKindAllowAlways
		no     = acp.PermissionOptionKindRejectOnce
		never  = acp.PermissionOptionKindRejectAlways
	)
	option := func(kind acp.PermissionOptionKind, id, name string) acp.PermissionOption {
		return acp.PermissionOption{Kind: kind, OptionId: acp.PermissionOptionId(id), Name: name}
	}
	ordinary := []acp.PermissionOption{option(always, "A", "Always"), option(once, "a", "Once"), option(never, "R", "Never"), option(no, "r", "No")}
	allows := rules(t, `{"rules":[{"effect":"allow","kinds":["edit"],"paths":["./**"]}]}`)
	denies := rules(t, `{"rules":[]}`)
	// selects decides about an edit with these options, and wants that one of them.
	selects := func(t *testing.T, p permission.Policy, options []acp.PermissionOption, want string) {
		t.Helper()
		req := call(t, edit("a"))
		req.Options = options
		if d, _ := permission.Decide(t.Context(), p, req); d.OptionID != want {
			t.Fatalf("%v: got %+v, want %q", options, d, want)
		}
	}
	for _, tt := range []struct {
		name string
		test func(*testing.T)
	}{
		{"option names that lie about their kind", func(t *testing.T) {
			lies := []acp.PermissionOption{option(always, "1", "Reject"), option(once, "2", "Reject once"), option(no, "3", "Allow"), option(never, "4", "Allow always")}
			selects(t, allows, lies, "2")
			selects(t, denies, lies, "3")
		}},
		{"option ids that lie about their kind", func(t *testing.T) {
			lies := []acp.PermissionOption{option(always, "reject_once", ""), option(once, "reject", ""), option(no, "allow", ""), option(never, "allow_once", "")}
			selects(t, allows, lies, "reject")
			selects(t, denies, lies, "allow")
		}},
		{"option lists in every order", func(t *testing.T) {
			permute(ordinary, func(o []acp.PermissionOption) {
				selects(t, allows, o, "a")
				selects(t, denies, o, "r")
				selects(t, permission.Ask{Func: answer("A")}, o, "r")
			})
		}},
		{"flood of options", func(t *testing.T) {
			var flood []acp.PermissionOption
			for i := range 10_000 {
				flood = append(flood, option("allow", fmt.Sprint(i), "Allow"), option(always, fmt.Sprint("A", i), "Reject"))
			}
			selects(t, allows, append(flood, ordinary...), "a")
			selects(t, denies, append(flood, ordinary...), "r")
		}},
		{"flood of questions", func(t *testing.T) {
			// Each has an answer of its own, whoever else asks.
			ask := permission.Ask{Func: func(_ context.Context, q permission.Question) (permission.Answer, error) {
				id := "r"
				if q.Request.SessionID == "good" {
					id = "a"
				}
				return permission.Answer{QuestionID: q.ID, OptionID: id}, nil
			}}
			var group sync.WaitGroup
			for i := range 300 {
				group.Go(func() {
					req := call(t, edit("a"))
					req.Options = append([]acp.PermissionOption{}, ordinary...)
					req.SessionID, req.RunID = "good", fmt.Sprint(i)
					want := "a"
					if i%2 == 0 {
						req.SessionID, want = "bad", "r"
					}
					if d, _ := permission.Decide(t.Context(), ask, req); d.OptionID != want {
						t.Errorf("%d: got %+v, want %q", i, d, want)
					}
				})
			}
			group.Wait()
		}},
		{"flood of acts to be granted", func(t *testing.T) {
			var g permission.Grants
			p := g.Policy(permission.Allow())
			text := func(i int) string {
				return fmt.Sprintf(`{"kind":"edit","content":[{"type":"diff","path":"/home/u/project/a","newText":"%d"}]}`, i)
			}
			for i := range 1100 {
				permission.Decide(t.Context(), p, call(t, text(i)))
			}
			granted := func(i int) bool {
				req := call(t, text(i))
				req.Method = acp.ClientMethodFsWriteTextFile
				d, _ := permission.Decide(t.Context(), g.Policy(permission.Reject()), req)
				return d.OptionID == "yes"
			}
			if granted(0) || !granted(1099) {
				t.Error("what is remembered has no bound, or the last of it is forgotten")
			}
		}},
		{"answer after the cancel", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				answered := make(chan struct{})
				ask := permission.Ask{Func: func(_ context.Context, q permission.Question) (permission.Answer, error) {
					defer close(answered)
					cancel()
					time.Sleep(time.Second)
					return permission.Answer{QuestionID: q.ID, OptionID: "yes"}, nil
				}}
				if d, _ := permission.Decide(ctx, ask, call(t, edit("a"))); d.OptionID != "no" {
					t.Errorf("got %+v", d)
				}
				<-answered
			})
		}},
		{"answer after the cancel, by somebody who does not wait", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			ask := permission.Ask{Func: func(_ context.Context, q permission.Question) (permission.Answer, error) {
				cancel()
				return permission.Answer{QuestionID: q.ID, OptionID: "yes"}, nil
			}}
			if d, _ := permission.Decide(ctx, ask, call(t, edit("a"))); d.OptionID != "no" {
				t.Errorf("got %+v", d)
			}
		}},
		{"grant after the cancel", func(t *testing.T) {
			var g permission.Grants
			ctx, cancel := context.WithCancel(t.Context())
			yes := permission.PolicyFunc(func(_ context.Context, req permission.Request) permission.Decision {
				cancel()
				return permission.Allow().Decide(ctx, req)
			})
			text := `{"kind":"edit","content":[{"type":"diff","path":"/home/u/project/a","newText":"x"}]}`
			permission.Decide(ctx, g.Policy(yes), call(t, text))
			req := call(t, text)
			req.Method = acp.ClientMethodFsWriteTextFile
			if d, _ := permission.Decide(t.Context(), g.Policy(permission.Reject()), req); d.OptionID != "no" {
				t.Errorf("got %+v", d)
			}
		}},
	} {
		t.Run(tt.name, tt.test)
	}
}
