package main

import (
	"fmt"
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
}

const (
	// labelWidth is the place for our words left of the bar.
	labelWidth = 17
	// maxText is how much of a text is looked at to show it, in bytes.
	maxText = 8000
	// How many lines of the terminal a text may take up: a name, one that says what would
	// be done, and all diffs.
	shortText, longText, diffText = 3, 24, 60
)

func (s *sheet) line(text string) { s.b.WriteString(text + "\n") }

// row shows a text beside its label on so many lines at the most, and says how much is
// left out.
func (s *sheet) row(mark, label, text string, most int) {
	text = s.redact(text)
	end := cut(text, maxText)
	left := len(text) - end
	for line := range strings.Lines(text[:end] + "\n") {
		line = strings.TrimSuffix(line, "\n")
		for line = visible.Line(strings.ReplaceAll(line, "\t", "    ")); ; {
			if most == 0 {
				left += len(line)
				break
			}
			n := fits(line, max(s.columns()-labelWidth-5, 20))
			s.put(mark, label, line[:n])
			mark, label = "", ""
			most--
			if line = line[n:]; line == "" {
				break
			}
		}
	}
	if left > 0 {
		s.put("!", "not shown", strconv.Itoa(left)+" more bytes")
	}
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
			s.put("!", "not compared", "too large: what is new of it follows, without what goes")
		}
		for len(d.lines) > 0 && s.rows-began < diffText {
			s.row("", "", d.lines[0], shortText)
			d.lines = d.lines[1:]
		}
		if left := len(d.lines) + d.left; left > 0 {
			s.put("!", "not shown", strconv.Itoa(left)+" more lines of it")
		}
	}
}
