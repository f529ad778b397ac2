package permission

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// mayRun reports whether the command may run what the pattern means, for rules that
// refuse: one that begins so. In a shell line, and behind an interpreter or a launcher, a program may begin
// at every word and end before the last.
func (c Command) mayRun(pattern []string) bool {
	if !c.Shell && argvTouched(pattern, c.Argv) {
		return true
	}
	if !c.Shell && !runsOthers(c.Argv) {
		return false
	}
	text := c.text()
	// r'm' and r\m are rm.
	bare := strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(text)
	for _, run := range [][]string{c.Argv, looseWords(text), looseWords(bare)} {
		for i := range run {
			if argvTouched(pattern, run[i:]) {
				return true
			}
		}
	}
	return false
}

// flagGap is the element of a pattern that stands for flags, each with a value or none.
const flagGap = "\x00flags"

// argvTouched reports whether argv may begin with what the pattern of a refusing rule
// means. A program is known by its name, wherever it lies. The words follow in their
// order, with any flags between them: git -C x push is git push. Where the flags of the
// pattern stand, and how they are spelled, is all the same: rm x -fr is rm -rf.
func argvTouched(pattern, argv []string) bool {
	if len(argv) == 0 {
		return false
	}
	spelledOut := spelled[programName(argv[0])]
	var words []string
	for i, e := range pattern {
		switch {
		case i > 0 && len(e) > 1 && e[0] == '-':
			if !flagTouched(e, argv[1:], spelledOut) {
				return false
			}
		case i > 0:
			words = append(words, flagGap, e)
		default:
			words = append(words, e)
		}
	}
	same := func(e string, i int) bool {
		if i == 0 && !strings.ContainsAny(e, `/\`) {
			name := programName(argv[0])
			if !wild(e) {
				e = programName(e) // rm.exe is rm
			}
			e, told := strings.ToLower(e), strings.ToLower(filepath.Base(argv[0]))
			return glob(e, name) || glob(e, withoutVersion(name)) || glob(e, told)
		}
		return glob(e, argv[i])
	}
	isFlag := func(i int) bool { return i > 0 && strings.HasPrefix(argv[i], "-") }
	return sequence(append(words, "**"), len(argv), same, func(e string, i int) bool {
		return e != flagGap || isFlag(i) || i > 0 && isFlag(i-1)
	})
}

// flagTouched reports whether one of args may be flag, or all of them together where it
// is a bundle. spelledOut says that the program has none.
func flagTouched(flag string, args []string, spelledOut bool) bool {
	name, _, _ := strings.Cut(flag, "=")
	given := func(flag string) bool {
		return slices.ContainsFunc(args, func(arg string) bool { return glob(flag, arg) || means(arg, flag, false) })
	}
	if given(flag) || given(name) {
		return true
	}
	letters := strings.TrimPrefix(flag, "-")
	bundle := !spelledOut && !strings.ContainsFunc(letters, func(r rune) bool { return !unicode.IsLetter(r) })
	return bundle && all([]rune(letters), func(r rune) bool { return given("-" + string(r)) })
}
