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
func (f *Facts) mayRun(w *work, c Command, pattern []string) bool {
	if !c.Shell && f.argvTouched(w, pattern, c.Argv, c) {
		return true
	}
	if !c.Shell && !f.launches(c) && !smugglesAny(c.Argv) {
		return false
	}
	if len(pattern) == 0 {
		return false
	}
	text := c.text()
	names := namesOf(pattern[0])
	holds := func(value string) bool { // it is asked of many
		value = strings.ToLower(value)
		return wild(pattern[0]) || slices.ContainsFunc(names, func(name string) bool { return strings.Contains(value, name) })
	}
	// r'm' and r\m are rm; and so is what -exec=rm,-f and EXEC:rm run.
	bare := strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(text)
	parts := strings.NewReplacer("=", " ", ",", " ", ":", " ").Replace(bare)
	for _, run := range [][]string{c.Argv, looseWords(text), looseWords(bare), looseWords(parts)} {
		if !flagsTouched(w, pattern, run, false) {
			continue // nor does any part of it
		}
		for i, word := range run {
			if !w.spend(8 * len(word)) {
				return false
			}
			if f.argvTouched(w, pattern, run[i:], f.lookedUp(word, c.Dir)) {
				return true
			}
			// rsync -erm
			values, _ := glued(word)
			if slices.ContainsFunc(values, func(value string) bool {
				return w.spend(len(value)+len(run)) && holds(value) && f.argvTouched(w, pattern, append([]string{value}, run[i+1:]...), Command{Dir: c.Dir})
			}) {
				return true
			}
		}
	}
	return false
}

func smugglesAny(argv []string) bool {
	if len(argv) > maxFindings {
		return true
	}
	programs := smugglers(argv)
	for i := range argv {
		if smuggles(programs, argv, i) {
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
func (f *Facts) argvTouched(w *work, pattern, argv []string, c Command) bool {
	if len(argv) == 0 || len(pattern) == 0 || !w.spend(512+16*len(argv[0])+len(argv)) {
		return false
	}
	patterns, argvs := spellings(pattern), spellings(argv)
	return f.spellingTouched(w, patterns[0], argvs[0], c) || f.spellingTouched(w, patterns[len(patterns)-1], argvs[len(argvs)-1], c)
}

// spellingTouched is argvTouched for one way to say both.
func (f *Facts) spellingTouched(w *work, pattern, argv []string, c Command) bool {
	if pattern[0] != "*" && pattern[0] != "**" && !f.programTouched(pattern[0], argv[0], c) {
		return false
	}
	if !flagsTouched(w, pattern, argv[1:], spelled[programName(argv[0])]) {
		return false
	}
	var words []string
	for i, e := range pattern {
		switch {
		case i > 0 && isFlag(e):
		case i > 0:
			words = append(words, flagGap, e)
		default:
			words = append(words, e)
		}
	}
	same := func(e string, i int) bool {
		return i == 0 && e != "*" || glob(strings.ToLower(e), strings.ToLower(argv[i]))
	}
	flag := func(i int) bool { return i > 0 && strings.HasPrefix(argv[i], "-") }
	return sequence(append(words, "**"), len(argv), same, func(e string, i int) bool {
		return e != flagGap || flag(i) || i > 0 && flag(i-1)
	})
}

// isFlag reports whether an element of a pattern stands for a flag.
func isFlag(e string) bool { return len(e) > 1 && e[0] == '-' }

// flagsTouched reports whether args may hold all the flags of a pattern.
func flagsTouched(w *work, pattern, args []string, spelledOut bool) bool {
	size := 0
	for _, arg := range args {
		size += 64 + len(arg)
	}
	return all(pattern[1:], func(e string) bool { return !isFlag(e) || w.spend(size) && flagTouched(e, args, spelledOut) })
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

// verbs are what a program's words are besides what they say; an empty one is a word that
// another one follows: git send-pack and git subtree push are git push.
var verbs = map[string]map[string]string{
	"git":    {"send-pack": "push", "http-push": "push", "fetch-pack": "fetch", "http-fetch": "fetch", "subtree": ""},
	"npm":    {"i": "install", "in": "install", "ins": "install", "inst": "install", "isntall": "install", "add": "install", "x": "exec", "run-script": "run", "rum": "run", "urn": "run", "un": "uninstall", "rm": "uninstall", "r": "uninstall", "remove": "uninstall", "unlink": "uninstall"},
	"docker": {"image": "", "container": ""},
	"podman": {"image": "", "container": ""},
}

// spellings returns a command as it stands, and last with the words by which its program
// knows them too. git-push is git push.
func spellings(argv []string) [][]string {
	if verb, ok := strings.CutPrefix(programName(argv[0]), "git-"); ok {
		argv = append([]string{"git", verb}, argv[1:]...)
	}
	known := verbs[programName(argv[0])]
	if known == nil {
		return [][]string{argv}
	}
	out := argv[:1:1]
	for _, word := range argv[1:] {
		if verb, ok := known[word]; !ok {
			out = append(out, word)
		} else if verb != "" {
			out = append(out, verb)
		}
	}
	return [][]string{argv, out}
}

// flagTouched reports whether one of args may be flag, or all of them together where it
// is a bundle. spelledOut says that the program has none.
func flagTouched(flag string, args []string, spelledOut bool) bool {
	name, _, _ := strings.Cut(flag, "=")
	given := func(flag string) bool {
		return slices.ContainsFunc(alike(flag), func(flag string) bool {
			return slices.ContainsFunc(args, func(arg string) bool { return glob(flag, arg) || means(arg, flag, false) })
		})
	}
	if given(flag) || given(name) {
		return true
	}
	letters := strings.TrimPrefix(flag, "-")
	bundle := !spelledOut && !strings.ContainsFunc(letters, func(r rune) bool { return !unicode.IsLetter(r) })
	return bundle && all([]rune(letters), func(r rune) bool { return given("-" + string(r)) })
}

// lettersOf are the letters that long flags have in most programs.
var lettersOf = map[string]string{"--force": "f", "--recursive": "rR", "--delete": "dD", "--global": "g", "--no-verify": "n", "--all": "a"}

// alike returns the flag and what else it is called: -r is -R and --recursive.
func alike(flag string) []string {
	flags := []string{flag}
	for long, letters := range lettersOf {
		if flag == long || len(flag) == 2 && flag[0] == '-' && strings.Contains(letters, flag[1:]) {
			flags = append(flags, long)
			for _, letter := range letters {
				flags = append(flags, "-"+string(letter))
			}
		}
	}
	return flags
}
