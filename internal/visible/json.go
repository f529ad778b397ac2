package visible

import (
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON returns the JSON text doc with every character that would not show as itself
// written as a \u escape. What it says stays the same, so a program reads no
// difference, and a person who looks at it on a terminal is safe. doc must be valid
// JSON; bytes in it that are not UTF-8 become U+FFFD, as for any reader.
func JSON(doc []byte) []byte {
	// What is below a space can only be white space between tokens.
	if !slices.ContainsFunc(doc, func(b byte) bool { return b > '~' }) {
		return doc
	}
	out := make([]byte, 0, len(doc)+64)
	for len(doc) > 0 {
		r, n := utf8.DecodeRune(doc)
		switch {
		case r == utf8.RuneError && n == 1:
			out = append(out, `\ufffd`...)
		case r >= ' ' && hidden(r):
			for _, u := range utf16.AppendRune(nil, r) {
				out = fmt.Appendf(out, `\u%04x`, u)
			}
		default:
			out = append(out, doc[:n]...)
		}
		doc = doc[n:]
	}
	return out
}
