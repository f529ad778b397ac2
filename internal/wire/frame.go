package wire

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// version is the value of every frame's jsonrpc member.
const version = `"2.0"`

// frame is what a JSON object says as a JSON-RPC frame. Values are raw JSON, nil
// where the member is missing.
type frame struct {
	// marked is true with a jsonrpc member, whatever version it says: no log line has
	// one.
	marked bool
	// asks is true with a method or params, whatever they are.
	asks        bool
	method      []byte // unquoted; empty if it is missing or no string
	id, params  []byte
	result, err []byte
	parsed      any // what Handler.Parse made of params
}

// parser is offered the params of what may be a notification, at the cursor; nil, and
// they are skipped.
type parser interface {
	parse(method []byte, s *Scan) any
}

// parseFrame reads the object at the cursor. p may be nil. The frame is to be used only
// if ok.
func parseFrame(s *Scan, p parser) (f frame, ok bool) {
	if !s.Object() {
		return f, false
	}
	for name, ok := s.Key(); ok; name, ok = s.Key() {
		if p != nil && f.id == nil && string(name) == "params" {
			s.Kind()
			before := *s
			if f.parsed = p.parse(f.method, s); f.parsed != nil && s.OK() {
				f.asks = true
				f.params = s.text[before.pos:s.pos]
				continue
			}
			*s, f.parsed = before, nil
		}
		value := s.Skip()
		switch string(name) {
		case "jsonrpc":
			f.marked = !isNull(value)
		case "method":
			f.asks, f.method = true, methodName(value)
		case "id":
			f.id = value
		case "params":
			f.asks, f.params, f.parsed = true, value, nil
		case "result":
			f.result = value
		case "error":
			f.err = value
		}
	}
	return f, s.OK()
}

// methodName returns what value says if it is a string.
func methodName(value []byte) []byte {
	if len(value) == 0 || value[0] != '"' {
		return nil
	}
	return unquoted(value)
}

// fails reports whether the frame has an error: not a null one, and not the text
// that a log line may have under that name.
func (f *frame) fails() bool {
	return f.err != nil && !isNull(f.err) && (f.marked || f.err[0] == '{')
}

// isReply reports whether the frame answers something. A peer that writes all members
// always writes null for the ones that do not apply.
func (f *frame) isReply() bool {
	return f.fails() || f.result != nil && (len(f.method) == 0 || !isNull(f.result))
}

// isInvalid reports whether the frame, which is no reply and has no usable method, is a
// request all the same, which JSON-RPC wants answered: it says that it is JSON-RPC,
// has an id, and asks something. A log object with an id does not say so, and what
// has nothing but an id may as well be the reply of a peer that left the result out.
func (f *frame) isInvalid() bool { return f.marked && f.id != nil && f.asks }

func isNull(raw []byte) bool { return string(raw) == "null" }

// ourID returns the number that raw is as an id of ours: a number or a string that
// says one, in any notation.
func ourID(raw []byte) (id int64, ok bool) {
	if len(raw) > 1 && raw[0] == '"' {
		raw = unquoted(raw)
	}
	s := NewScan(raw)
	if len(raw) == 0 || len(raw) > 32 || !isDigit(raw[0]) || !s.number() || len(s.Rest()) > 0 {
		return 0, false
	}
	if id, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return id, true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || f > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// idKey makes ids comparable that are written differently.
func idKey(raw []byte) string {
	if len(raw) > 1 && raw[0] == '"' {
		return `"` + Unquote(raw)
	}
	if id, ok := ourID(raw); ok {
		return strconv.FormatInt(id, 10)
	}
	return string(raw)
}

// mayBeFrame reports whether a line that begins like this may be a frame, or several.
func mayBeFrame(start []byte) bool {
	text := trimLead(start)
	return len(text) == 0 || text[0] == '{' || text[0] == '['
}

// areFrames reports whether text is nothing but objects, one behind the other, that all
// say that they are JSON-RPC: frames of an agent whose threads write them and their line
// ends apart. A log line with a frame in it is none.
func areFrames(text []byte) bool {
	for len(text) > 0 {
		s := NewScan(text)
		f, ok := parseFrame(&s, nil)
		if s.tooMuch {
			s = NewScan(text)
			s.pass()
			less := NewScan(reduce(text[:s.pos]))
			f, ok = parseFrame(&less, nil)
		}
		if !ok || !f.marked {
			return false
		}
		text = trimLead(s.Rest())
	}
	return true
}

// trimLead returns text without what a launcher or a terminal may have put before a
// frame: white space, a byte order mark, control characters, escape sequences.
func trimLead(text []byte) []byte {
	for len(text) > 0 {
		switch {
		case text[0] == 0x1b:
			text = text[escapeLen(text):]
		case text[0] <= ' ' || text[0] == 0x7f:
			text = text[1:]
		case len(text) >= 3 && string(text[:3]) == "\ufeff":
			text = text[3:]
		default:
			return text
		}
	}
	return text
}

// escapeLen returns the length of the terminal escape sequence that text starts
// with (ECMA-48), all of text if it does not end.
func escapeLen(text []byte) int {
	if len(text) < 2 {
		return len(text)
	}
	i := 2
	switch text[1] {
	case '[': // parameters and intermediates, then a final byte
		for i < len(text) && 0x20 <= text[i] && text[i] < 0x40 {
			i++
		}
	case ']', 'P', 'X', '^', '_': // a string up to BEL or ESC \
		for i < len(text) && text[i] != 0x07 {
			if text[i] == 0x1b && i+1 < len(text) && text[i+1] == '\\' {
				i++
				break
			}
			i++
		}
	default: // intermediates, then a final byte
		i = 1
		for i < len(text) && 0x20 <= text[i] && text[i] < 0x30 {
			i++
		}
	}
	return min(i+1, len(text))
}

// validUTF8 returns text with each byte that is not part of UTF-8 replaced, as
// encoding/json does it.
func validUTF8(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	out := make([]byte, 0, len(text)+16)
	for _, r := range string(text) {
		out = utf8.AppendRune(out, r)
	}
	return out
}
