package proc

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	checks "github.com/errand-acp/errand/internal/check"
)

func TestTail(t *testing.T) {
	for _, test := range []struct {
		name  string
		size  int
		write []string
		want  string
		cut   bool
	}{
		{"nothing", 64, nil, "", false},
		{"a line", 64, []string{"one\n"}, "one\n", false},
		{"an open line", 64, []string{"one\ntwo"}, "one\ntwo", false},
		{"byte by byte", 64, strings.Split("one\r\ntwo", ""), "one\r\ntwo", false},
		{"as much as fits", 8, []string{"a\nb\n", "c\nd\n"}, "a\nb\nc\nd\n", false},
		{"the end counts", 8, []string{"a\nb\n", "c\nd\n", "e\n"}, "b\nc\nd\ne\n", true},
		{"an open line pushes out", 8, []string{"a\nb\nc\nd\n", "ee"}, "b\nc\nd\nee", true},
		{"a long line is cut in the middle", 80, []string{"one\n", "0123456789", "xxxxx", "9876543210", "\ntwo\n"},
			"one\n0123456789[… 5 bytes …]9876543210\ntwo\n", true},
		{"a long open line", 80, []string{"0123456789xxxxx", "9876543210"}, "0123456789[… 5 bytes …]9876543210", true},
		{"a line just short enough", 80, []string{"01234567899876543210\n"}, "01234567899876543210\n", false},
		{"carriage returns end lines", 80, []string{strings.Repeat("0123456789012345678\r", 3) + "!"},
			strings.Repeat("0123456789012345678\r", 3) + "!", false},
		{"characters are not cut: line", 40, []string{"aaaaä…bbbbb"}, "aaaa[… 5 bytes …]bbbbb", true},
		{"characters are not cut: tail", 17, []string{"ää\nää\nää\nää\n"}, "\nää\nää\nää\n", true},
		{"not UTF-8", 64, []string{"a\xffb"}, "a\uFFFDb", false},
		{"not UTF-8 and full", 8, []string{"\xff\n\xff\n\xff\n\xff\n"}, "\uFFFD\n\uFFFD\n", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			tail := newTail(test.size)
			for _, s := range test.write {
				if n, err := tail.Write([]byte(s)); n != len(s) || err != nil {
					t.Fatalf("Write: %d, %v", n, err)
				}
			}
			got, cut := tail.text()
			if got != test.want || cut != test.cut {
				t.Errorf("got %q, %v\nwant %q, %v", got, cut, test.want, test.cut)
			}
			if again, _ := tail.text(); again != got {
				t.Errorf("asked again: %q", again)
			}
		})
	}
}

// However it is written, the tail is the same, bounded, valid, and ends as the text does.
func FuzzTail(f *testing.F) {
	f.Add("one\ntwo\nthree four five\nsix ä", uint8(3), uint8(20))
	f.Add("one\ntwo\r\nthree ä…\xff and a longer line than there is room for", uint8(7), uint8(20))
	f.Fuzz(func(t *testing.T, text string, step, size uint8) {
		if size == 0 {
			return
		}
		checks.Cost(t, len(text))
		whole, parts := newTail(int(size)), newTail(int(size))
		whole.Write([]byte(text))
		for s := text; s != ""; {
			n := min(len(s), int(step)+1)
			parts.Write([]byte(s[:n]))
			s = s[n:]
		}
		a, cutA := whole.text()
		b, cutB := parts.text()
		if a != b || cutA != cutB {
			t.Errorf("written at once: %q, %v\nin parts:       %q, %v", a, cutA, b, cutB)
		}
		if len(a) > int(size) || !utf8.ValidString(a) {
			t.Errorf("%d bytes of %d: %q", len(a), size, a)
		}
		if !cutA && a != strings.ToValidUTF8(text, "\uFFFD") && utf8.ValidString(text) {
			t.Errorf("%q became %q, and nothing is said to be missing", text, a)
		}
		end := WholeStart([]byte(text[max(0, len(text)-max(int(size)/8, 1)):]))
		if utf8.ValidString(text) && !strings.HasSuffix(a, string(end)) {
			t.Errorf("%q became %q, which does not end with %q", text, a, end)
		}
	})
}

// A line that never ends costs no more than the tail is allowed to.
func TestTailIsBounded(t *testing.T) {
	tail := newTail(1000)
	tail.Write([]byte("first\n"))
	for i := range 10_000 {
		fmt.Fprintf(tail, "%d ", i)
	}
	text, cut := tail.text()
	if !cut || !strings.HasPrefix(text, "first\n0 1 2") || !strings.HasSuffix(text, " 9998 9999 ") {
		t.Errorf("got %q, %v", text, cut)
	}
	if held := cap(tail.lines.buf) + cap(tail.head) + cap(tail.end.buf); held > 4000 {
		t.Errorf("%d bytes are held", held)
	}
}
