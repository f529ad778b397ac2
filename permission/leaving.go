package permission

import (
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"
)

// A call may name what it leaves alone. Rules that deny take that for a path as any other;
// but nobody need be asked about it.

// leftOut is the key of paths that a command leaves out.
const leftOut = "left out"

// leaves are the flags by which programs leave files out, each with its value behind "=";
// listers have it in the next word too.
var (
	leaves = map[string][]string{
		"grep": {"--exclude", "--exclude-dir"}, "egrep": {"--exclude", "--exclude-dir"}, "fgrep": {"--exclude", "--exclude-dir"}, "tar": {"--exclude"},
		"rsync": {"--exclude"}, "du": {"--exclude"}, "diff": {"--exclude"}, "fd": {"--exclude"}, "ag": {"--ignore", "--ignore-dir"}, "ls": {"--ignore", "--hide"},
	}
	listers    = words("ls tree")
	leaveKeys  = []string{"ignore", "ignores", "ignored", "ignorepatterns", "exclude", "excludes", "excluded", "excludepattern", "excludepatterns", "excludedir", "excludedirs"}
	findsNames = words("-path -ipath -wholename -iwholename -name -iname")
)

// leavesOut reports whether the path is one that the call leaves alone: under such a key of
// a read or a search, or in such a word of a command.
func (f *Facts) leavesOut(p Path) bool {
	return p.Key == leftOut || keyNamed(p.Key, leaveKeys) && all(f.Kinds, func(k acp.ToolKind) bool { return k == acp.ToolKindRead || k == acp.ToolKindSearch })
}

// sensitive reports whether the path is sensitive and the call may touch it.
func (f *Facts) sensitive(p Path) bool { return !f.leavesOut(p) && f.at.sensitive(p) }

// parted returns the command without the words that leave something out, and a command of
// these.
func (c Command) parted() (rest, left Command) {
	if c.Shell || len(c.Argv) == 0 {
		return c, Command{}
	}
	rest = c
	rest.Argv = nil
	name := programName(c.Argv[0])
	end := slices.Index(c.Argv, "--")
	for i, word := range c.Argv {
		if (end < 0 || i < end) && i > 0 && leavesAt(name, c.Argv, i) {
			left.Argv = append(left.Argv, word)
		} else {
			rest.Argv = append(rest.Argv, word)
		}
	}
	return rest, left
}

func leavesAt(name string, argv []string, i int) bool {
	flag, _, valued := strings.Cut(argv[i], "=")
	at := func(i int) string {
		if i < 0 || i >= len(argv) {
			return ""
		}
		return argv[i]
	}
	not := func(i int) bool { return at(i) == "-not" || at(i) == "!" }
	switch {
	case valued && slices.Contains(leaves[name], flag), listers[name] && i > 1 && argv[i-1] == "-I":
		return true
	case name == "find" && findsNames[argv[i-1]]:
		return not(i-2) && !not(i-3) || at(i+1) == "-prune"
	}
	return false
}
