package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s with everything that does not show as itself made visible. Newlines
// and tabs stay; CRLF becomes a newline. A byte that is not UTF-8 becomes \x{..},
// anything else \u{..}.
func Text(s string) string {
	var st Stream
	return st.Next(s) + st.End()
}

// Line is Text for what must stay on one line, such as a title: newlines and tabs
// are made visible too.
func Line(s string) string {
	st := Stream{oneLine: true}
	return st.Next(s) + st.End()
}

// Stream is Text for text that comes in pieces, cut anywhere: what Next and End
// return, put together, is what Text returns for the whole. The zero value is ready
// to use; it is for one goroutine at a time.
type Stream struct {
	oneLine bool
	held    string // the end of the last piece, which cannot be judged without the next
	prev    rune   // the last rune that was let through, 0 after one that was not
}

// Next returns what can be shown once s has come.
func (st *Stream) Next(s string) string {
	if st.held == "" && plain(s) {
		if s != "" {
			st.prev = rune(s[len(s)-1])
		}
		return s
	}
	return st.show(st.held+s, false)
}

// End returns what was held back for a piece that is not going to come, and makes
// the stream ready for another text.
func (st *Stream) End() string {
	out := st.show(st.held, true)
	*st = Stream{oneLine: st.oneLine}
	return out
}

func (st *Stream) show(s string, last bool) string {
	st.held = ""
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case !last && (!utf8.FullRuneInString(s) || s == "\r"):
			st.held = s
			return b.String()
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x{%x}`, s[0])
			st.prev = 0
		case !st.oneLine && (r == '\n' || r == '\t') || !hidden(r) || joins(st.prev, r):
			b.WriteRune(r)
			st.prev = r
		case !st.oneLine && r == '\r' && strings.HasPrefix(s[n:], "\n"):
			// the line break of another system
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
			st.prev = 0
		}
		s = s[n:]
	}
	return b.String()
}

// plain reports whether s is printable ASCII, which most text is.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// hidden reports whether r is obeyed or overlooked rather than seen: controls,
// format characters (bidirectional marks, zero-width ones, tags), line and paragraph
// separators, and the letters and marks that show as nothing.
func hidden(r rune) bool {
	if r >= ' ' && r <= '~' {
		return false
	}
	const brailleBlank = '\u2800'
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point) ||
		r == brailleBlank
}

// joins reports whether r, hidden by itself, belongs to the picture begun by prev:
// one that an emoji is made with. Runs of them, which can carry a message that
// nobody sees, do not pass.
func joins(prev, r rune) bool {
	const textStyle, emojiStyle, joiner = '\ufe0e', '\ufe0f', '\u200d'
	switch r {
	case textStyle, emojiStyle:
		return unicode.IsSymbol(prev) || prev >= '0' && prev <= '9' || strings.ContainsRune("#*‼⁉〰", prev)
	case joiner:
		return unicode.In(prev, unicode.So, unicode.Sk) || prev == emojiStyle
	}
	return false
}
