package redact

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// levels is how often a text may be a JSON string within another one, as an agent passes
// on what a program answered it with, and part of a URL within another one.
const levels = 2

// special are the bytes that may be read as another character than they are.
var special = [256]bool{'\\': true, '%': true, '+': true}

// plainly returns how much of b, from its beginning on, can only be read as it is.
func plainly(b []byte) int {
	for i, c := range b {
		if !special[c] {
			continue
		}
		if c == '%' {
			var r reading
			if _, n := r.hex(b[i+1:], 1, 2); n < 0 && !r.escape {
				continue // neither digits follow nor what may be some
			}
		}
		return i
	}
	return len(b)
}

// match returns how much of b, from its beginning on, is the secret s: 0 if it does not
// begin with it. The first plain bytes of b can only be read as they are; after them each
// character may be escaped in any way that JSON and URLs have. open says that b ends within
// what may be the secret.
func match(b []byte, plain int, s string) (n int, open bool) {
	i := min(plain, len(s))
	switch {
	case string(b[:i]) != s[:i]:
		return 0, false
	case i == len(s):
		return i, false
	case i == len(b):
		return 0, true
	}
	var r reading
	for again := true; again; again = r.next() {
		m, o := r.match(b[i:], s[i:])
		if m > 0 {
			n = max(n, i+m)
		}
		open = open || o
	}
	return n, open
}

// A reading is one way of reading a text: as part of so many URLs within each other, which
// stands in so many JSON strings within each other.
type reading struct {
	json, urls int

	// Whether there was anything that one JSON string more, or one URL, might read otherwise.
	escape, percent bool
}

// next makes it the next reading, of those that may differ in what was read.
func (r *reading) next() bool {
	switch {
	case r.percent && r.urls < levels:
		r.urls++
		r.percent = false
	case r.escape && r.json < levels:
		*r = reading{json: r.json + 1}
	default:
		return false
	}
	return true
}

// match is match for one reading.
func (r *reading) match(b []byte, s string) (n int, open bool) {
	for s != "" {
		if n == len(b) {
			return 0, true
		}
		c, size := charOf(b[n]), 1
		if special[b[n]] {
			if c, size = r.char(b[n:]); size <= 0 {
				return 0, size == 0
			}
		}
		if c == plus && s[0] == ' ' {
			c = ' '
		}
		if firstByte(c) != s[0] {
			return 0, false
		}
		bytes := 1
		if utf8.RuneSelf <= c && c <= utf8.MaxRune {
			char := string(c)
			if !strings.HasPrefix(s, char) {
				return 0, false
			}
			bytes = len(char)
		}
		n, s = n+size, s[bytes:]
	}
	return n, false
}

// A character is one of Unicode, or a byte beyond ASCII, which is a part of one, or a plus
// sign in a URL, which may also be a blank.
const plus rune = -1

func charOf(b byte) rune {
	if b < utf8.RuneSelf {
		return rune(b)
	}
	return utf8.MaxRune + rune(b)
}

// firstByte returns the first byte of a character.
func firstByte(c rune) byte {
	switch {
	case c == plus:
		return '+'
	case c < utf8.RuneSelf:
		return byte(c)
	case c > utf8.MaxRune:
		return byte(c - utf8.MaxRune)
	}
	return string(c)[0]
}

// char returns the first character of b and how many bytes that takes: 0 if b ends within
// it, less if there is none.
func (r *reading) char(b []byte) (c rune, size int) {
	c, size = r.read(b, r.json+r.urls)
	if c == '%' || c == '+' {
		r.percent = true
	}
	return c, size
}

// read is char for the first so many layers of a reading: the strings, then the URLs.
func (r *reading) read(b []byte, layers int) (c rune, size int) {
	switch {
	case len(b) == 0:
		return 0, 0
	case layers == 0 || !special[b[0]]:
		c, size = charOf(b[0]), 1
	case layers > r.json:
		return r.url(b, layers-1)
	default:
		c, size = r.string(b, layers-1)
	}
	if c == '\\' && layers == r.json {
		r.escape = true
	}
	return c, size
}

// url reads a character of a URL.
func (r *reading) url(b []byte, layers int) (c rune, size int) {
	c, size = r.read(b, layers)
	switch {
	case size <= 0:
		return 0, size
	case c == '+':
		return plus, size
	case c != '%':
		return c, size
	}
	c, n := r.hex(b[size:], layers, 2)
	switch {
	case n == 0:
		return 0, 0
	case n < 0:
		return '%', size // as whoever decodes it has it
	}
	return charOf(byte(c)), size + n
}

// string reads a character of a JSON string.
func (r *reading) string(b []byte, layers int) (c rune, size int) {
	c, size = r.read(b, layers)
	if size <= 0 || c != '\\' {
		return c, size
	}
	c, n := r.read(b[size:], layers)
	if n <= 0 {
		return 0, n
	}
	size += n
	switch c {
	case '"', '\\', '/':
		return c, size
	case 'b':
		return '\b', size
	case 'f':
		return '\f', size
	case 'n':
		return '\n', size
	case 'r':
		return '\r', size
	case 't':
		return '\t', size
	case 'u':
	default:
		return 0, -1
	}
	c, n = r.hex(b[size:], layers, 4)
	if n <= 0 {
		return 0, n
	}
	size += n
	if c < 0xD800 || c > 0xDBFF {
		return c, size
	}
	low, n := r.secondHalf(b[size:], layers)
	if n == 0 {
		return 0, 0
	}
	if pair := utf16.DecodeRune(c, low); n > 0 && pair != utf8.RuneError {
		return pair, size + n
	}
	return utf8.RuneError, size // as whoever decodes it has it
}

// secondHalf reads the escape of what may be the second half of a pair of surrogates.
func (r *reading) secondHalf(b []byte, layers int) (c rune, size int) {
	for _, want := range `\u` {
		c, n := r.read(b[size:], layers)
		if n <= 0 {
			return 0, n
		}
		if c != want {
			return 0, -1
		}
		size += n
	}
	c, n := r.hex(b[size:], layers, 4)
	if n <= 0 {
		return 0, n
	}
	return c, size + n
}

// hex reads so many digits of an escape.
func (r *reading) hex(b []byte, layers, digits int) (c rune, size int) {
	for range digits {
		if size == len(b) {
			return 0, 0
		}
		digit, n := rune(b[size]), 1
		if special[b[size]] {
			if digit, n = r.read(b[size:], layers); n <= 0 {
				return 0, n
			}
		}
		size += n
		switch lower := digit | 0x20; {
		case '0' <= digit && digit <= '9':
			c = c<<4 | (digit - '0')
		case 'a' <= lower && lower <= 'f':
			c = c<<4 | (lower - 'a' + 10)
		default:
			return 0, -1
		}
	}
	return c, size
}
