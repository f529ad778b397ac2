package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/errand-acp/errand/internal/visible"
	"github.com/errand-acp/errand/permission"
)

// sheet is the text of a question. What the agent wrote stands right of a bar, on every line
// that it takes up, so that none of it looks like a line of ours.
type sheet struct {
	b      strings.Builder
	redact func(string) string
	width  int
	rows   int // lines of the agent's so far
	// partial is set where something is left out.
	partial bool
}

const (
	// labelWidth is the place for our words left of the bar.
	labelWidth = 17
	// maxText is how much of a text is looked at to show it, in bytes.
	maxText = 8000
	// maxEnd is how much of the end of a longer one is.
	maxEnd = 2000
	// How many lines of the terminal a text may take up: a name, one that says what would
	// be done, and all diffs.
	shortText, longText, diffText = 3, 24, 60
)

func (s *sheet) line(text string) { s.b.WriteString(text + "\n") }

// row shows a text beside its label on so many lines at the most. What is too long for them
// is shown with its end, which is where something may be hidden, and with how much is left
// out.
func (s *sheet) row(mark, label, text string, most int) {
	text = s.redact(text)
	skipped := 0
	lines := s.wrapped(text[:cut(text, maxText)])
	if len(text) > maxText {
		from := cut(text, len(text)-maxEnd)
		skipped = max(0, from-maxText)
		lines = append(lines, s.wrapped(text[from:])...)
	}
	var end []string
	if skipped > 0 || len(lines) > most {
		n := max(1, most/4)
		end = lines[len(lines)-n:]
		first := min(most, len(lines)) - n
		for _, line := range lines[first : len(lines)-n] {
			skipped += len(line)
		}
		lines = lines[:first]
	}
	for _, line := range lines {
		s.put(mark, label, line)
		mark, label = "", ""
	}
	if end != nil {
		s.leftOut(strconv.Itoa(skipped) + " more bytes")
	}
	for _, line := range end {
		s.put("", "", line)
	}
}

// wrapped takes a text apart into lines that fit.
func (s *sheet) wrapped(text string) (lines []string) {
	for line := range strings.Lines(text + "\n") {
		line = strings.TrimSuffix(line, "\n")
		line = blanks.ReplaceAllStringFunc(visible.Line(strings.ReplaceAll(line, "\t", "    ")), func(run string) string {
			return fmt.Sprintf(" [%d blanks] ", len(run))
		})
		for {
			n := fits(line, max(s.columns()-labelWidth-5, 20))
			lines = append(lines, line[:n])
			if line = line[n:]; line == "" {
				break
			}
		}
	}
	return lines
}

// blanks are a run of blanks behind which something may be out of sight.
var blanks = regexp.MustCompile(` {41,}`)

// leftOut says what is not shown.
func (s *sheet) leftOut(what string) {
	s.partial = true
	s.put("!", "not shown", what)
}

func (s *sheet) put(mark, label, text string) {
	s.rows++
	s.line(strings.TrimRight(fmt.Sprintf("%1s %-*s| %s", mark, labelWidth, label, text), " "))
}

// cut returns n, or a little less, so that no character of text is divided there.
func cut(text string, n int) int {
	if len(text) <= n {
		return len(text)
	}
	for i := n; i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			return i
		}
	}
	return n
}

func (s *sheet) columns() int {
	if s.width == 0 {
		return 80
	}
	return s.width
}

// fits returns how many bytes of text go into so many columns. What is not ASCII may take
// two of them.
func fits(text string, columns int) int {
	for i, r := range text {
		columns--
		if r >= utf8.RuneSelf {
			columns--
		}
		if columns < 0 {
			return i
		}
	}
	return len(text)
}

// diffs shows what would change in which file.
func (s *sheet) diffs(diffs []permission.Diff) {
	began := s.rows
	for _, d := range some(s, "files", diffs) {
		old, label := "", "new text of"
		if d.Old != nil {
			old, label = s.redact(*d.Old), "changes"
		}
		s.row("", label, d.Path, shortText)
		d := unified(old, s.redact(d.New))
		if d.large {
			s.partial = true
			s.put("!", "not compared", "too large: what is new of it follows, without what goes")
		}
		for len(d.lines) > 0 && s.rows-began < diffText {
			s.row("", "", d.lines[0], shortText)
			d.lines = d.lines[1:]
		}
		if left := len(d.lines) + d.left; left > 0 {
			s.leftOut(strconv.Itoa(left) + " more lines of it")
		}
	}
}
