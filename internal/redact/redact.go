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
// stands in JSON, also in JSON within JSON, and as it stands in a URL; the lines of one that
// has several (a private key) are found one by one too, if they are long enough, whether it
// has line breaks or writes them as \n. What somebody made of it otherwise, in base64 or in
// capitals say, is not found.
func New(secrets []string) *Redactor {
	r := &Redactor{}
	for _, secret := range secrets {
		r.add(secret)
		for _, line := range append(strings.Split(lineBreaks.Replace(secret), "\n"), secret) {
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
	b := []byte(s)
	if !r.occurs(b, end) {
		return s
	}
	return string(r.scan(nil, b, &progress{}, end))
}

// Bytes returns b without the secrets; b itself if there is none in it. It does not
// change b.
func (r *Redactor) Bytes(b []byte) []byte {
	if !r.occurs(b, whole) {
		return b
	}
	return r.scan(nil, b, &progress{}, whole)
}

// ending says what comes after a piece of text.
type ending int

const (
	more  ending = iota // the next piece
	whole               // nothing
	cut                 // nothing, and what comes last may be incomplete
)

// occurs reports whether there is anything to take out of b.
func (r *Redactor) occurs(b []byte, end ending) bool {
	if r == nil {
		return false
	}
	for i, c := range b {
		for _, pattern := range r.from(c) {
			if begins(b[i:], pattern) || end == cut && breaksOff(b[i:], pattern) {
				return true
			}
		}
	}
	return false
}

// from returns the patterns that begin with c.
func (r *Redactor) from(c byte) []string {
	return r.patterns[r.first[c]:r.first[int(c)+1]]
}

// progress is what a scan knows of the text before the piece it looks at.
type progress struct {
	covered int  // the piece's first bytes that a secret reaches into
	inside  bool // the byte before the piece was part of a secret
	done    int  // the bytes of the piece that were decided
}

// scan appends src without the secrets to dst. At the end of a piece that is not the
// last it stops before the first byte with which a secret may begin that goes on in
// the next piece.
func (r *Redactor) scan(dst, src []byte, p *progress, end ending) []byte {
	clear := 0 // src[clear:i] holds no secret and is not in dst yet
	i := 0
	for ; i < len(src); i++ {
		rest := src[i:]
		undecided := false
		for _, pattern := range r.from(src[i]) {
			switch {
			case begins(rest, pattern):
				p.covered = max(p.covered, i+len(pattern))
			case end == more && isStart(rest, pattern):
				undecided = true
			case end == cut && breaksOff(rest, pattern):
				p.covered = len(src)
			}
		}
		if undecided {
			break
		}
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
	return append(dst, src[clear:i]...)
}

// begins reports whether b, which begins with the first byte of s, begins with all of it.
// The second byte is looked at first because it nearly always decides.
func begins(b []byte, s string) bool {
	return len(b) >= len(s) && (len(s) == 1 || b[1] == s[1]) && string(b[:len(s)]) == s
}

// isStart reports whether b is the beginning of s and no more.
func isStart(b []byte, s string) bool { return len(b) < len(s) && begins(b, s[:len(b)]) }

// breaksOff reports whether b is so much of the beginning of s that it must not be seen.
func breaksOff(b []byte, s string) bool { return len(b) >= Shortest && isStart(b, s) }
