package main

import (
	"testing"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/permission"
)

func TestRepliesTo(t *testing.T) {
	const (
		once   = acp.PermissionOptionKindAllowOnce
		always = acp.PermissionOptionKindAllowAlways
		no     = acp.PermissionOptionKindRejectOnce
		never  = acp.PermissionOptionKindRejectAlways
	)
	option := func(id string, kind acp.PermissionOptionKind, name string) acp.PermissionOption {
		return acp.PermissionOption{OptionId: acp.PermissionOptionId(id), Kind: kind, Name: name}
	}
	ordinary := []acp.PermissionOption{option("4", never, "d"), option("2", always, "b"), option("3", no, "c"), option("1", once, "a")}
	for _, tt := range []struct {
		name     string
		options  []acp.PermissionOption
		standing bool
		want     []reply
		keys     string
	}{
		{"in another order", ordinary, true, []reply{
			{key: "y", what: "allow once", label: "a", option: "1"}, {key: "a", what: "allow always", label: "b", option: "2"},
			{key: "n", what: "reject once", label: "c", option: "3"}, {key: "r", what: "reject always", label: "d", option: "4"},
		}, "y, a, n or r"},
		{"nothing for good", ordinary, false, []reply{
			{key: "y", what: "allow once", label: "a", option: "1"}, {what: "allow always", label: "b", option: "2", why: whyOnlyOnce},
			{key: "n", what: "reject once", label: "c", option: "3"}, {key: "r", what: "reject always", label: "d", option: "4"},
		}, "y, n or r"},
		{"labels that lie", []acp.PermissionOption{option("reject", once, "Reject"), option("allow", no, "Allow")}, true, []reply{
			{key: "y", what: "allow once", label: "Reject", option: "reject"}, {key: "n", what: "reject once", label: "Allow", option: "allow"},
		}, "y or n"},
		{"several of a kind", []acp.PermissionOption{option("a", once, "A"), option("b", once, "B"), option("a", once, "again"), option("n", no, "N")}, true, []reply{
			{key: "y1", what: "allow once", label: "A", option: "a"}, {key: "y2", what: "allow once", label: "B", option: "b"},
			{key: "n", what: "reject once", label: "N", option: "n"},
		}, "y1, y2 or n"},
		{"unknown, unnamed and two in one", []acp.PermissionOption{
			option("x", "allow_forever", "X"), option("", once, "Y"), option("z", once, "Z"), option("z", no, "Z2"), option("z", once, "Z3"),
		}, true, []reply{
			{what: "?", label: "X", why: whyUnclear}, {what: "?", label: "Y", why: whyUnclear}, {what: "?", label: "Z", why: whyUnclear},
			{what: "?", label: "Z2", why: whyUnclear}, {what: "?", label: "Z3", why: whyUnclear}, {key: "n", what: "none of these"},
		}, "n"},
		{"no word for no", []acp.PermissionOption{option("1", once, "a")}, true, []reply{
			{key: "y", what: "allow once", label: "a", option: "1"}, {key: "n", what: "none of these"},
		}, "y or n"},
		{"none", nil, true, []reply{{key: "n", what: "none of these"}}, "n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := repliesTo(permission.Question{Request: permission.Request{Options: tt.options}, Standing: tt.standing})
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(reply{})); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if keys := keys(got); keys != tt.keys {
				t.Errorf("keys %q, want %q", keys, tt.keys)
			}
		})
	}
}

// A flood of options leaves room for a no.
func TestRepliesToAFlood(t *testing.T) {
	var options []acp.PermissionOption
	for i := range 10_000 {
		options = append(options, acp.PermissionOption{OptionId: acp.PermissionOptionId(rune(i) + 0x10000), Kind: acp.PermissionOptionKindAllowOnce})
	}
	options = append(options, yesNo...)
	got := repliesTo(permission.Question{Request: permission.Request{Options: options}})
	if want := "y1, y2, y3, y4, y5, y6, y7, y8, y9 or n"; keys(got) != want {
		t.Errorf("keys %q, want %q", keys(got), want)
	}
	if more := got[maxReplies]; more.key != "" || more.why != whyTooMany {
		t.Errorf("the one over the limit: %+v", more)
	}
}
