package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/permission"
)

func TestUnified(t *testing.T) {
	count := func(from, to int) string {
		var b strings.Builder
		for i := from; i <= to; i++ {
			fmt.Fprintln(&b, i)
		}
		return b.String()
	}
	for _, tt := range []struct {
		name, old, new string
		want           []string
	}{
		{"nothing", "a\n", "a\n", nil},
		{"a new file", "", "a\nb\n", []string{"@@ -0,0 +1,2 @@", "+a", "+b"}},
		{"an emptied file", "a\n", "", []string{"@@ -1,1 +0,0 @@", "-a"}},
		{"a line", count(1, 9), count(1, 4) + "five\n" + count(6, 9), []string{"@@ -2,7 +2,7 @@", " 2", " 3", " 4", "-5", "+five", " 6", " 7", " 8"}},
		{"two hunks", count(1, 20), "0\n" + count(1, 20) + "21\n", []string{"@@ -1,3 +1,4 @@", "+0", " 1", " 2", " 3", "@@ -18,3 +19,4 @@", " 18", " 19", " 20", "+21"}},
		{"near ones in one hunk", "a\n" + count(1, 6) + "b\n", count(1, 6), []string{"@@ -1,8 +1,6 @@", "-a", " 1", " 2", " 3", " 4", " 5", " 6", "-b"}},
		{"parts without line ends", "a\nb", "a\nc", []string{"@@ -1,2 +1,2 @@", " a", "-b", "+c"}},
		{"the line end", "a", "a\n", []string{"@@ -1,1 +1,1 @@", "-a (no line end)", "+a"}},
		{"another line end", "a\r\n", "a\n", []string{"@@ -1,1 +1,1 @@", "-a\r", "+a"}},
		{"a line of a large text", count(1, 100000) + "a\n" + count(1, 100000), count(1, 100000) + "b\n" + count(1, 100000), []string{"@@ -99998,7 +99998,7 @@", " 99998", " 99999", " 100000", "-a", "+b", " 1", " 2", " 3"}},
		{"less of the same", count(1, 3) + "a\na\na\n", count(1, 3) + "a\n", []string{"@@ -2,5 +2,3 @@", " 2", " 3", " a", "-a", "-a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, unified(tt.old, tt.new).lines); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// What is left out before texts are compared changes nothing of what is shown.
func TestUnifiedLeavesOutWhatStays(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	some := func() string {
		var b strings.Builder
		for range random.IntN(16) {
			b.WriteString([]string{"a", "b", "\n", "\n"}[random.IntN(4)])
		}
		return b.String()
	}
	for range 5000 {
		before, after := some(), some()
		old, new := before+some()+after, before+some()+after
		marks := endsMatter(old, new)
		if diff := cmp.Diff(hunks(edits(textLines(old, marks), textLines(new, marks)), 0), unified(old, new).lines); diff != "" {
			t.Fatalf("%q, %q: -want +got\n%s", old, new, diff)
		}
	}
}

// Of a text of any size a few lines are shown, and the rest costs next to nothing.
func TestLargeDiffs(t *testing.T) {
	lines, other := strings.Repeat("\n", 16<<20), strings.Repeat("a\n", 8<<20)
	one := strings.Repeat("x", 16<<20)
	ends := strings.Repeat("b\n", 8<<20)
	for _, tt := range []struct {
		name     string
		old, new string
		want     []string
	}{
		{"a new text", "", lines, []string{"| +\n", "16777158 more lines of it"}},
		{"a new line", "", one, []string{"| +xxx", "more bytes"}},
		{"all of them change", ends, other, []string{"| +a\n", "not compared", "@@ -1,8388608 +1,8388608 @@", "8388551 more lines of it"}},
		{"one of them changes", other + "b\n" + ends, other + "c\n" + ends, []string{"@@ -8388606,", "-b", "+c"}},
		{"all of them go", "x" + lines, "y", []string{"not compared", "@@ -1,16777216 +1,1 @@", "+y"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := permission.Diff{Path: "a", New: tt.new}
			if tt.old != "" {
				d.Old = &tt.old
			}
			s := &sheet{redact: func(text string) string { return text }}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s.diffs([]permission.Diff{d})
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > 32<<20 {
				t.Errorf("%d bytes allocated", got)
			}
			shown := s.b.String()
			has(t, "the question", shown, tt.want...)
			if n := strings.Count(shown, "\n"); n > diffText+8 {
				t.Errorf("%d lines shown", n)
			}
		})
	}
}

// Whatever the texts: what stays and goes is the old one, what stays and comes the new.
func TestEditsAreTheTexts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	some := func(n int) (lines []string) {
		for range random.IntN(n) {
			lines = append(lines, string(rune('a'+random.IntN(3))))
		}
		return lines
	}
	for i := range 500 {
		n := 12
		if i%100 == 0 {
			n = 5000 // more than the table takes
		}
		old, new := some(n), some(n)
		var a, b []string
		for _, e := range edits(old, new) {
			if e.op != '+' {
				a = append(a, e.line)
			}
			if e.op != '-' {
				b = append(b, e.line)
			}
		}
		if diff := cmp.Diff([][]string{old, new}, [][]string{a, b}); diff != "" {
			t.Fatalf("-want +got\n%s", diff)
		}
	}
}
