package wire

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth bounds how deep the members of a frame may nest, as encoding/json does, and
// maxValues how many values arrays and objects may hold in all: each takes far more
// memory than its text once it is decoded. Of a frame with more only what it cannot do
// without is read, see reduce; if that is more too it is treated as one that is too large.
const maxDepth = 10_000

var maxValues = 1 << 20 // a variable for the tests

// Scan is a cursor over one JSON text that is whole in memory. It checks the
// grammar of what it passes, tolerates duplicate names, and takes bytes beyond ASCII
// as they are. Once something was malformed every method fails and End is false.
type Scan struct {
	text []byte
	pos  int
	// first is true from the opening of an object or array to its first member.
	first bool
	bad   bool
	// values counts what arrays and objects hold; tooMuch is bad because of maxValues or
	// maxDepth.
	values  int
	tooMuch bool
}

// NewScan returns a cursor at the start of text, which it neither changes nor keeps.
func NewScan(text []byte) Scan { return Scan{text: text} }

// Kind returns the first byte of the next value without passing it, or 0 at the end.
func (s *Scan) Kind() byte {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; c {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// Object passes the opening of an object; false if the next value is none.
func (s *Scan) Object() bool { return s.open('{') }

// Array passes the opening of an array; false if the next value is none.
func (s *Scan) Array() bool { return s.open('[') }

func (s *Scan) open(brace byte) bool {
	if s.bad || s.Kind() != brace {
		return false
	}
	s.pos++
	s.first = true
	return true
}

// Key passes the name of the next member of the object the cursor is in, and the
// colon. It passes the end of the object and returns false after the last one. The
// name is valid as long as the text is.
func (s *Scan) Key() (name []byte, ok bool) {
	// Without white space and escapes, as nearly all is written.
	if i := s.pos; !s.bad {
		if !s.first && i < len(s.text) && s.text[i] == ',' {
			i++
		}
		if i < len(s.text) && s.text[i] == '"' && (s.first || i > s.pos) {
			start := i + 1
			for i = start; i < len(s.text) && plain[s.text[i]]; i++ {
			}
			if i+1 < len(s.text) && s.text[i] == '"' && s.text[i+1] == ':' {
				s.pos, s.first = i+2, false
				return s.text[start:i], true
			}
		}
	}
	if !s.more('}') {
		return nil, false
	}
	raw := s.raw()
	if s.bad || s.Kind() != ':' {
		s.bad = true
		return nil, false
	}
	s.pos++
	return unquoted(raw), true
}

// Elem reports whether the array the cursor is in has another element, at which the
// cursor then stands. It passes the end of the array otherwise.
func (s *Scan) Elem() bool { return s.more(']') }

func (s *Scan) more(end byte) bool {
	if s.bad {
		return false
	}
	c := s.Kind()
	first := s.first
	s.first = false
	switch {
	case c == end:
		s.pos++
		return false
	case first:
		return true
	case c == ',':
		s.pos++
		return true
	}
	s.bad = true
	return false
}

// raw passes a string and returns it with its quotes.
func (s *Scan) raw() []byte {
	if s.Kind() != '"' {
		s.bad = true
		return nil
	}
	start := s.pos
	if !s.str() {
		s.bad = true
		return nil
	}
	return s.text[start:s.pos]
}

// String passes the next value and returns it, with its quotes, if it is a string; nil
// for any other.
func (s *Scan) String() []byte {
	if s.Kind() != '"' {
		s.Skip()
		return nil
	}
	return s.raw()
}

// Text passes a string and returns what it says; false, and nothing is passed, if
// the next value is none.
func (s *Scan) Text() (string, bool) {
	if s.bad || s.Kind() != '"' {
		return "", false
	}
	return string(unquoted(s.raw())), !s.bad
}

// Skip passes the next value, whatever it is, and returns its text, which is valid
// as long as the scanned one is; nil if it is malformed.
func (s *Scan) Skip() []byte {
	if s.bad {
		return nil
	}
	s.Kind()
	start := s.pos
	if !s.value(0) {
		s.bad = true
		return nil
	}
	s.first = false
	return s.text[start:s.pos]
}

// pass passes the next value, however much it holds, and reports whether it could. What
// is too much for Skip is not checked but for its brackets and strings.
func (s *Scan) pass() bool {
	s.values = 0
	before := *s
	if s.Skip() == nil && s.tooMuch {
		*s = before
		s.bulk()
	}
	return !s.bad
}

// Pass passes n bytes that are known to be a whole value.
func (s *Scan) Pass(n int) {
	s.pos += n
	s.first = false
}

// Rest returns what has not been passed.
func (s *Scan) Rest() []byte { return s.text[s.pos:] }

// OK reports whether nothing malformed was met.
func (s *Scan) OK() bool { return !s.bad }

// End reports whether nothing malformed was met and only white space is left.
func (s *Scan) End() bool { return s.Kind() == 0 && s.pos == len(s.text) && !s.bad }

// Unquote returns what a JSON string says; raw is the string with its quotes, as
// Skip returned it. Halves of surrogate pairs are replaced.
func Unquote(raw []byte) string { return string(unquoted(raw)) }

// unquoted returns a part of raw where nothing is escaped.
func unquoted(raw []byte) []byte {
	if len(raw) < 2 {
		return nil
	}
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	// The error only says that something was replaced.
	text, _ := jsontext.AppendUnquote(make([]byte, 0, len(raw)), raw)
	return text
}

func (s *Scan) value(depth int) bool {
	switch c := s.Kind(); c {
	case '"':
		return s.str()
	case '{':
		return s.container(depth, '}')
	case '[':
		return s.container(depth, ']')
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		return (c == '-' || isDigit(c)) && s.number()
	}
}

func (s *Scan) container(depth int, end byte) bool {
	if depth == maxDepth {
		s.tooMuch = true
		return false
	}
	s.pos++
	for first := true; ; first = false {
		switch c := s.Kind(); {
		case c == end:
			s.pos++
			return true
		case first:
		case c == ',':
			s.pos++
		default:
			return false
		}
		if s.values++; s.values > maxValues {
			s.tooMuch = true
			return false
		}
		if end == '}' {
			if s.Kind() != '"' || !s.str() || s.Kind() != ':' {
				return false
			}
			s.pos++
		}
		if !s.value(depth + 1) {
			return false
		}
	}
}

// plain tells the bytes that stand for themselves in a string.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return t
}()

// str passes a string; the cursor is at its opening quote.
func (s *Scan) str() bool {
	text, i := s.text, s.pos+1
	for {
		for i+8 <= len(text) {
			special := notPlain(binary.LittleEndian.Uint64(text[i:]))
			i += bits.TrailingZeros64(special) / 8
			if special != 0 {
				break
			}
		}
		for i < len(text) && plain[text[i]] {
			i++
		}
		if i >= len(text) {
			return false
		}
		switch text[i] {
		case '"':
			s.pos = i + 1
			return true
		case '\\':
			n := escape(text[i:])
			if n == 0 {
				return false
			}
			i += n
		default:
			return false
		}
	}
}

// notPlain has a bit set in the first of eight bytes that is not plain, and none before
// it; none at all if all are plain.
func notPlain(word uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	quote, backslash := word^('"'*ones), word^('\\'*ones)
	control := (word - 0x20*ones) & ^word
	return (control | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
}

// escape returns the length of the escape sequence that text starts with, 0 if it
// is none.
func escape(text []byte) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(text) < 6 {
			return 0
		}
		for _, c := range text[2:6] {
			if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
				return 0
			}
		}
		return 6
	}
	return 0
}

func (s *Scan) literal(word string) bool {
	if len(s.text)-s.pos < len(word) || string(s.text[s.pos:s.pos+len(word)]) != word {
		return false
	}
	s.pos += len(word)
	return true
}

func (s *Scan) number() bool {
	if s.text[s.pos] == '-' {
		s.pos++
	}
	// A leading zero stands alone.
	if s.pos < len(s.text) && s.text[s.pos] == '0' {
		s.pos++
	} else if !s.digits() {
		return false
	}
	if s.pos < len(s.text) && s.text[s.pos] == '.' {
		s.pos++
		if !s.digits() {
			return false
		}
	}
	if s.pos < len(s.text) && s.text[s.pos]|0x20 == 'e' {
		s.pos++
		if s.pos < len(s.text) && (s.text[s.pos] == '+' || s.text[s.pos] == '-') {
			s.pos++
		}
		return s.digits()
	}
	return true
}

func (s *Scan) digits() bool {
	start := s.pos
	for s.pos < len(s.text) && isDigit(s.text[s.pos]) {
		s.pos++
	}
	return s.pos > start
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
