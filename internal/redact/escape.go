package redact

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// levels is how often a text may be a JSON string within another one: an agent passes on
// what a program answered it with.
const levels = 2

// match returns how much of b, from its beginning on, is the secret s: 0 if it does not
// begin with it. Each character of it may be escaped in any way that JSON has. open says
// that b ends within what may be the secret.
func match(b []byte, s string) (n int, open bool) {
	i := min(len(b), len(s))
	if escape := bytes.IndexByte(b[:i], '\\'); escape >= 0 {
		i = escape
	}
	switch {
	case string(b[:i]) != s[:i]:
		return 0, false
	case i == len(s):
		return i, false
	case i == len(b):
		return 0, true
	}
	for level := range levels + 1 {
		m, o := matchAt(b[i:], s[i:], level)
		if m > 0 {
			n = max(n, i+m)
		}
		open = open || o
	}
	return n, open
}

// matchAt is match for one way of reading b: as so many JSON strings within each other.
func matchAt(b []byte, s string, level int) (n int, open bool) {
	for s != "" {
		switch {
		case n == len(b):
			return 0, true
		case b[n] != '\\' || level == 0:
			if b[n] != s[0] {
				return 0, false
			}
			n, s = n+1, s[1:]
			continue
		}
		c, size := read(b[n:], level)
		if size <= 0 {
			return 0, size == 0
		}
		var buf [utf8.UTFMax]byte
		rest, ok := strings.CutPrefix(s, string(utf8.AppendRune(buf[:0], c)))
		if !ok {
			return 0, false
		}
		n, s = n+size, rest
	}
	return n, false
}

// read returns the first character of b, which is the text of a JSON string within so many
// others, and how many bytes that takes: 0 if b ends within it, less if there is none like
// that. The bytes of a character that is not escaped come one by one, and are only good for
// being compared with ASCII.
func read(b []byte, level int) (c rune, size int) {
	switch {
	case len(b) == 0:
		return 0, 0
	case level == 0 || b[0] != '\\':
		return rune(b[0]), 1
	}
	c, size = read(b, level-1)
	if size <= 0 || c != '\\' {
		return c, size
	}
	c, n := read(b[size:], level-1)
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
	c, n = hex(b[size:], level-1)
	if n <= 0 {
		return 0, n
	}
	size += n
	if c < 0xD800 || c > 0xDBFF {
		return c, size
	}
	low, n := secondHalf(b[size:], level-1)
	if n == 0 {
		return 0, 0
	}
	if pair := utf16.DecodeRune(c, low); n > 0 && pair != utf8.RuneError {
		return pair, size + n
	}
	return utf8.RuneError, size // as whoever decodes it has it
}

// secondHalf reads the escape of what may be the second half of a pair of surrogates.
func secondHalf(b []byte, level int) (c rune, size int) {
	for _, want := range `\u` {
		c, n := read(b[size:], level)
		if n <= 0 {
			return 0, n
		}
		if c != want {
			return 0, -1
		}
		size += n
	}
	c, n := hex(b[size:], level)
	if n <= 0 {
		return 0, n
	}
	return c, size + n
}

// hex reads the four digits of an escape.
func hex(b []byte, level int) (c rune, size int) {
	for range 4 {
		digit, n := read(b[size:], level)
		if n <= 0 {
			return 0, n
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
