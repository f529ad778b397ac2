package permission

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"
)

// Effect is what a rule does with a call. The zero value denies.
type Effect string

// The effects, the strongest first.
const (
	EffectDeny  Effect = "deny"  // reject
	EffectAsk   Effect = "ask"   // put to whoever Rules.Ask is
	EffectAllow Effect = "allow" // allow once
)

// Rule is one rule of Rules. It speaks of the calls that meet all of the conditions it
// has; a rule without a condition is refused by ParseRules.
//
// A rule that allows must cover the whole call: every kind, path, command and network
// target that the facts hold. One that denies or asks needs only one of them.
type Rule struct {
	// Name is what the record calls the rule; empty means its number.
	Name string `json:"name,omitempty"`
	// Effect is what the rule does; empty denies, and is refused by ParseRules.
	Effect Effect `json:"effect"`
	// Kinds are kinds of tool calls.
	Kinds []acp.ToolKind `json:"kinds,omitempty"`
	// Tools and Titles are the tool's name and the call's title, with * and ?. They are
	// the agent's own words.
	Tools  []string `json:"tools,omitempty"`
	Titles []string `json:"titles,omitempty"`
	// Paths are files: relative to the session's directory (./**), to the home directory
	// (~/.cache/**) or absolute. * and ? stand for characters of one element, ** for any
	// number of elements.
	Paths []string `json:"paths,omitempty"`
	// Commands are programs with their arguments, each a list of words: ["go", "test",
	// "**"]. * and ? stand for characters of one word, ** for any number of words. In
	// a rule that allows, the words are all of the command; a wildcard stands for no
	// interpreter or launcher, nor for an argument by which a known program runs another
	// one, nor for one that may be a path outside the session's directory, or outside Paths
	// where the rule has some; and variables that the call sets are words before the
	// program: ["CI=*", "go", "test"]. In a rule that denies or asks, they are what the
	// command begins with: ["rm"] is every call of rm. Flags stand anywhere in it and between the words,
	// each with a value or none: git -C x push is ["git", "push"], rm x -fr is ["rm", "-rf"].
	Commands [][]string `json:"commands,omitempty"`
	// Shell means any command at all: shell lines, interpreters, launchers, and commands
	// that the call does not tell. In a rule that denies or asks it means those and
	// no plain command.
	Shell bool `json:"shell,omitempty"`
	// Hosts are network targets: example.com, or *.example.com for those below it.
	Hosts []string `json:"hosts,omitempty"`
	// Always lets an allow_always option be selected where the rule allows and nothing
	// else is offered, or where it asks and that is the answer.
	Always bool `json:"always,omitempty"`
	// HighRisk says that no standing grant is given for a call that the rule touches,
	// whatever other rules say.
	HighRisk bool `json:"highRisk,omitempty"`
}

func (r *Rule) label(i int) string {
	if r.Name != "" {
		return r.Name
	}
	return fmt.Sprintf("rule %d", i+1)
}

// covered reports whether the rule speaks of everything in the call. If named, it also
// has to spell out what is sensitive.
func (f *Facts) covered(r *Rule, named bool) bool {
	return !f.incomplete() &&
		(r.Kinds == nil || !slices.ContainsFunc(f.Kinds, func(k acp.ToolKind) bool { return !slices.Contains(r.Kinds, k) })) &&
		(r.Tools == nil || len(f.Tools) > 0 && all(f.Tools, func(t string) bool { return anyGlob(r.Tools, t) })) &&
		(r.Titles == nil || anyGlob(r.Titles, f.Title)) &&
		f.pathsCovered(r, named) && f.commandsCovered(r, named) && f.hostsCovered(r)
}

func (f *Facts) pathsCovered(r *Rule, named bool) bool {
	if r.Paths != nil && len(f.Paths) == 0 && len(f.Commands) == 0 {
		return false
	}
	return all(f.Paths, func(p Path) bool { return r.reaches(f, p) && f.pathCovered(r, p, named) })
}

// fileKinds are the kinds of calls that are about files.
var fileKinds = []acp.ToolKind{acp.ToolKindRead, acp.ToolKindEdit, acp.ToolKindDelete, acp.ToolKindMove, acp.ToolKindSearch}

// reaches reports whether a rule that names no paths may be about this one. A rule for
// commands or tools stays in the session's directory, in what wildcards stand for too; one
// about files may be about any, and one for something else has no business with files.
func (r *Rule) reaches(f *Facts, p Path) bool {
	switch {
	case r.Paths != nil:
		return true
	case r.Commands != nil:
		return f.at.inside(p)
	case slices.ContainsFunc(r.Kinds, func(k acp.ToolKind) bool { return slices.Contains(fileKinds, k) }):
		return true
	case r.Kinds == nil || r.Shell:
		return f.at.inside(p)
	}
	return false
}

func (f *Facts) pathCovered(r *Rule, p Path, named bool) bool {
	named = named && f.guarded(p)
	if r.Paths == nil {
		return !named
	}
	return slices.ContainsFunc(r.Paths, func(pattern string) bool {
		return (!named || names(pattern)) && f.at.covers(pattern, p)
	})
}

// guarded reports whether no rule for a whole directory is meant for the path.
func (f *Facts) guarded(p Path) bool { return p.Odd != "" || f.sensitive(p) }

func (f *Facts) commandsCovered(r *Rule, named bool) bool {
	if f.unseen() {
		return r.Shell
	}
	if (r.Commands != nil || r.Shell) && len(f.Commands) == 0 {
		return false
	}
	return all(f.Commands, func(c Command) bool {
		if r.Shell {
			return !named || all(c.words(), func(word string) bool {
				return all(f.at.argument(word, c.Dir), func(p Path) bool { return !f.guarded(p) })
			})
		}
		return f.commandCovered(r, c, named)
	})
}

func (f *Facts) commandCovered(r *Rule, c Command, named bool) bool {
	return !c.Shell && len(c.Argv) > 0 && f.worksWithin(r, c) && slices.ContainsFunc(r.Commands, func(pattern []string) bool {
		return f.argvCovered(r, pattern, c, named)
	})
}

// worksWithin reports whether a command works in the paths of the rule, if it has some: in
// its arguments, or where it is run. Nothing does in a directory that has become another one.
func (f *Facts) worksWithin(r *Rule, c Command) bool {
	if f.at.moved {
		return false
	}
	covered := func(p Path) bool { return f.pathCovered(r, p, false) }
	return r.Paths == nil || slices.ContainsFunc(f.at.ours(c.Dir, f.Dir, ""), covered) ||
		slices.ContainsFunc(c.Argv[1:], func(word string) bool { return slices.ContainsFunc(f.at.argument(word, c.Dir), covered) })
}

// argvCovered matches word by word. What a wildcard stands for has to be harmless; what
// the rule spells out is its author's wish.
func (f *Facts) argvCovered(r *Rule, pattern []string, c Command, named bool) bool {
	if strings.ContainsAny(c.Argv[0], `/\`) && !filepath.IsAbs(c.Argv[0]) && c.Dir != f.Dir {
		return false // ./x of another directory is another program
	}
	argv := slices.Concat(c.Env, c.Argv)
	program := len(c.Env)
	free := f.free(r, c, named)
	return sequence(pattern, len(argv), func(e string, i int) bool {
		switch {
		case !wild(e):
			return e == argv[i]
		case i < program: // NAME=*: the name at least is spelled out
			name, value, ok := strings.Cut(e, "=")
			told, is, _ := strings.Cut(argv[i], "=")
			return ok && name == told && glob(value, is)
		case i == program && strings.ContainsAny(e, `/\`): // ./bin/*
			return glob(e, argv[i]) && !f.launches(c) && !strings.Contains(argv[i], "..")
		}
		return glob(e, argv[i]) && free(i)
	}, func(_ string, i int) bool { return free(i) })
}

// free returns whether a wildcard of the rule may stand for a word of the command, the i-th
// with the variables before it.
func (f *Facts) free(r *Rule, c Command, named bool) func(i int) bool {
	argv := slices.Concat(c.Env, c.Argv)
	program := len(c.Env)
	smuggling := smugglers(c.Argv)
	return func(i int) bool {
		if i < program || i == program && (f.launches(c) || strings.ContainsAny(argv[i], `/\`)) {
			return false
		}
		paths, doubtful := f.at.readings(argv[i], c.Dir)
		return !smuggles(smuggling, c.Argv, i-program) && all(paths, func(p Path) bool {
			return r.reaches(f, p) && f.pathCovered(r, p, named)
		}) && !(named && slices.ContainsFunc(doubtful, f.guarded))
	}
}

func (f *Facts) hostsCovered(r *Rule) bool {
	if r.Hosts != nil {
		return len(f.Hosts) > 0 && all(f.Hosts, func(h Host) bool {
			return h.Name != "" && slices.ContainsFunc(r.Hosts, func(p string) bool { return hostMatches(p, h.Name) })
		})
	}
	return all(f.Hosts, func(h Host) bool { return h.Command || slices.Contains(r.Kinds, acp.ToolKindFetch) })
}

// touched reports whether the rule may speak of something in the call.
func (f *Facts) touched(r *Rule) bool {
	folded := func(list []string, s string) bool {
		return slices.ContainsFunc(list, func(p string) bool { return glob(fold(p), fold(s)) })
	}
	return (r.Kinds == nil || slices.ContainsFunc(f.Kinds, func(k acp.ToolKind) bool {
		return slices.ContainsFunc(r.Kinds, func(of acp.ToolKind) bool { return strings.EqualFold(string(of), string(k)) })
	})) &&
		(r.Tools == nil || slices.ContainsFunc(f.Tools, func(t string) bool { return folded(r.Tools, t) })) &&
		(r.Titles == nil || folded(r.Titles, f.Title)) &&
		(r.Paths == nil || f.pathTouched(r)) &&
		(r.Commands == nil && !r.Shell || f.commandTouched(r)) &&
		(r.Hosts == nil || f.hostTouched(r))
}

func (f *Facts) pathTouched(r *Rule) bool {
	return slices.ContainsFunc(r.Paths, func(pattern string) bool {
		w := newWork()
		defer f.count(w)
		return slices.ContainsFunc(f.everyPath(), func(p Path) bool { return f.at.touches(w, pattern, p, f.extent(p)) })
	})
}

func (f *Facts) commandTouched(r *Rule) bool {
	if r.Shell && f.unseen() {
		return true
	}
	if r.Shell && slices.ContainsFunc(f.Commands, func(c Command) bool { return c.Shell || f.launches(c) }) {
		return true
	}
	return slices.ContainsFunc(r.Commands, func(pattern []string) bool {
		w := newWork()
		defer f.count(w)
		return slices.ContainsFunc(f.Commands, func(c Command) bool { return f.mayRun(w, c, pattern) })
	})
}

// count takes into account what a pattern was spent on.
func (f *Facts) count(w *work) { f.Incomplete = f.Incomplete || w.over() }

// incomplete reports whether there is more in the call than was looked at.
func (f *Facts) incomplete() bool { return f.Incomplete || f.at.over() }

func anyGlob(patterns []string, s string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return glob(p, s) })
}

func all[T any](list []T, ok func(T) bool) bool {
	return !slices.ContainsFunc(list, func(e T) bool { return !ok(e) })
}
