package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muesli/termenv"
)

// table is the rows as they fit on a terminal. It is pure: what is drawn is the board's.
type table struct {
	rows    []*row
	gone    map[*row]bool // scrolled away: what is said of them stays as it is
	scrolls []*row        // those that have ended, in that order
	colors  termenv.Profile
}

// frame is what is to be on the terminal now.
type frame struct {
	above []string // lines that scroll away, once
	lines []string // of the table
}

// frame returns the table for a terminal of this size. Where there are more rows than
// lines, those that have ended scroll away, the earliest first, and of the rest those
// that are queued give way to those that are at work.
func (t *table) frame(width, height int, now time.Time) frame {
	room := max(1, height-1) // the cursor is on the last one
	l := t.layout(width, now)
	var f frame
	for n := len(t.left()); n > room && len(t.scrolls) > 0; n-- {
		f.above = append(f.above, l.line(t.scrolls[0]))
		t.gone[t.scrolls[0]] = true
		t.scrolls = t.scrolls[1:]
	}
	left := t.left()
	if len(left) <= room {
		for _, r := range left {
			f.lines = append(f.lines, l.line(r))
		}
		return f
	}
	shown := slices.Clone(left)
	slices.SortStableFunc(shown, func(a, b *row) int { return cmp.Compare(urgency(a), urgency(b)) })
	hidden := shown[room-1:]
	shown = shown[:room-1]
	slices.SortFunc(shown, func(a, b *row) int { return cmp.Compare(a.number, b.number) })
	for _, r := range shown {
		f.lines = append(f.lines, l.line(r))
	}
	f.lines = append(f.lines, cutColumns(more(hidden), l.width))
	return f
}

// rest returns all rows that have not scrolled away, for the last time.
func (t *table) rest(width int, now time.Time) []string {
	l := t.layout(width, now)
	var lines []string
	for _, r := range t.left() {
		lines = append(lines, l.line(r))
	}
	return lines
}

func (t *table) left() []*row {
	return slices.DeleteFunc(slices.Clone(t.rows), func(r *row) bool { return t.gone[r] })
}

func (t *table) layout(width int, now time.Time) rowLayout {
	l := rowLayout{digits: len(strconv.Itoa(len(t.rows))), width: max(1, width-1), now: now, paint: t.paint}
	for _, r := range t.rows {
		l.name = min(maxRowName, max(l.name, columns(r.name)))
	}
	return l
}

func (t *table) paint(s rowState) string {
	if s.color() == "" {
		return string(s)
	}
	return t.colors.String(string(s)).Foreground(t.colors.Color(s.color())).String()
}

// urgency sorts what wants somebody first, and what has not begun last.
func urgency(r *row) int {
	switch r.state {
	case rowWaiting:
		return 0
	case rowQueued:
		return 2
	}
	return 1
}

// more says how many rows are not shown, and of which sort they are.
func more(hidden []*row) string {
	count := map[rowState]int{}
	for _, r := range hidden {
		count[r.state]++
	}
	var parts []string
	for _, s := range []rowState{rowWaiting, rowRunning, rowStarting, rowQueued, rowDone, rowFailed, rowCancelled} {
		if n := count[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return fmt.Sprintf("… and %d more: %s", len(hidden), strings.Join(parts, ", "))
}
