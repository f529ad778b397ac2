package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// show writes a column for each result, and the totals below.
func show(w io.Writer, results []*subagent.Result, t subagent.Totals) {
	width := max(20, 100/len(results)-3)
	columns := make([][]string, len(results))
	height := 0
	for i, res := range results {
		text := fmt.Sprintf("%s\n%s, %.1f s\n\n%s", res.Provider, res.Stop, res.Timing.TotalMs/1000, res.Output)
		if res.Error != nil {
			text += "\n" + res.Error.Error()
		}
		columns[i] = wrap(text, width)
		height = max(height, len(columns[i]))
	}
	for row := range height {
		var line strings.Builder
		for _, column := range columns {
			cell := ""
			if row < len(column) {
				cell = column[row]
			}
			fmt.Fprintf(&line, "%-*s   ", width, cell)
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}

	fmt.Fprintf(w, "\n%d of %d completed in %.1f s; one after another they take %.1f s\n",
		t.Outcomes[stopreason.Completed], t.Runs, t.WallMs/1000, t.SumMs/1000)
	if t.Slowest != nil {
		fmt.Fprintf(w, "the slowest was %s\n", results[t.Slowest.Index].Provider)
	}
	if tokens := t.Usage.TotalTokens; tokens.Sum != nil { // that nobody says is not 0
		fmt.Fprintf(w, "%.0f tokens, by the %d of them that say so\n", *tokens.Sum, tokens.Runs)
	}
}

// wrap breaks text into lines of at most width characters, at blanks where it can.
func wrap(text string, width int) []string {
	var lines []string
	for line := range strings.Lines(plain(text)) {
		rest := []rune(strings.TrimRight(line, "\n"))
		for len(rest) > width {
			end := width
			for i := width; i > 0; i-- {
				if rest[i] == ' ' {
					end = i
					break
				}
			}
			lines = append(lines, string(rest[:end]))
			rest = []rune(strings.TrimLeft(string(rest[end:]), " "))
		}
		lines = append(lines, string(rest))
	}
	return lines
}

// plain is text without what a terminal would obey: an agent wrote it.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			return r
		case r == '\t':
			return ' '
		}
		return unicode.ReplacementChar
	}, text)
}
