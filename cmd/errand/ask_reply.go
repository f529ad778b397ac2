package main

import (
	"strconv"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/permission"
)

// reply is an answer that a question offers, or an option that cannot be one.
type reply struct {
	key    string // to type; empty where it cannot be chosen
	what   string // it does, in our words
	label  string // in the agent's
	option string // empty for none of them
	why    string // it cannot be chosen
}

// replyKinds are the kinds of options in the order that they are shown in. The keys are the
// same in each question, however the agent orders and names its options, so that a habit
// never says yes where it means no.
var replyKinds = []struct {
	kind      acp.PermissionOptionKind
	key, what string
	refuses   bool
}{
	{acp.PermissionOptionKindAllowOnce, "y", "allow once", false},
	{acp.PermissionOptionKindAllowAlways, "a", "allow always", false},
	{acp.PermissionOptionKindRejectOnce, "n", "reject once", true},
	{acp.PermissionOptionKindRejectAlways, "r", "reject always", true},
}

const (
	// maxReplies is how many options of a kind are shown, and can be chosen.
	maxReplies = 9

	whyUnclear  = "of no known kind, or not to be told from another one"
	whyTooMany  = "too many of this kind"
	whyOnlyOnce = "a call with risks, or one that is not shown whole, or a policy that gives nothing for good"
)

// repliesTo returns the agent's options by their kinds, and a way to choose none of them
// where the agent has no word for no.
func repliesTo(q permission.Question) []reply {
	byKind, unclear := sorted(q.Request.Options)
	var out []reply
	refuses := false
	for _, k := range replyKinds {
		options := byKind[k.kind]
		for i, o := range options[:min(len(options), maxReplies+1)] {
			r := reply{key: k.key, what: k.what, label: o.Name, option: string(o.OptionId)}
			if len(options) > 1 {
				r.key += strconv.Itoa(i + 1)
			}
			switch {
			case i == maxReplies:
				r.why = whyTooMany
			case k.kind == acp.PermissionOptionKindAllowAlways && !q.Standing:
				r.why = whyOnlyOnce
			}
			if r.why != "" {
				r.key = ""
			}
			refuses = refuses || k.refuses
			out = append(out, r)
		}
	}
	for _, o := range unclear[:min(len(unclear), maxReplies)] {
		out = append(out, reply{what: "?", label: o.Name, why: whyUnclear})
	}
	if !refuses {
		out = append(out, reply{key: "n", what: "none of these"})
	}
	return out
}

// sorted returns the options, each once, by their kinds, and those whose id does not say
// which one is meant.
func sorted(options []acp.PermissionOption) (byKind map[acp.PermissionOptionKind][]acp.PermissionOption, unclear []acp.PermissionOption) {
	kinds := map[acp.PermissionOptionId]acp.PermissionOptionKind{}
	for _, o := range options {
		if kind, ok := kinds[o.OptionId]; ok && kind != o.Kind {
			kinds[o.OptionId] = ""
		} else {
			kinds[o.OptionId] = o.Kind
		}
	}
	byKind = map[acp.PermissionOptionKind][]acp.PermissionOption{}
	for _, k := range replyKinds {
		byKind[k.kind] = nil
	}
	seen := map[acp.PermissionOptionId]bool{}
	for _, o := range options {
		of, known := byKind[o.Kind]
		switch {
		case !known || o.OptionId == "" || kinds[o.OptionId] == "":
			unclear = append(unclear, o)
		case !seen[o.OptionId]:
			seen[o.OptionId] = true
			byKind[o.Kind] = append(of, o)
		}
	}
	return byKind, unclear
}

// keys names what can be typed: y, a or n.
func keys(replies []reply) string {
	var out []string
	for _, r := range replies {
		if r.key != "" {
			out = append(out, r.key)
		}
	}
	if n := len(out); n > 1 {
		out = append(out[:n-2], out[n-2]+" or "+out[n-1])
	}
	return strings.Join(out, ", ")
}
