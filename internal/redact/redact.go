package redact

import (
	"slices"
	"strings"
)

// Mark stands where a secret was. Secrets that touch or overlap become one Mark.
const Mark = "[redacted]"

// Shortest is the length in bytes of the shortest secret that is taken out. Shorter
// values are words and numbers, which stand everywhere.
const Shortest = 8

// A Redactor replaces secrets by [Mark]. It is immutable: any number of goroutines may
// use it. A nil *Redactor redacts nothing.
type Redactor struct {
	// patterns are the forms of the secrets, sorted; first[c] is how many of them begin
	// with a byte below c.
	patterns []string
	first    [257]int32
}

// New returns a Redactor of the secrets. Those shorter than [Shortest] and blank ones are
// ignored. A secret is found as it is, without the blanks and the quotes around it, as it
// stands in a URL, also in a URL within a URL, and all that as it stands in JSON, also in
// JSON within JSON, whichever of its characters are escaped and how; the lines of one that
// has several (a private key) are found one by one too, if they are long enough, whether it
// has line breaks or writes them as \n. What somebody made of it otherwise is not found: in
// JSON in a deeper string or that is itself escaped in a URL, in base64 or in capitals, in
// the escapes of HTML, of a shell or of a programming language.
func New(secrets []string) *Redactor {
	r := &Redactor{}
	for _, secret := range secrets {
		r.add(secret)
		lines := append(strings.Split(lineBreaks.Replace(secret), "\n"), secret)
		for _, line := range append(lines, strings.FieldsFunc(secret, isLineBreak)...) {
			line = strings.TrimSpace(line)
			bare := strings.Trim(line, `"'`) // whoever reads the variable may take them off
			if line != secret {
				r.add(line)
			}
			if bare != line {
				r.add(bare)
			}
		}
	}
	slices.Sort(r.patterns)
	r.patterns = slices.Clip(slices.Compact(r.patterns))
	for _, p := range r.patterns {
		r.first[int(p[0])+1]++
	}
	for c := range 256 {
		r.first[c+1] += r.first[c]
	}
	return r
}

var lineBreaks = strings.NewReplacer("\r", "\n", `\r`, "\n", `\n`, "\n")

func isLineBreak(c rune) bool { return c == '\n' || c == '\r' }

func (r *Redactor) add(secret string) {
	if len(secret) < Shortest || strings.TrimSpace(secret) == "" {
		return
	}
	for _, form := range forms(secret) {
		if len(form) >= Shortest {
			r.patterns = append(r.patterns, form)
		}
	}
}

// String returns s without the secrets.
func (r *Redactor) String(s string) string { return r.text(s, whole) }

// Cut is String for text that may end in the middle of a secret, because it was cut there
// or its writer died: the beginning of one at the end of s, of [Shortest] bytes or more,
// is taken out too.
func (r *Redactor) Cut(s string) string { return r.text(s, cut) }

func (r *Redactor) text(s string, end ending) string {
	if r == nil {
		return s
	}
	out, redacted := r.scan(nil, []byte(s), &progress{}, end)
	if !redacted {
		return s
	}
	return string(out)
}

// Bytes returns b without the secrets; b itself if there is none in it. It does not
// change b.
func (r *Redactor) Bytes(b []byte) []byte {
	if r == nil {
		return b
	}
	out, _ := r.scan(nil, b, &progress{}, whole)
	return out
}

// ending says what comes after a piece of text.
type ending int

const (
	more  ending = iota // the next piece
	whole               // nothing
	cut                 // nothing, and what comes last may be incomplete
)

// at returns how much of b, from its beginning on, is a secret, as match does. escaped says
// that a backslash stands before b: one that b begins with may not be taken without it, or a
// JSON text would be none any more.
func (r *Redactor) at(b []byte, plain int, escaped bool) (n int, open bool) {
	if plain > 0 {
		for _, pattern := range r.from(b[0]) {
			if plain > 1 && b[1] != pattern[1] {
				continue // as nearly always
			}
			m, o := match(b, plain, pattern)
			n, open = max(n, m), open || o
		}
		return n, open
	}
	var as reading
	for again := len(r.patterns) > 0; again; again = as.next() {
		if as.json > 0 && escaped && b[0] == '\\' {
			break
		}
		c, size := as.char(b)
		if size <= 0 {
			open = open || size == 0
			continue
		}
		if c == plus {
			for _, pattern := range r.from(' ') {
				m, o := as.match(b, pattern)
				n, open = max(n, m), open || o
			}
		}
		for _, pattern := range r.from(firstByte(c)) {
			m, o := as.match(b, pattern)
			n, open = max(n, m), open || o
		}
	}
	return n, open
}

// from returns the patterns that begin with c.
func (r *Redactor) from(c byte) []string {
	return r.patterns[r.first[c]:r.first[int(c)+1]]
}

// begins reports whether there are any.
func (r *Redactor) begins(c byte) bool { return r.first[c] < r.first[int(c)+1] }

// progress is what a scan knows of the text before the piece it looks at.
type progress struct {
	covered int  // the piece's first bytes that a secret reaches into
	inside  bool // the byte before the piece was part of a secret
	escaped bool // a backslash stands before the piece, and is not escaped itself
	done    int  // the bytes of the piece that were decided
}

// scan returns src without the secrets, in the memory of dst, and whether there were any: it
// is src itself if not. At the end of a piece that is not the last it stops before the first
// byte with which a secret may begin that goes on in the next piece.
func (r *Redactor) scan(dst, src []byte, p *progress, end ending) (out []byte, redacted bool) {
	dst = dst[:0]
	clear := 0  // src[clear:i] holds no secret and is not in dst yet
	plain := -1 // src[i:plain] is plain
	i := 0
	for ; i < len(src); i++ {
		if plain < i {
			plain = i + plainly(src[i:])
		}
		var n int
		var open bool
		if i == plain || r.begins(src[i]) {
			n, open = r.at(src[i:], plain-i, p.escaped)
		}
		if n > 0 {
			p.covered = max(p.covered, i+n)
		}
		if open && end == more {
			break
		}
		if open && breaksOff(src[i:], end) {
			p.covered = len(src)
		}
		p.escaped = src[i] == '\\' && !p.escaped
		if i >= p.covered {
			p.inside = false
			continue
		}
		dst = append(dst, src[clear:i]...)
		clear = i + 1
		if !p.inside {
			dst = append(dst, Mark...)
		}
		p.inside = true
	}
	p.done = i
	p.covered = max(0, p.covered-i)
	if clear == 0 {
		return src[:i], false
	}
	return append(dst, src[clear:i]...), true
}

// breaksOff reports whether b, which may be the beginning of a secret, is so much of it that
// it must not be seen.
func breaksOff(b []byte, end ending) bool { return end == cut && len(b) >= Shortest }
