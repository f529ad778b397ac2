package permission

import (
	"context"
	"slices"

	"github.com/coder/acp-go-sdk"
)

// Rules is a policy of rules: deny before ask before allow before the default, and
// among the rules of one effect the first that matches gives the record its name. The
// order of the rules decides nothing else.
//
// The zero value denies everything. Rules must not be changed while it is in use.
type Rules struct {
	// Default is for calls that no rule speaks of; empty denies.
	Default Effect `json:"default,omitempty"`
	// Sensitive is for calls that touch a sensitive file (see Sensitive) or an odd
	// path, unless a rule that allows spells out the very file. Empty asks;
	// EffectAllow treats them as any other file.
	Sensitive Effect `json:"sensitive,omitempty"`
	// Choose and First say which of several allow_once options is meant, as in
	// AllowPolicy; without them several are a question, and rejected.
	Choose []string `json:"choose,omitempty"`
	First  bool     `json:"first,omitempty"`
	// Rules are the rules.
	Rules []Rule `json:"rules"`
	// Ask is who is asked; nil means nobody, and what would be asked is rejected.
	Ask Policy `json:"-"`
}

// Verdict is what Rules make of a request, and why.
type Verdict struct {
	// Effect is what becomes of it.
	Effect Effect
	// Rule names what decided: a rule's name or number, "default", "sensitive file …",
	// "malformed path".
	Rule string
	// Standing is set where an allow_always option may be selected.
	Standing bool
}

// Explain tells what the rules make of a request, without asking anybody.
func (r *Rules) Explain(req Request) Verdict {
	f := req.Facts()
	return r.verdict(&f)
}

func (r *Rules) verdict(f *Facts) Verdict {
	find := func(effect Effect, matches func(*Rule) bool) (Verdict, bool) {
		for i := range r.Rules {
			if rule := &r.Rules[i]; effectOf(rule.Effect) == effect && matches(rule) {
				return Verdict{effect, rule.label(i), rule.Always && r.standing(f)}, true
			}
		}
		return Verdict{}, false
	}
	if slices.ContainsFunc(f.everyPath(), func(p Path) bool { return p.Odd == oddNUL }) {
		return Verdict{Effect: EffectDeny, Rule: "malformed path"}
	}
	if v, ok := find(EffectDeny, f.touched); ok {
		return v
	}
	asked, isAsked := find(EffectAsk, f.touched)
	named, isNamed := Verdict{}, false
	guarded, what := r.guards(f)
	if guarded {
		named, isNamed = find(EffectAllow, func(rule *Rule) bool { return f.covered(rule, true) })
	}
	sensitive := Verdict{Effect: r.sensitive(), Rule: what}
	if f.incomplete() && sensitive.Effect == EffectAllow {
		sensitive.Effect = EffectAsk // what denies may be where nobody has looked
	}
	if guarded && !isNamed && sensitive.Effect == EffectDeny {
		return sensitive
	}
	if isAsked {
		return asked
	}
	if guarded && !isNamed {
		return sensitive
	}
	if isNamed {
		return named
	}
	if v, ok := find(EffectAllow, func(rule *Rule) bool { return f.covered(rule, false) }); ok {
		return v
	}
	return Verdict{Effect: effectOf(r.Default), Rule: byDefault}
}

// guards reports whether something in the call is guarded, and what.
func (r *Rules) guards(f *Facts) (bool, string) {
	if f.incomplete() {
		return true, "too large to be looked at whole"
	}
	if r.sensitive() == EffectAllow {
		return false, ""
	}
	if slices.ContainsFunc(f.Hosts, func(h Host) bool { return h.Name == "" }) {
		return true, "odd URL"
	}
	for _, p := range f.everyPath() {
		switch {
		case p.Odd != "":
			return true, "odd path"
		case f.sensitive(p):
			return true, "sensitive file"
		}
	}
	return false, ""
}

func (r *Rules) sensitive() Effect {
	if r.Sensitive == "" {
		return EffectAsk
	}
	return effectOf(r.Sensitive)
}

// standing reports whether a standing grant may be given for the call at all.
func (r *Rules) standing(f *Facts) bool {
	return len(f.Risks) == 0 && !slices.ContainsFunc(r.Rules, func(rule Rule) bool { return rule.HighRisk && f.touched(&rule) }) && !f.incomplete()
}

// effectOf makes what is no effect the strongest one.
func effectOf(e Effect) Effect {
	if e == EffectAsk || e == EffectAllow {
		return e
	}
	return EffectDeny
}

// Decide implements Policy. It reads the request's facts, and asks r.Ask where they
// come to a question.
func (r *Rules) Decide(ctx context.Context, req Request) Decision {
	req = req.keepFacts()
	f := req.Facts()
	v := r.verdict(&f)
	name := string(v.Effect) + ": " + v.Rule
	switch v.Effect {
	case EffectAllow:
		return r.allow(ctx, req, v, name)
	case EffectAsk:
		if r.Ask == nil {
			return reject(usable(req.Options), name+": nobody to ask")
		}
		req.once = req.once || !v.Standing
		d := r.Ask.Decide(ctx, req)
		if d.OptionID != "" && !v.Standing && standingOption(req.Options, d.OptionID) {
			return reject(usable(req.Options), name+": no standing grant")
		}
		d.Rule = name + ": " + d.Rule
		return d
	}
	return reject(usable(req.Options), name)
}

func (r *Rules) allow(ctx context.Context, req Request, v Verdict, name string) Decision {
	options := usable(req.Options)
	if !v.Standing && len(ofKind(options, acp.PermissionOptionKindAllowOnce)) == 0 && len(ofKind(options, acp.PermissionOptionKindAllowAlways)) > 0 {
		return reject(options, name+": no standing grant")
	}
	d := AllowPolicy{Choose: r.Choose, First: r.First}.Decide(ctx, req)
	if d.Ambiguous {
		name += ": ambiguous"
	} else if d.OptionID == "" {
		name += ": no allow option"
	}
	d.Rule = name
	return d
}

// standingOption reports whether the option is one that lasts.
func standingOption(options []acp.PermissionOption, id string) bool {
	return slices.Contains(ofKind(usable(options), acp.PermissionOptionKindAllowAlways), id)
}

// GuardsReads implements ReadGuard: rules may be about any file.
func (r *Rules) GuardsReads() bool { return true }
