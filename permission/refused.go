package permission

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// mayRun reports whether the command may run what the pattern means, for rules that
// refuse: one that begins so. In a shell line, behind an interpreter or a launcher, and with
// an argument by which a program runs another one, a program may begin at every word and end
// before the last.
func (f *Facts) mayRun(c Command, pattern []string) bool {
	if !c.Shell && f.argvTouched(pattern, c.Argv, c) {
		return true
	}
	if !c.Shell && !f.launches(c) && !smugglesAny(c.Argv) {
		return false
	}
	text := c.text()
	// r'm' and r\m are rm; and so is what -exec=rm,-f runs.
	bare := strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(text)
	parts := strings.NewReplacer("=", " ", ",", " ").Replace(bare)
	for _, run := range [][]string{c.Argv, looseWords(text), looseWords(bare), looseWords(parts)} {
		for i, word := range run {
			if f.argvTouched(pattern, run[i:], f.lookedUp(word, c.Dir)) {
				return true
			}
			if strings.HasPrefix(word, "-") { // rsync -erm
				values, _ := glued(word)
				for _, value := range values {
					if f.argvTouched(pattern, append([]string{value}, run[i+1:]...), Command{Dir: c.Dir}) {
						return true
					}
				}
			}
		}
	}
	return false
}

func smugglesAny(argv []string) bool {
	for i := 1; i < len(argv); i++ {
		if smuggles(argv, i) {
			return true
		}
	}
	return false
}

// lookedUp is the command that a word in another one may be.
func (f *Facts) lookedUp(word, dir string) Command {
	p := f.at
	p.mu.Lock()
	c, ok := p.found[[2]string{word, dir}]
	p.mu.Unlock()
	if !ok {
		c = (&extractor{facts: f}).lookedUp(Command{Argv: []string{word}, Dir: dir})
		p.mu.Lock()
		p.found[[2]string{word, dir}] = c
		p.mu.Unlock()
	}
	return c
}

// flagGap is the element of a pattern that stands for flags, each with a value or none.
const flagGap = "\x00flags"

// argvTouched reports whether argv may begin with what the pattern of a refusing rule
// means; c says which program that is. The words follow in their order, with any flags
// between them: git -C x push is git push. Where the flags of the pattern stand, and how they
// are spelled, is all the same: rm x -fr is rm -rf.
func (f *Facts) argvTouched(pattern, argv []string, c Command) bool {
	if len(argv) == 0 {
		return false
	}
	argv = asGit(argv)
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
		if i == 0 && e != "*" {
			return f.programTouched(e, argv[0], c)
		}
		return glob(e, argv[i])
	}
	isFlag := func(i int) bool { return i > 0 && strings.HasPrefix(argv[i], "-") }
	return sequence(append(words, "**"), len(argv), same, func(e string, i int) bool {
		return e != flagGap || isFlag(i) || i > 0 && isFlag(i-1)
	})
}

// programTouched reports whether a program may be the one that the pattern means. It is known
// by its name, wherever it lies, whatever its version, and by the names its links lead to. A
// pattern that is a path with wildcards means what lies there.
func (f *Facts) programTouched(pattern, argv0 string, c Command) bool {
	slashed := strings.ContainsAny(pattern, `/\`)
	files := f.at.files(c)
	if slashed && wild(pattern) {
		if len(files) == 0 || strings.ContainsAny(argv0, `/\`) {
			files = append(files, absolute(argv0, c.Dir))
		}
		in := func(dir, file string) bool {
			return glob(strings.ToLower(absolute(pattern, dir)), strings.ToLower(filepath.Clean(file)))
		}
		return slices.ContainsFunc(files, func(file string) bool { return in(f.Dir, file) || in(f.at.realDir, f.at.real(file)) })
	}
	var means []string
	if wild(pattern) {
		means = []string{strings.ToLower(pattern)}
	} else {
		means = namesOf(pattern)
	}
	if slashed {
		means = append(means, namesOf(f.at.real(absolute(pattern, f.Dir)))...)
	}
	return slices.ContainsFunc(append(files, argv0), func(file string) bool {
		names := append(namesOf(file), strings.ToLower(filepath.Base(file)))
		return slices.ContainsFunc(names, func(name string) bool { return anyGlob(means, name) })
	})
}

func absolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// asGit spells a command of git as it is called for: git-push, git send-pack and git subtree
// push are git push.
func asGit(argv []string) []string {
	name := programName(argv[0])
	if verb, ok := strings.CutPrefix(name, "git-"); ok {
		argv, name = append([]string{"git", verb}, argv[1:]...), "git"
	}
	if name != "git" {
		return argv
	}
	var out []string
	for _, word := range argv {
		switch word {
		case "send-pack", "http-push":
			word = "push"
		case "fetch-pack", "http-fetch":
			word = "fetch"
		case "subtree":
			continue
		}
		out = append(out, word)
	}
	return out
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
