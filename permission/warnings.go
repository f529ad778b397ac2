package permission

import (
	"fmt"
	"regexp"
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
		}
		for _, p := range rule.Paths {
			if w := pathWarning(p, rule.Effect == EffectAllow); w != "" {
				out = append(out, rule.where(i)+": "+w)
			}
		}
	}
	denies := slices.ContainsFunc(r.Rules, func(rule Rule) bool { return rule.Effect != EffectAllow && (rule.Commands != nil || rule.Paths != nil) })
	if r.Default == EffectAllow {
		out = append(out, "default: allows whatever no rule speaks of")
		if denies {
			out = append(out, "default: a shell line can hide a command or a path from the rules that deny or ask about it; a rule with shell asks about every such line")
		}
	}
	if r.Sensitive == EffectAllow {
		out = append(out, "sensitive: keys and credentials are treated as any other file")
	}
	return out
}

// literal is a name in brackets that some have: [id].tsx, [[...slug]].
var literal = regexp.MustCompile(`^\[+(\.\.\.)?\w{2,}([_-]\w{2,})*\]+(\.\w+)*$`)

// pathWarning says what a path may have been meant to be.
func pathWarning(p string, allows bool) string {
	odd := strings.ContainsAny(p, "[{")
	if allows && odd {
		odd = slices.ContainsFunc(split(p), func(e string) bool { return strings.ContainsAny(e, "[{") && !literal.MatchString(e) })
	}
	switch {
	case odd:
		return fmt.Sprintf("in %s, [ and { stand for themselves; only * and ? are wildcards", p)
	case allows && strings.HasSuffix(p, "/") && len(split(p)) > 0:
		return fmt.Sprintf("%s is the directory alone, and nothing in it; %s** is all of it", p, p)
	case !allows && wild(p) && !strings.Contains(p, "/") && p != "**":
		return fmt.Sprintf("%s is in the session's directory alone; **/%s is below it too", p, p)
	}
	return ""
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
