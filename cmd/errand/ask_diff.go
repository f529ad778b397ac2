package main

import (
	"fmt"
	"strings"
)

const (
	// diffContext is how many lines that stay are shown around those that do not.
	diffContext = 3
	// maxDiffTable bounds the work of looking for lines that stay: the product of the
	// lines on both sides. What is over it is shown as all old, then all new.
	maxDiffTable = 1 << 20
	// maxDiffBytes and maxDiffLines are how much of a text is compared. What is over it is
	// not: a few lines of it would be shown, and it may have millions.
	maxDiffBytes, maxDiffLines = 256 << 10, 2000
)

// difference is what a question shows of a change.
type difference struct {
	// lines are those of a unified diff without its head: @@ -1,2 +1,3 @@, and then those
	// that begin with a blank, a minus or a plus.
	lines []string
	// left is how many more there are, where only a beginning is in lines.
	left int
	// large is set where the lines are not compared: they are those of the new text.
	large bool
}

// unified compares two texts. Of texts of any size it takes apart no more than it may show.
func unified(old, new string) difference {
	marks := endsMatter(old, new)
	same, old, new := changed(old, new)
	goes, comes := lineCount(old), lineCount(new)
	if max(len(old), len(new)) > maxDiffBytes || max(goes, comes) > maxDiffLines {
		d := difference{lines: []string{hunkHead(same, goes, same, comes)}, left: comes, large: old != ""}
		for line := range strings.Lines(new) {
			if len(d.lines) == diffText {
				break
			}
			d.lines = append(d.lines, "+"+strings.TrimSuffix(line, "\n"))
			d.left--
		}
		return d
	}
	return difference{lines: hunks(edits(textLines(old, marks), textLines(new, marks)), same)}
}

// endsMatter reports whether it is worth telling that a text has no line end: of two that
// have none, both are parts of a file more often than not.
func endsMatter(old, new string) bool {
	return old == "" || new == "" || strings.HasSuffix(old, "\n") != strings.HasSuffix(new, "\n")
}

// changed leaves out what two texts have in common at their beginning and end, but for the
// lines around a change. same is how many lines are left out at the beginning.
func changed(old, new string) (same int, _, _ string) {
	n, most := 0, min(len(old), len(new))
	for n < most && old[n] == new[n] {
		n++
	}
	n = strings.LastIndexByte(old[:n], '\n') + 1
	end := 0
	for end < most-n && old[len(old)-1-end] == new[len(new)-1-end] {
		end++
	}
	tail := old[len(old)-end:]
	for range diffContext + 1 { // the first of them may be the end of a line that changes
		_, tail, _ = strings.Cut(tail, "\n")
	}
	for range diffContext {
		if n > 0 {
			n = strings.LastIndexByte(old[:n-1], '\n') + 1
		}
	}
	return strings.Count(old[:n], "\n"), old[n : len(old)-len(tail)], new[n : len(new)-len(tail)]
}

// lineCount is the length of textLines.
func lineCount(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// hunks writes edits down with the lines around them. before is how many lines stay in front
// of all.
func hunks(all []edit, before int) []string {
	var out []string
	a, b := before, before // lines of old and new before i
	for i := 0; i < len(all); {
		from, to := hunk(all, i)
		if from == to {
			break
		}
		for ; i < from; i++ { // all of them stay
			a, b = a+1, b+1
		}
		lines, olds, news := []string{}, 0, 0
		for ; i < to; i++ {
			lines = append(lines, string(all[i].op)+all[i].line)
			if all[i].op != '+' {
				olds++
			}
			if all[i].op != '-' {
				news++
			}
		}
		out = append(out, hunkHead(a, olds, b, news))
		out = append(out, lines...)
		a, b = a+olds, b+news
	}
	return out
}

// hunkHead is the first line of a hunk: so many lines after the first a of the old text, and
// after the first b of the new one.
func hunkHead(a, olds, b, news int) string {
	return fmt.Sprintf("@@ -%d,%d +%d,%d @@", first(a, olds), olds, first(b, news), news)
}

// first is the number of a hunk's first line, or of the one before it where it has none.
func first(before, lines int) int {
	if lines == 0 {
		return before
	}
	return before + 1
}

// hunk returns where the next hunk is, at i or later; from == to where none is left.
func hunk(all []edit, i int) (from, to int) {
	for from = i; from < len(all) && all[from].op == ' '; from++ {
	}
	if from == len(all) {
		return from, from
	}
	last := from // line that does not stay
	for j := from; j < len(all) && j-last <= 2*diffContext+1; j++ {
		if all[j].op != ' ' {
			last = j
		}
	}
	return max(i, from-diffContext), min(len(all), last+1+diffContext)
}

// textLines are the lines of a text. That the last one has no end is said in it, if marks.
func textLines(text string, marks bool) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	} else if marks {
		lines[last] += " (no line end)"
	}
	return lines
}

// edit is a line that stays (' '), goes ('-') or comes ('+').
type edit struct {
	op   byte
	line string
}

// edits returns what makes new of old.
func edits(old, new []string) []edit {
	var head, middle, tail []edit
	for len(old) > 0 && len(new) > 0 && old[0] == new[0] {
		head = append(head, edit{' ', old[0]})
		old, new = old[1:], new[1:]
	}
	end := 0
	for end < min(len(old), len(new)) && old[len(old)-1-end] == new[len(new)-1-end] {
		end++
	}
	for _, line := range old[len(old)-end:] {
		tail = append(tail, edit{' ', line})
	}
	old, new = old[:len(old)-end], new[:len(new)-end]
	if len(old)*len(new) > maxDiffTable {
		for _, line := range old {
			middle = append(middle, edit{'-', line})
		}
		for _, line := range new {
			middle = append(middle, edit{'+', line})
		}
	} else {
		middle = shortest(old, new)
	}
	return append(append(head, middle...), tail...)
}

// shortest keeps the longest common subsequence of lines.
func shortest(old, new []string) []edit {
	common := make([][]int32, len(old)+1) // of old[i:] and new[j:]
	for i := range common {
		common[i] = make([]int32, len(new)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(new) - 1; j >= 0; j-- {
			if old[i] == new[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out []edit
	i, j := 0, 0
	for i < len(old) || j < len(new) {
		switch {
		case i < len(old) && j < len(new) && old[i] == new[j]:
			out = append(out, edit{' ', old[i]})
			i, j = i+1, j+1
		case j == len(new) || i < len(old) && common[i+1][j] >= common[i][j+1]:
			out = append(out, edit{'-', old[i]})
			i++
		default:
			out = append(out, edit{'+', new[j]})
			j++
		}
	}
	return out
}
