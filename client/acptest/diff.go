package acptest

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// What a diff shows.
const (
	width     = 240  // bytes of a line, of which cmp shows 256; a longer one is folded
	around    = 2    // lines before and after what differs
	mostLines = 4000 // of each side are compared: cmp takes its time
	mostShown = 200  // lines of what cmp says
)

// diff shows how got differs from want (-want +got), line by line; empty if it does not.
func diff(want, got []string) string {
	want, got = fold(want), fold(got)
	if slices.Equal(want, got) {
		return ""
	}
	before, most := 0, min(len(want), len(got))
	for before < most && want[before] == got[before] {
		before++
	}
	after := 0
	for after < most-before && want[len(want)-1-after] == got[len(got)-1-after] {
		after++
	}
	before, after = max(0, before-around), max(0, after-around)
	want, got = want[before:len(want)-after], got[before:len(got)-after]
	var skipped []string
	if more := max(len(want), len(got)) - mostLines; more > 0 {
		want, got = want[:min(len(want), mostLines)], got[:min(len(got), mostLines)]
		skipped = []string{fmt.Sprintf("  … and %d lines more, not compared", more)}
	}
	// Without a Comparer cmp looks for what differs within lines, and splits them in words.
	whole := cmp.Comparer(func(a, b string) bool { return a == b })
	shown := strings.Split(strings.TrimRight(cmp.Diff(want, got, whole), "\n"), "\n")
	if more := len(shown) - mostShown; more > 0 {
		shown = append(shown[:mostShown], fmt.Sprintf("  … and %d lines more", more))
	}
	return strings.Join(slices.Concat(same(before), shown, skipped, same(after)), "\n")
}

// same says how many lines are left out.
func same(lines int) []string {
	if lines == 0 {
		return nil
	}
	return []string{fmt.Sprintf("  … identical lines: %d", lines)}
}

// fold makes several lines of a long one, which are all that there is in it.
func fold(lines []string) []string {
	var all []string
	for _, line := range lines {
		mark := ""
		for len(mark)+len(line) > width {
			n := width - len(mark)
			for !utf8.RuneStart(line[n]) { // lines are UTF-8
				n--
			}
			all = append(all, mark+line[:n])
			mark, line = "  … ", line[n:]
		}
		all = append(all, mark+line)
	}
	return all
}
