package permission_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/errand-acp/errand/permission"
)

func ExampleDecide() {
	req := permission.Request{Options: []acp.PermissionOption{
		{OptionId: "always", Kind: acp.PermissionOptionKindAllowAlways},
		{OptionId: "ok", Kind: acp.PermissionOptionKindAllowOnce},
		{OptionId: "no", Kind: acp.PermissionOptionKindRejectOnce},
	}}
	yes, _ := permission.Decide(context.Background(), permission.Allow(), req)
	no, record := permission.Decide(context.Background(), permission.Reject(), req)
	fmt.Println(yes.OptionID, no.OptionID, record.Decision)
	// Output: ok no denied
}

// options writes a list of options as "kind:id …".
func options(specs ...[2]string) []acp.PermissionOption {
	out := []acp.PermissionOption{}
	for _, s := range specs {
		out = append(out, acp.PermissionOption{
			Kind: acp.PermissionOptionKind(s[0]), OptionId: acp.PermissionOptionId(s[1]),
			Name: "a label that says the opposite: Deny / Allow",
		})
	}
	return out
}

func TestPolicies(t *testing.T) {
	const (
		ao = "allow_once"
		aa = "allow_always"
		ro = "reject_once"
		ra = "reject_always"
	)
	type want struct {
		id        string
		outcome   permission.Outcome
		ambiguous bool
	}
	tests := []struct {
		name    string
		policy  permission.Policy
		options []acp.PermissionOption
		want    want
	}{
		{"P2 reject takes reject_once", permission.Reject(), options([2]string{ao, "a"}, [2]string{ro, "r"}), want{"r", permission.Denied, false}},
		{"P3 odd order, allow", permission.Allow(), options([2]string{aa, "A"}, [2]string{ro, "r"}, [2]string{ao, "a"}), want{"a", permission.Allowed, false}},
		{"P3 odd order, reject", permission.Reject(), options([2]string{aa, "A"}, [2]string{ro, "r"}, [2]string{ao, "a"}), want{"r", permission.Denied, false}},
		{"P4 only allow kinds under reject", permission.Reject(), options([2]string{aa, "A"}, [2]string{ao, "a"}), want{"", permission.Cancelled, false}},
		{"P5 only a standing grant under allow", permission.Allow(), options([2]string{aa, "A"}, [2]string{ro, "r"}), want{"A", permission.Allowed, false}},
		{"P6 no options, allow", permission.Allow(), options(), want{"", permission.Cancelled, false}},
		{"P6 nil options, reject", permission.Reject(), nil, want{"", permission.Cancelled, false}},
		{"reject_always is better than cancelled", permission.Reject(), options([2]string{ao, "a"}, [2]string{ra, "R"}), want{"R", permission.Denied, false}},
		{"reject_once before reject_always", permission.Reject(), options([2]string{ra, "R"}, [2]string{ro, "r"}), want{"r", permission.Denied, false}},
		{"A25 allow with nothing to allow", permission.Allow(), options([2]string{ro, "r"}), want{"", permission.Cancelled, false}},
		{"unknown kinds are never selected", permission.Allow(), options([2]string{"allow_session", "s"}, [2]string{"", "e"}), want{"", permission.Cancelled, false}},
		{"unknown kinds are never selected by reject", permission.Reject(), options([2]string{"reject", "s"}), want{"", permission.Cancelled, false}},
		{"two allow_once are a question", permission.Allow(), options([2]string{ao, "a"}, [2]string{ao, "b"}, [2]string{ro, "r"}), want{"r", permission.Denied, true}},
		{"two allow_once without a reject", permission.Allow(), options([2]string{ao, "a"}, [2]string{ao, "b"}), want{"", permission.Cancelled, true}},
		{"two allow_always before one allow_once", permission.Allow(), options([2]string{aa, "A"}, [2]string{aa, "B"}, [2]string{ao, "a"}), want{"a", permission.Allowed, false}},
		{"two allow_always alone", permission.Allow(), options([2]string{aa, "A"}, [2]string{aa, "B"}, [2]string{ro, "r"}), want{"r", permission.Denied, true}},
		{"first", permission.AllowPolicy{First: true}, options([2]string{ao, "a"}, [2]string{ao, "b"}), want{"a", permission.Allowed, false}},
		{"choose", permission.AllowPolicy{Choose: []string{"zzz", "b"}}, options([2]string{ao, "a"}, [2]string{ao, "b"}), want{"b", permission.Allowed, false}},
		{"choose never reaches another kind", permission.AllowPolicy{Choose: []string{"r", "A"}}, options([2]string{ao, "a"}, [2]string{ao, "b"}, [2]string{aa, "A"}, [2]string{ro, "r"}), want{"r", permission.Denied, true}},
		{"choose before first", permission.AllowPolicy{Choose: []string{"b"}, First: true}, options([2]string{ao, "a"}, [2]string{ao, "b"}), want{"b", permission.Allowed, false}},
		{"the same option twice is one", permission.Allow(), options([2]string{ao, "a"}, [2]string{ao, "a"}), want{"a", permission.Allowed, false}},
		{"an id of two kinds is not allowed", permission.Allow(), options([2]string{ao, "x"}, [2]string{ro, "x"}), want{"", permission.Cancelled, false}},
		{"an id of two kinds is not rejected with", permission.Reject(), options([2]string{ro, "x"}, [2]string{ao, "x"}, [2]string{ro, "r"}), want{"r", permission.Denied, false}},
		{"an option without an id", permission.Allow(), options([2]string{ao, ""}), want{"", permission.Cancelled, false}},
		{"nil policy rejects", nil, options([2]string{ao, "a"}, [2]string{ro, "r"}), want{"r", permission.Denied, false}},
		{"C4 a policy cannot select what was not offered", permission.PolicyFunc(func(context.Context, permission.Request) permission.Decision {
			return permission.Decision{OptionID: "made-up", Rule: "mine"}
		}), options([2]string{ao, "a"}), want{"", permission.Cancelled, false}},
		{"a policy that panics", permission.PolicyFunc(func(context.Context, permission.Request) permission.Decision {
			panic("secret")
		}), options([2]string{ao, "a"}), want{"", permission.Cancelled, false}},
		{"the record goes by the kind, not by the rule's name", permission.PolicyFunc(func(context.Context, permission.Request) permission.Decision {
			return permission.Decision{OptionID: "r", Rule: "allow"}
		}), options([2]string{ao, "a"}, [2]string{ro, "r"}), want{"r", permission.Denied, false}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, r := permission.Decide(t.Context(), tt.policy, permission.Request{Options: tt.options})
			if got := (want{d.OptionID, r.Decision, d.Ambiguous}); got != tt.want {
				t.Errorf("got %+v (rule %q), want %+v", got, d.Rule, tt.want)
			}
			if d.Rule == "" || r.Rule != d.Rule || r.Ambiguous != d.Ambiguous {
				t.Errorf("%+v recorded as %+v", d, r)
			}
			if (r.OptionID == nil) != (d.OptionID == "") {
				t.Errorf("optionId %v recorded for option %q", r.OptionID, d.OptionID)
			}
		})
	}
}

// The order of the options never changes what is allowed or denied.
func TestOrderDoesNotMatter(t *testing.T) {
	base := options([2]string{"allow_always", "A"}, [2]string{"allow_once", "a"}, [2]string{"reject_once", "r"}, [2]string{"reject_always", "R"}, [2]string{"new_kind", "n"})
	for _, p := range []permission.Policy{permission.Reject(), permission.Allow()} {
		want, _ := permission.Decide(t.Context(), p, permission.Request{Options: base})
		permute(base, func(o []acp.PermissionOption) {
			if got, _ := permission.Decide(t.Context(), p, permission.Request{Options: o}); got != want {
				t.Fatalf("options %v: got %+v, want %+v", o, got, want)
			}
		})
	}
}

func permute(o []acp.PermissionOption, f func([]acp.PermissionOption)) {
	var rec func(int)
	rec = func(i int) {
		if i == len(o) {
			f(o)
			return
		}
		for j := i; j < len(o); j++ {
			o[i], o[j] = o[j], o[i]
			rec(i + 1)
			o[i], o[j] = o[j], o[i]
		}
	}
	rec(0)
}

func TestRecord(t *testing.T) {
	kind, title := acp.ToolKindEdit, "Write hello.txt"
	req := permission.Request{
		SessionID: "s1",
		ToolCall:  acp.ToolCallUpdate{ToolCallId: "c1", Kind: &kind, Title: &title, RawInput: map[string]any{"path": "hello.txt"}},
		Options:   options([2]string{"allow_once", "a"}, [2]string{"odd", "o"}),
	}
	_, got := permission.Decide(t.Context(), permission.Allow(), req)
	a, k := "a", "edit"
	want := permission.Record{
		SessionID: "s1", ToolCallID: "c1", Kind: &k, Title: &title, RawInput: map[string]any{"path": "hello.txt"},
		Options:  []permission.Option{{ID: "a", Kind: "allow_once"}, {ID: "o", Kind: "odd"}},
		Decision: permission.Allowed, OptionID: &a, Rule: "allow",
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(permission.Record{}, "Ms")); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}

	// What does not apply is null, never left out.
	text, err := json.Marshal(permission.Withdrawn(permission.Request{}, "turn cancelled", time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kind", "title", "optionId", "rawInput", "facts"} {
		if v, ok := fields[name]; !ok || v != nil {
			t.Errorf("%s is %v (there: %v), want null", name, v, ok)
		}
	}
	if fields["decision"] != "cancelled" {
		t.Errorf("decision %v, want cancelled", fields["decision"])
	}
}
