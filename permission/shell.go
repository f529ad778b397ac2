package permission

import (
	"slices"
	"strings"
	"unicode"
)

// splitLine takes a line apart if every shell there is would read the same plain words
// in it, and calls it a shell line otherwise. It is no parser: what it does not know,
// a quote in a quote or an = before the program, is for a shell to read.
func splitLine(line string) Command {
	argv, ok := plainWords(strings.TrimSpace(line))
	if !ok || len(argv) == 0 {
		return Command{Shell: true, Line: line}
	}
	var env []string
	for len(argv) > 0 && assignment(argv[0]) {
		env, argv = append(env, argv[0]), argv[1:]
	}
	if len(argv) == 0 || shellWords[argv[0]] || strings.Contains(argv[0], "=") {
		return Command{Shell: true, Line: line}
	}
	return Command{Argv: argv, Env: env}
}

// shellWords are what a shell does not look up as a program.
var shellWords = words(`. : [ alias bg bind break builtin case cd command continue coproc declare do done elif else
	enable esac eval exec exit export fc fg fi for function hash help history if in jobs let local logout popd pushd read readonly
	return select set shift source suspend test then time times trap type typeset ulimit umask unalias unset
	until wait while call rem start`)

func assignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	})
}

// plainWords splits a line at blanks, and reports false where it holds anything that
// some shell may take for more than itself.
func plainWords(line string) ([]string, bool) {
	var out []string
	var word strings.Builder
	var quote rune
	open := false // a word has begun, if only with a quote
	var last rune
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == '"' && (strings.ContainsRune("$`\\!%'", r) || unicode.IsControl(r)),
			quote == '\'' && (strings.ContainsRune("$`\\!%\"&|<>^();", r) || unicode.IsControl(r)):
			return nil, false
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, open = r, true
		case r == ' ' || r == '\t':
			if open {
				out = append(out, word.String())
				word.Reset()
			}
			open = false
		case plainRune(r) || r == '~' && open && last != '=' && last != ':':
			open = true
			word.WriteRune(r)
		case r == '=' && open:
			word.WriteRune(r)
		default:
			return nil, false
		}
		last = r
	}
	if quote != 0 {
		return nil, false
	}
	if open {
		out = append(out, word.String())
	}
	return out, true
}

func plainRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-./:,@+", r)
}

// looseWords are the words of a text, whatever a shell would make of it.
func looseWords(text string) []string {
	return fields(text, " \t\r\n|&;()<>{}`$\"'!")
}

// fields splits at separators, as far as a command is looked at.
func fields(text, separators string) []string {
	var out []string
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		if out = append(out, word); len(out) > maxFindings {
			break
		}
	}
	return out
}

// words returns everything in the command that may name a file or a host, as far as it is
// looked at.
func (c Command) words() []string {
	out := slices.Concat(c.Argv, c.Env)
	for _, text := range append(slices.Clone(out), c.Line) {
		if len(out) > maxFindings {
			return out[:maxFindings+1]
		}
		if strings.ContainsAny(text, " \t\r\n|&;()<>{}`\"'") || text == c.Line {
			out = append(out, shellWordsOf(text)...)
			out = append(out, shellWordsOf(strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(text))...)
		}
	}
	return out
}

// shellWordsOf keeps the variables in words: ~ and $HOME say where a path leads.
func shellWordsOf(text string) []string {
	return fields(text, " \t\r\n|&;()<>`\"'")
}
