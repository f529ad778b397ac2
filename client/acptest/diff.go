package acptest

// Why this is not cmp.Diff, of go-cmp v0.7.0, over the same lines, tried on what goldens are like:
// it pairs lines that have nothing in common and splits both within words, so that a frame
// that changed takes six lines of strings.Join({…}), and where most differ an answer is shown as
// an edit of the update before it; it escapes all of a line that has a backquote; and it takes
// 8 s and 12 MB for 5,000 different lines of 1 kB, and minutes for 50,000, where this takes
// 0.1 s and 0.7 s, and says the same in two lines for each, and no more than can be read.

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// What a diff shows.
const (
	around    = 2    // lines, before and after a difference
	shortLine = 140  // bytes of a line that does not differ
	margin    = 60   // bytes, before and after the difference in a line that was changed
	mostLines = 200  // then it only says how many there are
	mostLine  = 4096 // bytes of a line
	mostWork  = 16e6 // pairs of lines; beyond, lines are compared one by one
)

// diff shows how got differs from want, line by line; empty if it does not. What was added or
// removed is shown whole, unless it is very long, of a line that was changed what differs and
// what is around that.
func diff(want, got []line) string {
	edits := compare(want, got)
	if !slices.ContainsFunc(edits, edit.differs) {
		return ""
	}
	var out []string
	same := 0 // lines that are not shown
	skip := func() {
		if same > 0 {
			out = append(out, fmt.Sprintf("  … the same %s", count(same, "line")))
		}
		same = 0
	}
	for i, e := range edits {
		if e.differs() {
			skip()
			out = append(out, e.show()...)
			continue
		}
		near := edits[max(0, i-around):min(len(edits), i+around+1)]
		if !slices.ContainsFunc(near, edit.differs) {
			same++
			continue
		}
		skip()
		out = append(out, "  "+beginning(e.want.String(), shortLine))
	}
	skip()
	if n := len(out) - mostLines; n > 0 {
		out = append(out[:mostLines], fmt.Sprintf("  … and %s more", count(n, "line")))
	}
	for i, l := range out {
		out[i] = beginning(l, mostLine)
	}
	return strings.Join(out, "\n")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// edit is a line of both sides, or of one, where the other is nil.
type edit struct{ want, got *line }

func (e edit) differs() bool { return e.want == nil || e.got == nil || *e.want != *e.got }

func (e edit) show() []string {
	switch {
	case e.got == nil:
		return []string{"- " + e.want.String()}
	case e.want == nil:
		return []string{"+ " + e.got.String()}
	}
	want, got := *e.want, *e.got
	if want.head == got.head {
		want.body, got.body = differing(want.body, got.body)
	}
	return []string{"- " + want.String(), "+ " + got.String()}
}

// differing is what differs in two texts, and what is around it.
func differing(a, b string) (string, string) {
	before := 0
	for before < min(len(a), len(b)) && a[before] == b[before] {
		before++
	}
	after := 0
	for after < min(len(a), len(b))-before && a[len(a)-1-after] == b[len(b)-1-after] {
		after++
	}
	cut := func(s string) string {
		end := len(s) - after + margin
		if end < len(s) {
			s = beginning(s, end)
		}
		if start := before - margin; start > 0 {
			for !utf8.RuneStart(s[start]) {
				start--
			}
			s = "…" + s[start:]
		}
		return s
	}
	return cut(a), cut(b)
}

// beginning is the first n bytes of s, or fewer: not half a character.
func beginning(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// compare pairs the lines of both sides, those that are the same and those that were changed.
func compare(want, got []line) []edit {
	var edits []edit
	var removed, added []*line
	flush := func() {
		if len(removed) == len(added) {
			for i := range removed {
				edits = append(edits, edit{removed[i], added[i]})
			}
		} else {
			for _, l := range removed {
				edits = append(edits, edit{want: l})
			}
			for _, l := range added {
				edits = append(edits, edit{got: l})
			}
		}
		removed, added = nil, nil
	}
	i, j := 0, 0
	for _, p := range append(common(want, got), pair{len(want), len(got)}) {
		for ; i < p.want; i++ {
			removed = append(removed, &want[i])
		}
		for ; j < p.got; j++ {
			added = append(added, &got[j])
		}
		flush()
		if i < len(want) && j < len(got) {
			edits = append(edits, edit{&want[i], &got[j]})
			i, j = i+1, j+1
		}
	}
	return edits
}

type pair struct{ want, got int }

// common returns a longest common subsequence, as the places of its lines.
func common(want, got []line) []pair {
	var first, last []pair
	n, m := len(want), len(got)
	begin := 0
	for ; begin < min(n, m) && want[begin] == got[begin]; begin++ {
		first = append(first, pair{begin, begin})
	}
	for n > begin && m > begin && want[n-1] == got[m-1] {
		n, m = n-1, m-1
		last = append(last, pair{n, m})
	}
	slices.Reverse(last)
	if (n-begin)*(m-begin) > mostWork {
		return slices.Concat(first, last)
	}
	// length[i][j] is how long the one of want[begin+i:n] and got[begin+j:m] is.
	length := make([][]uint16, n-begin+1)
	for i := range length {
		length[i] = make([]uint16, m-begin+1)
	}
	for i := n - begin - 1; i >= 0; i-- {
		for j := m - begin - 1; j >= 0; j-- {
			if want[begin+i] == got[begin+j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < n-begin && j < m-begin; {
		switch {
		case want[begin+i] == got[begin+j]:
			first = append(first, pair{begin + i, begin + j})
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	return slices.Concat(first, last)
}
