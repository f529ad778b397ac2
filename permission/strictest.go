package permission

import (
	"context"
	"slices"
	"strings"
)

// Strictest returns the policy that allows what all of the policies allow. They are
// asked in order; the first that does not allow decides, and those after it are not
// asked. Where some would select an option that lasts and others one for once, it is
// for once; where they would select different options of a kind, the request is
// ambiguous and rejected. A nil policy, and none at all, reject.
func Strictest(policies ...Policy) Policy { return strictest(slices.Clone(policies)) }

type strictest []Policy

func (s strictest) Decide(ctx context.Context, req Request) Decision {
	if len(s) == 0 {
		return Reject().Decide(ctx, req)
	}
	req = req.keepFacts()
	var agreed Decision
	var rules []string
	partial := false
	for _, p := range s {
		d := ask(ctx, p, req)
		outcome, ok := kindOf(req.Options, d.OptionID)
		if d.OptionID != "" && !ok {
			return reject(usable(req.Options), d.Rule+": option not offered")
		}
		if outcome != Allowed {
			return d
		}
		rules = append(rules, d.Rule)
		partial = partial || d.Partial
		switch lasts, lasted := standingOption(req.Options, d.OptionID), standingOption(req.Options, agreed.OptionID); {
		case agreed.OptionID == "", lasted && !lasts:
			agreed = d
		case lasts && !lasted:
		case d.OptionID != agreed.OptionID:
			d = reject(usable(req.Options), strings.Join(rules, " + ")+": different options")
			d.Ambiguous = true
			return d
		}
	}
	agreed.Rule, agreed.Partial = strings.Join(rules, " + "), partial
	return agreed
}

// GuardsReads implements ReadGuard.
func (s strictest) GuardsReads() bool { return slices.ContainsFunc(s, GuardsReads) }

// Digest names the policy by those of its policies that have a name, in their order; empty
// where none has.
func (s strictest) Digest() string {
	names := make([]string, len(s))
	for i, p := range s {
		if d, ok := p.(interface{ Digest() string }); ok {
			names[i] = d.Digest()
		}
	}
	if strings.Join(names, "") == "" {
		return ""
	}
	return digestOf(names)
}
