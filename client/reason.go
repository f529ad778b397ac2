package client

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// stderrSays quotes of the end of a program's stderr what tells why it ended: the line
// that names the reason, and the last one that is not of the trace below it. It is empty
// where stderr is, and where message says the same.
func stderrSays(text, message string) string {
	const room = 64 << 10 // more than the dump of a hundred goroutines
	var lines []string
	for line := range strings.Lines(text[max(0, len(text)-room):]) {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, strings.TrimRight(line, " \t\r\n"))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	reason, end, last := reasonOf(lines), endOf(lines), quotable(lines[len(lines)-1])
	message = oneLine(message)
	said := func(quote string) bool {
		return strings.Contains(message, oneLine(strings.TrimSuffix(quote, "…")))
	}
	verb := "says"
	switch {
	case reason == "" || strings.Contains(end, reason), !strings.Contains(reason, end) && said(reason):
		reason = end
	case !strings.Contains(reason, end) && !said(end):
		return fmt.Sprintf("; its stderr says %q and ends with %q", reason, end)
	}
	if said(reason) {
		return ""
	}
	if reason == last {
		verb = "ends with"
	}
	return fmt.Sprintf("; its stderr %s %q", verb, reason)
}

func quotable(line string) string { return clip(strings.TrimSpace(line), quoteRoom) }

// reasonOf returns the last of the lines that names an error, begins a usage, or heads
// what a language leaves of a program that has crashed; with what belongs to it of the
// lines below. It is empty where there is none.
func reasonOf(lines []string) string {
	var (
		at     = dumps()
		reason string
		// What the next line is by those before it.
		continues, afterCaret, inTraceback bool
		margin                             string // of the traceback
	)
	for _, line := range lines {
		unindented := strings.TrimLeft(line, " \t") == line
		switch m := at.python.FindStringSubmatch(line); {
		case m != nil:
			inTraceback, margin = true, m[1]
			continues = false
		case inTraceback && at.word.MatchString(strings.TrimPrefix(line, margin)):
			reason, inTraceback = strings.TrimPrefix(line, margin), false
		case continues, reason != "" && len(reason) < quoteRoom && at.joins.MatchString(line):
			reason += " " + strings.TrimSpace(line)
			continues = false
		case afterCaret && unindented, at.head.MatchString(line):
			reason = strings.TrimSpace(line)
			continues = strings.HasSuffix(line, ":") // its words are in the next one
		}
		afterCaret = at.caret.MatchString(line)
	}
	return quotable(reason)
}

// endOf returns the last line that is not of a trace; where all are, the last one.
func endOf(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		i = opening(lines, i)
		if !dumps().noise.MatchString(lines[i]) {
			return quotable(strings.TrimLeft(lines[i], " \t|")) // a group of Python's has its margin
		}
	}
	return quotable(lines[len(lines)-1])
}

// opening returns the line that has opened the braces that line i closes, as Node prints
// the properties of an error behind it; i itself where it closes none, and where they
// are no such properties but an object by itself.
func opening(lines []string, i int) int {
	depth := 0
	for j := i; j >= 0; j-- {
		switch line := strings.TrimSpace(lines[j]); {
		case dumps().closes.MatchString(line):
			depth++
		case strings.HasSuffix(line, "{"), strings.HasSuffix(line, "["):
			depth--
			if depth == 0 && len(line) > 1 {
				return j
			}
		}
		if depth <= 0 {
			return i
		}
	}
	return i
}

// dumps is how the dumps of crashed programs are told from what else they write.
// It is compiled when a process has failed: few programs ever need it.
var dumps = sync.OnceValue(func() (t struct{ head, joins, noise, closes, python, word, caret *regexp.Regexp }) {
	t.head = regexp.MustCompile(`^(\S+ )?\w*((?i)error|exception|panic|fatal|usage)\b[^:]{0,40}:` +
		`|^SIG[A-Z0-9]+: |^signal arrived during|^\S*Exception in thread |^thread '.*panicked at|^terminate called|^==\d+==\s*ERROR:|Assertion .* failed`)
	t.joins = regexp.MustCompile(`^\[signal |^signal arrived during|^\tpanic: |^\s+what\(\): |^\s+(\[cause\]|cause): `)
	t.noise = regexp.MustCompile(`^\s+(at|from) |^\s+(\d+|#\d+)[: ]|^\s+File "|^\s+\S+:\d+( \+0x[0-9a-f]+)?|^\s*\.\.\. \d+ more` + // frames
		`|^goroutine \d|^created by |^panic\(|^\S+\.\S+\(.*\)$|^\w{2,8}\s+0x[0-9a-f]+$|^PC=|^exit status \d+$` + // Go
		`|^note: |^stack backtrace:$|^Node\.js v\d|^\(Use .node |^-+ \w+ stack trace -+$|^npm \S+ A complete log` +
		`|^Current thread 0x|^==\d+==ABORTING|^[\s|+-]+$|^[\s}\])]+[,;]?$`)
	t.closes = regexp.MustCompile(`^[}\])]+[,;]?$`)
	t.python = regexp.MustCompile(`^([\s|]*)(?:.*\s)?Traceback \(most recent call last\):`)
	t.word = regexp.MustCompile(`^[A-Za-z_]`)
	t.caret = regexp.MustCompile(`^\s*\^+$`)
	return t
})
