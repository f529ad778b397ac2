package permission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"
)

// Misses says why the rules that may have been meant to allow a request do not, in words
// for whoever wrote them; and of a request that a sensitive file or the like makes a
// question, what that is. It is empty where the request is allowed, or a rule that denies
// or asks decides.
func (r *Rules) Misses(req Request) []string {
	f := req.Facts()
	v := r.verdict(&f)
	if v.Effect == EffectAllow {
		return nil
	}
	if guarded, what := r.guards(&f); guarded && v.Rule == what {
		return f.guardedBy()
	}
	if v.Rule != byDefault {
		return nil
	}
	var out []string
	for i := range r.Rules {
		rule := &r.Rules[i]
		if rule.Effect != EffectAllow {
			continue
		}
		if why := f.missed(rule); why != "" {
			out = append(out, rule.where(i)+": "+why)
		}
	}
	return out
}

// byDefault is the rule that a verdict names where none speaks of the call.
const byDefault = "default"

// guardedBy are the risks for which no rule that trusts a directory is enough.
func (f *Facts) guardedBy() []string {
	var out []string
	for _, risk := range f.Risks {
		if slices.ContainsFunc([]string{"sensitive file: ", "odd ", "too large "}, func(prefix string) bool { return strings.HasPrefix(risk, prefix) }) {
			out = append(out, risk)
		}
	}
	return out
}

// missed says what of the call a rule that allows does not cover; empty where the rule is
// about something else.
func (f *Facts) missed(r *Rule) string {
	if r.Commands != nil || r.Shell {
		if !f.unseen() && !slices.ContainsFunc(f.Commands, r.speaksOf) {
			return ""
		}
		for _, c := range f.Commands {
			if why := f.commandMissed(r, c); why != "" {
				return why
			}
		}
		if f.unseen() && !r.Shell {
			return "the call does not tell its command, and only shell means that"
		}
	}
	some := r.Kinds == nil
	other := acp.ToolKind("")
	for _, k := range f.Kinds {
		if slices.Contains(r.Kinds, k) {
			some = true
		} else if r.Kinds != nil {
			other = k
		}
	}
	switch {
	case !some, r.Tools != nil && !slices.ContainsFunc(f.Tools, func(t string) bool { return anyGlob(r.Tools, t) }), r.Titles != nil && !anyGlob(r.Titles, f.Title):
		return ""
	case other != "":
		return fmt.Sprintf("the call is of kind %s too", other)
	case r.Paths != nil && len(f.Paths) == 0 && len(f.Commands) == 0:
		return "the call names no path"
	}
	for _, p := range f.Paths {
		switch {
		case r.Paths != nil && !f.pathCovered(r, p, false):
			return p.Told + " is not in its paths"
		case !r.reaches(f, p):
			return p.Told + " is outside the session's directory, and the rule has no paths"
		}
	}
	switch {
	case f.hostsCovered(r):
		return ""
	case len(f.Hosts) == 0:
		return "the call names no host"
	case r.Hosts == nil:
		return "it has no hosts, and the call names " + f.Hosts[0].Told
	}
	for _, h := range f.Hosts {
		if !slices.ContainsFunc(r.Hosts, func(p string) bool { return h.Name != "" && hostMatches(p, h.Name) }) {
			return h.Told + " is none of its hosts"
		}
	}
	return ""
}

// speaksOf reports whether a rule that allows may have been meant for a command: one of its
// programs is in it.
func (r *Rule) speaksOf(c Command) bool {
	return r.Shell || slices.ContainsFunc(r.Commands, func(pattern []string) bool {
		program := programOf(pattern)[0]
		if c.Shell || runsOthers(c.Argv) {
			return !wild(program) && slices.Contains(append(looseWords(c.text()), c.Argv...), program)
		}
		return len(c.Argv) > 0 && (program == "**" || glob(program, c.Argv[0]))
	})
}

// commandMissed says why a rule does not cover a command; empty where it does, or is about
// something else.
func (f *Facts) commandMissed(r *Rule, c Command) string {
	switch {
	case r.Shell || !r.speaksOf(c) || f.commandCovered(r, c, false):
		return ""
	case c.Shell:
		return fmt.Sprintf("%s is a line for a shell, which only shell means", c.text())
	}
	missed, most := "", -1
	for _, pattern := range r.Commands {
		if program := programOf(pattern)[0]; program != "**" && !glob(program, c.Argv[0]) {
			continue
		}
		if near := nearness(pattern, c.Argv); near > most {
			if why := f.wordMissed(r, pattern, c); why != "" {
				missed, most = why, near
			}
		}
	}
	if missed != "" {
		return missed
	}
	if runsOthers(c.Argv) {
		return fmt.Sprintf("%s runs others, and is allowed only where a rule spells it out", c.Argv[0])
	}
	return "the command names nothing in its paths, and is run elsewhere"
}

// wordsMatch reports whether a pattern has the words of a command, whatever they are.
func wordsMatch(pattern, argv []string) bool {
	return sequence(pattern, len(argv), func(e string, i int) bool { return glob(e, argv[i]) }, always)
}

// nearness is how many words of a command a pattern begins with, and more than there are
// where it has all of them.
func nearness(pattern, argv []string) int {
	if wordsMatch(pattern, argv) {
		return len(argv) + 1
	}
	n := 0
	for n < min(len(pattern), len(argv)) && glob(pattern[n], argv[n]) {
		n++
	}
	return n
}

// wordMissed says which word of a command a pattern of its program does not mean.
func (f *Facts) wordMissed(r *Rule, pattern []string, c Command) string {
	argv := slices.Concat(c.Env, c.Argv)
	switch {
	case wordsMatch(pattern, argv):
	case len(c.Env) > 0 && wordsMatch(pattern, c.Argv):
		return fmt.Sprintf("%s sets a variable, which has to be in the rule", c.Env[0])
	default:
		return fmt.Sprintf("%q is not %q; ** stands for any words", c.Argv, pattern)
	}
	free := f.free(r, c, false)
	for i, word := range argv {
		if !slices.Contains(pattern, word) && !free(i) {
			return fmt.Sprintf("no wildcard stands for %s: it may run another program, or be a path elsewhere", word)
		}
	}
	return ""
}
