package transcript

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// wordEnds reports whether s[from:to] is a word by itself and no part of another.
func wordEnds(s string, from, to int) bool {
	return !wordBefore(s[:from]) && !wordAfter(s[to:])
}

// pathEnds is wordEnds for a path, which may go on with a separator: it ends before a dot
// that ends a sentence and not before one of a longer name.
func pathEnds(s string, from, to int) bool {
	after := s[to:]
	if name := strings.TrimLeft(after, "."); len(name) < len(after) {
		after = name
	}
	return !wordBefore(s[:from]) && !wordAfter(after)
}

func wordBefore(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return s != "" && inWord(r)
}

func wordAfter(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return s != "" && inWord(r)
}

func inWord(r rune) bool {
	return r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// replaceWhole replaces old by name where ends says that it is whole, and not in a name that
// has taken its place.
func replaceWhole(s, old, name string, ends func(s string, from, to int) bool) string {
	var out strings.Builder
	rest := 0
	holds := strings.Contains(name, old)
	for i := 0; ; {
		at := strings.Index(s[i:], old)
		if at < 0 {
			break
		}
		if holds {
			if n := strings.Index(s[i:min(i+at+len(name), len(s))], name); n >= 0 && ends(s, i+n, i+n+len(name)) {
				i += n + len(name)
				continue
			}
		}
		from, to := i+at, i+at+len(old)
		if i = from + 1; !ends(s, from, to) {
			continue
		}
		out.WriteString(s[rest:from])
		out.WriteString(name)
		rest, i = to, to
	}
	if rest == 0 {
		return s
	}
	out.WriteString(s[rest:])
	return out.String()
}

// escapePath returns path as it stands in a file URL.
func escapePath(path string) string { return (&url.URL{Path: path}).EscapedPath() }
