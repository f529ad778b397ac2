package replay

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// dirs are the directories of the recording and where they are now. What the agent says of
// a path below one is said of the other, and the other way round.
type dirs []dirPair

// dirPair is where a session was recorded and where it is, without the slash at the end: the
// root is empty.
type dirPair struct{ session, recorded, live string }

// add notes where a session that was recorded in a directory is now. One that is where it was
// is noted too: another may be somewhere else.
func (d *dirs) add(session, recorded, live string) {
	if recorded == "" || live == "" {
		return
	}
	pair := dirPair{session, strings.TrimRight(recorded, `/\`), strings.TrimRight(live, `/\`)}
	for i, p := range *d {
		if p.session == session && p.recorded == pair.recorded {
			(*d)[i] = pair
			return
		}
	}
	*d = append(*d, pair)
}

// toLive translates what the recorded agent said in a session.
func (d dirs) toLive(session, text string) string {
	return d.translate(session, text, func(p dirPair) (from, to string) { return p.recorded, p.live })
}

// toRecorded translates what the parent says in a session.
func (d dirs) toRecorded(session, text string) string {
	return d.translate(session, text, func(p dirPair) (from, to string) { return p.live, p.recorded })
}

// translate looks at each place once: what took the place of one directory may be the name of
// another.
func (d dirs) translate(session, text string, way func(dirPair) (from, to string)) string {
	var out strings.Builder
	copied := 0 // of text
	for i := 0; i < len(text); {
		to, n := d.at(session, text, i, way)
		if n == 0 {
			i++
			continue
		}
		out.WriteString(text[copied:i])
		out.WriteString(to)
		i += n
		copied = i
	}
	if copied == 0 {
		return text
	}
	return out.String() + text[copied:]
}

// at returns what takes the place of the n bytes at i, which name a directory; n is 0 if they
// name none. One may lie in the other, so the longest is meant, and of those that are the same
// the session's.
func (d dirs) at(session, text string, i int, way func(dirPair) (from, to string)) (to string, n int) {
	before := text[:i]
	best, own := 0, false
	for _, p := range d {
		from, put := way(p)
		// Below the root is everything, whoever speaks of it.
		if len(from) < max(best, 2) || len(from) == best && (own || p.session != session) || text[i] != from[0] || !begins(before) {
			continue
		}
		end := i + len(from)
		if isURL(before) {
			end = i + unescapes(text[i:], from)
			put = (&url.URL{Path: put}).EscapedPath()
		} else if !strings.HasPrefix(text[i:], from) {
			continue
		}
		if end == i || !ends(text[end:]) {
			continue
		}
		if put == "" && !strings.HasPrefix(text[end:], "/") {
			put = "/"
		}
		to, n, best, own = put, end-i, len(from), p.session == session
	}
	return to, n
}

// isURL reports whether what follows is the path of a file: URL, or of one like it.
func isURL(before string) bool {
	return strings.HasSuffix(before, "://") || strings.HasSuffix(before, "file:") || strings.HasSuffix(before, "://localhost")
}

// unescapes returns how many bytes of the URL path text say dir, 0 if it does not begin with
// that. Everybody escapes other letters.
func unescapes(text, dir string) int {
	n := 0
	for i := range len(dir) {
		rest := text[n:]
		if len(rest) > 2 && rest[0] == '%' {
			if c, err := url.PathUnescape(rest[:3]); err == nil && c[0] == dir[i] {
				n += 3
				continue
			}
		}
		if rest == "" || rest[0] != dir[i] {
			return 0
		}
		n++
	}
	return n
}

// begins reports whether a path may begin behind before, and is not the rest of a longer one.
func begins(before string) bool {
	if strings.HasSuffix(before, "/") || strings.HasSuffix(before, "localhost") {
		return isURL(before)
	}
	r, n := utf8.DecodeLastRuneInString(before)
	return n == 0 || !inName(r) && !strings.ContainsRune(".~}", r)
}

// ends reports whether a path may end in front of after, and not within a name. A dot there
// ends a sentence.
func ends(after string) bool {
	r, n := utf8.DecodeRuneInString(strings.TrimLeft(after, "."))
	return n == 0 || !inName(r) && !strings.ContainsRune("~@+%", r)
}

func inName(r rune) bool {
	return r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r)
}
