package permission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"
)

// Warnings says which rules let through more than they seem to, and which may refuse
// less, in words for whoever wrote them.
func (r *Rules) Warnings() []string {
	var out []string
	for i := range r.Rules {
		rule := &r.Rules[i]
		if rule.Effect == EffectAllow {
			for _, w := range rule.warnings() {
				out = append(out, rule.where(i)+": "+w)
			}
			continue
		}
		for _, p := range rule.Paths {
			if strings.ContainsAny(p, "[{") {
				out = append(out, fmt.Sprintf("%s: in %s, [ and { stand for themselves; only * and ? are wildcards", rule.where(i), p))
			}
		}
	}
	denies := slices.ContainsFunc(r.Rules, func(rule Rule) bool { return rule.Effect != EffectAllow && rule.Commands != nil })
	if r.Default == EffectAllow {
		out = append(out, "default: allows whatever no rule speaks of")
		if denies {
			out = append(out, "default: a shell line can hide a command from the rules that deny or ask about it; a rule with shell asks about every such line")
		}
	}
	if r.Sensitive == EffectAllow {
		out = append(out, "sensitive: keys and credentials are treated as any other file")
	}
	return out
}

func (r *Rule) warnings() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if r.Shell {
		add("shell allows every command, whatever else it names")
	}
	for _, c := range r.Commands {
		switch {
		case len(c) == 0:
		case c[0] == "*" || c[0] == "**":
			add("allows every program that is no interpreter and no launcher")
		case runsOthers(programOf(c)) && slices.ContainsFunc(c, wild):
			add("allows everything through %s", programOf(c)[0])
		}
	}
	executes := slices.Contains(r.Kinds, acp.ToolKindExecute)
	if executes && r.Commands == nil && !r.Shell {
		add("names no commands, and matches no call that runs one")
	}
	if r.Kinds != nil && r.Paths == nil && r.Commands == nil && slices.ContainsFunc(r.Kinds, func(k acp.ToolKind) bool {
		return slices.Contains([]acp.ToolKind{acp.ToolKindRead, acp.ToolKindEdit, acp.ToolKindDelete, acp.ToolKindMove, acp.ToolKindSearch}, k)
	}) {
		add("names no paths, and allows every file of this machine that is not sensitive")
	}
	if slices.Contains(r.Kinds, acp.ToolKindFetch) && r.Hosts == nil {
		add("names no hosts, and allows every one")
	}
	if (r.Tools != nil || r.Titles != nil) && r.Paths == nil && r.Commands == nil && r.Hosts == nil {
		add("goes by the agent's own words alone")
	}
	return out
}

// programOf returns a command's pattern from its program on, without the variables
// before it.
func programOf(c []string) []string {
	for len(c) > 1 && assignment(c[0]) {
		c = c[1:]
	}
	return c
}
