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
}

const (
	// labelWidth is the place for our words left of the bar.
	labelWidth = 17
	// maxText is how much of a text is shown, in bytes, maxTextLines in lines.
	maxText, maxTextLines = 2000, 24
	// maxDiffLines is how many lines of all diffs are shown.
	maxDiffLines = 60
)

func (s *sheet) line(text string) { s.b.WriteString(text + "\n") }

// row shows a text beside its label, and how much of it is left out.
func (s *sheet) row(mark, label, text string) {
	text = s.redact(text)
	shown := text[:cut(text, maxText)]
	left := len(text) - len(shown)
	lines := strings.SplitAfter(shown, "\n")
	for i, line := range lines {
		if i == maxTextLines {
			left += len(strings.Join(lines[i:], ""))
			break
		}
		s.wrapped(mark, label, strings.TrimSuffix(line, "\n"))
		mark, label = "", ""
	}
	if left > 0 {
		s.wrapped("!", "not shown", strconv.Itoa(left)+" more bytes")
	}
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

// wrapped shows one line of text on as many of the terminal's as it takes.
func (s *sheet) wrapped(mark, label, text string) {
	text = visible.Line(strings.ReplaceAll(text, "\t", "    "))
	for {
		n := fits(text, max(s.columns()-labelWidth-5, 20))
		s.line(strings.TrimRight(fmt.Sprintf("%1s %-*s| %s", mark, labelWidth, label, text[:n]), " "))
		if text = text[n:]; text == "" {
			return
		}
		mark, label = "", ""
	}
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
	left := maxDiffLines
	for _, d := range some(s, "files", diffs) {
		old := ""
		if d.Old != nil {
			old = s.redact(*d.Old)
			s.row("", "changes", d.Path)
		} else {
			s.row("", "new text of", d.Path)
		}
		lines := unified(old, s.redact(d.New))
		for _, line := range lines[:min(left, len(lines))] {
			s.row("", "", line)
		}
		if n := len(lines) - left; n > 0 {
			s.row("!", "not shown", strconv.Itoa(n)+" more lines of it")
		}
		left -= min(left, len(lines))
	}
}
