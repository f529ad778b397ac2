package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		{"the line end", "a", "a\n", []string{"@@ -1,1 +1,1 @@", "-a (no line end)", "+a"}},
		{"another line end", "a\r\n", "a\n", []string{"@@ -1,1 +1,1 @@", "-a\r", "+a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, unified(tt.old, tt.new)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
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
