package subagent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

const (
	selectedYes = `{"outcome":{"optionId":"yes","outcome":"selected"}}`
	selectedNo  = `{"outcome":{"optionId":"no","outcome":"selected"}}`
	noneChosen  = `{"outcome":{"outcome":"cancelled"}}`
)

// asks is an agent that asks before it acts. Options stand in the place of %s.
func asks(options string) string {
	return `on session/prompt
		permission c1 "Write it" kind=edit path=out.txt input={"path":"out.txt"}
			` + options + `
			when allowed
				append out.txt "written"
				text "done"
			when rejected
				text "then not"
			when other
				text "no answer"
		end
		stop end_turn`
}

const (
	yes    = "option yes allow_once Yes\n"
	no     = "option no reject_once No\n"
	always = "option always allow_always Always\n"
	never  = "option never reject_always Never\n"
)

// What is answered when an agent asks.
func parityPermission(t *testing.T) {
	// decides plays a scene and checks what it came to.
	decides := func(t *testing.T, options string, policy permission.Policy, answer, output, out string, want permission.Record) {
		t.Helper()
		s := play(t, asks(options), &subagent.ACPOptions{Permission: policy})
		res := s.run("go")
		ended(t, res, stopreason.Completed, "")
		check.Equal(t, "output", res.Output, output)
		var sent []string
		for _, a := range s.answers() {
			sent = append(sent, compact(t, a))
		}
		check.Equal(t, "answers", strings.Join(sent, " "), answer)
		written := ""
		if s.Exists("out.txt") {
			written = s.File("out.txt")
		}
		check.Equal(t, "side effect", written, out)
		want.SessionID, want.ToolCallID, want.Kind, want.Title = "session-1", "c1", ptr("edit"), ptr("Write it")
		want.RawInput = map[string]any{"path": "out.txt"}
		if diff := cmp.Diff([]permission.Record{want}, res.Permissions, cmpopts.IgnoreFields(permission.Record{}, "Options", "Ms")); diff != "" {
			t.Errorf("permissions (-want +got):\n%s", diff)
		}
	}

	t.Run("A23 reject is the default", func(t *testing.T) {
		t.Parallel()
		decides(t, yes+no, nil, selectedNo, "then not", "",
			permission.Record{Decision: permission.Denied, OptionID: ptr("no"), Rule: "reject"})
		decides(t, always+never+yes+no, permission.Reject(), selectedNo, "then not", "",
			permission.Record{Decision: permission.Denied, OptionID: ptr("no"), Rule: "reject"})
		decides(t, yes+always, nil, noneChosen, "no answer", "",
			permission.Record{Decision: permission.Cancelled, Rule: "reject: no reject option"})
	})

	t.Run("A24 allow prefers allow_once", func(t *testing.T) {
		t.Parallel()
		decides(t, always+no+yes, permission.Allow(), selectedYes, "done", "written\n",
			permission.Record{Decision: permission.Allowed, OptionID: ptr("yes"), Rule: "allow"})
		decides(t, no+always, permission.Allow(), `{"outcome":{"optionId":"always","outcome":"selected"}}`, "done", "written\n",
			permission.Record{Decision: permission.Allowed, OptionID: ptr("always"), Rule: "allow"})
	})

	t.Run("A25 allow with nothing to allow", func(t *testing.T) {
		t.Parallel()
		decides(t, no+never, permission.Allow(), noneChosen, "no answer", "",
			permission.Record{Decision: permission.Cancelled, Rule: "allow: no allow option"})
		decides(t, "", permission.Allow(), noneChosen, "no answer", "",
			permission.Record{Decision: permission.Cancelled, Rule: "allow: no allow option"})
		decides(t, "option maybe allow_sometimes Maybe\n", permission.Allow(), noneChosen, "no answer", "",
			permission.Record{Decision: permission.Cancelled, Rule: "allow: no allow option"})
	})

	t.Run("B4 an unusable answer fails closed", func(t *testing.T) {
		t.Parallel()
		for name, tt := range map[string]struct {
			policy permission.PolicyFunc
			rule   string
		}{
			"no answer": {func(context.Context, permission.Request) permission.Decision {
				return permission.Decision{Rule: "undecided"}
			}, "undecided"},
			"a panic": {func(context.Context, permission.Request) permission.Decision {
				panic("a policy's own affair")
			}, "policy panicked"},
			"another option": {func(context.Context, permission.Request) permission.Decision {
				return permission.Decision{OptionID: "YES", Rule: "mine"}
			}, "mine: option not offered"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				decides(t, yes+no, tt.policy, noneChosen, "no answer", "", permission.Record{Decision: permission.Cancelled, Rule: tt.rule})
			})
		}
	})

	t.Run("C4 only what was offered is selected", func(t *testing.T) {
		t.Parallel()
		madeUp := permission.PolicyFunc(func(context.Context, permission.Request) permission.Decision {
			return permission.Decision{OptionID: "allow_always", Rule: "mine"}
		})
		decides(t, yes+no, madeUp, noneChosen, "no answer", "",
			permission.Record{Decision: permission.Cancelled, Rule: "mine: option not offered"})
		// The same id for two kinds cannot be selected without doubt.
		decides(t, "option yes allow_once Yes\noption yes reject_once No\n", permission.AllowPolicy{First: true}, noneChosen, "no answer", "",
			permission.Record{Decision: permission.Cancelled, Rule: "allow: no allow option"})
	})

	t.Run("C5 the side effect happens once or not at all", func(t *testing.T) {
		t.Parallel()
		decides(t, yes+no, permission.Allow(), selectedYes, "done", "written\n",
			permission.Record{Decision: permission.Allowed, OptionID: ptr("yes"), Rule: "allow"})
		decides(t, yes+no, permission.Reject(), selectedNo, "then not", "",
			permission.Record{Decision: permission.Denied, OptionID: ptr("no"), Rule: "reject"})
	})

	t.Run("C6 a reject is a normal result", func(t *testing.T) {
		t.Parallel()
		s := play(t, asks(yes+no), nil)
		res := s.run("go")
		ended(t, res, stopreason.Completed, "")
		check.Equal(t, "stop reason", *res.StopReason, "end_turn")
		check.Equal(t, "Err()", res.Err(), nil)
		check.Equal(t, "warnings", len(res.Warnings), 0)
		check.Equal(t, "output", res.Output, "then not")
		want := []subagent.ToolCall{{ID: "c1", Title: ptr("Write it"), Kind: ptr("edit"), Status: "unknown", Permitted: ptr(false)}}
		if diff := cmp.Diff(want, res.ToolCalls); diff != "" {
			t.Errorf("tool calls (-want +got):\n%s", diff)
		}
		check.Equal(t, "exit", res.Exit.String(), "exit status 0")
	})

	t.Run("C7 the request's session and input", func(t *testing.T) {
		t.Parallel()
		var asked permission.Request
		policy := permission.PolicyFunc(func(ctx context.Context, req permission.Request) permission.Decision {
			asked = req
			return permission.Allow().Decide(ctx, req)
		})
		s := play(t, asks(yes+no), &subagent.ACPOptions{Permission: policy})
		var told *permission.Record
		req := s.request("go")
		req.Events = func(e subagent.Event) {
			if e.Permission != nil {
				told = e.Permission
			}
		}
		res := s.do(req)
		check.Equal(t, "session", asked.SessionID, *res.SessionID)
		check.Equal(t, "directory", asked.Dir, s.Dir)
		check.Equal(t, "tool call", string(asked.ToolCall.ToolCallId), "c1")
		check.Equal(t, "path", asked.ToolCall.Locations[0].Path, s.Path("out.txt"))
		input := map[string]any{"path": "out.txt"}
		if diff := cmp.Diff(any(input), asked.ToolCall.RawInput); diff != "" {
			t.Errorf("raw input (-want +got):\n%s", diff)
		}
		if len(res.Permissions) != 1 || told == nil {
			t.Fatalf("permissions %+v, event %+v", res.Permissions, told)
		}
		if diff := cmp.Diff(res.Permissions[0], *told); diff != "" {
			t.Errorf("the event says otherwise than the result (-result +event):\n%s", diff)
		}
		want := permission.Record{
			SessionID: *res.SessionID, ToolCallID: "c1", Kind: ptr("edit"), Title: ptr("Write it"), RawInput: input,
			Options:  []permission.Option{{ID: "yes", Kind: "allow_once"}, {ID: "no", Kind: "reject_once"}},
			Decision: permission.Allowed, OptionID: ptr("yes"), Rule: "allow",
		}
		if diff := cmp.Diff(want, *told, cmpopts.IgnoreFields(permission.Record{}, "Ms")); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}

		// A session of the agent's own is decided too, under its own id, and is not
		// mixed up with ours.
		nested := strings.Replace(asks(yes+no), "kind=edit", "kind=edit session=nested-7", 1)
		res = play(t, nested, &subagent.ACPOptions{Permission: permission.Allow()}).run("go")
		if len(res.Permissions) != 1 || res.Permissions[0].SessionID != "nested-7" || res.Permissions[0].Decision != permission.Allowed {
			t.Errorf("permissions %+v", res.Permissions)
		}
		check.Equal(t, "output", res.Output, "done")
		check.Equal(t, "our tool calls", len(res.ToolCalls), 0)
	})
}
