package replay

import (
	"bytes"
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"github.com/errand-acp/errand/internal/wire"
)

// frame is a JSON-RPC message in its own text. Values are raw JSON, nil where the member
// is missing.
type frame struct {
	text                []byte
	method              string // empty where it is missing or no string
	id, params          []byte
	result, err         []byte // err is nil for null too
	idStart, idEnd      int    // where the id stands in text
	asks                bool   // with a method of any kind
	session, newSession string // params.sessionId, result.sessionId
}

// maxBatched bounds the messages in arrays: each takes a hundred times the memory of its text.
const maxBatched = 100_000

// frames returns the messages of a line or an entry: one, or those of an array. ok is
// false for anything that is no message, and for an array of more than maxBatched.
func frames(text []byte) (list []frame, ok bool) {
	s := wire.NewScan(text)
	if !s.Array() {
		f, ok := parseFrame(text)
		return []frame{f}, ok
	}
	for s.Elem() {
		s.Kind() // past the white space
		f, ok := parseFrame(s.Skip())
		if !ok || len(list) == maxBatched {
			return nil, false
		}
		list = append(list, f)
	}
	return list, s.End() && len(list) > 0
}

// batched returns how many messages of a text are in an array.
func batched(text []byte) (n int) {
	s := wire.NewScan(text)
	if s.Kind() != '[' || !s.Array() {
		return 0
	}
	for s.Elem() {
		s.Skip()
		n++
	}
	return n
}

// parseFrame reads a text that is one object.
func parseFrame(text []byte) (f frame, ok bool) {
	f.text = text
	s := wire.NewScan(text)
	if !s.Object() {
		return f, false
	}
	for name, more := s.Key(); more; name, more = s.Key() {
		s.Kind()
		value := s.Skip()
		switch string(name) {
		case "method":
			f.asks = true
			if len(value) > 0 && value[0] == '"' {
				f.method = wire.Unquote(value)
			}
		case "id":
			f.id = value
			f.idEnd = len(text) - len(s.Rest())
			f.idStart = f.idEnd - len(value)
		case "params":
			f.params = value
			f.session = sessionOf(value)
		case "result":
			f.result = value
			f.newSession = sessionOf(value)
		case "error":
			if string(value) != "null" {
				f.err = value
			}
		}
	}
	return f, s.End()
}

// sessionOf returns the member sessionId of an object.
func sessionOf(object []byte) string { return member(object, "sessionId") }

// member returns the text that an object has under this name; empty where it has none.
func member(object []byte, want string) string {
	s := wire.NewScan(object)
	if !s.Object() {
		return ""
	}
	for name, more := s.Key(); more; name, more = s.Key() {
		if string(name) == want {
			text, _ := s.Text()
			return text
		}
		s.Skip()
	}
	return ""
}

// isRequest reports whether an answer is expected to f.
func (f *frame) isRequest() bool { return f.asks && f.id != nil }

// isReply reports whether f answers a request.
func (f *frame) isReply() bool { return !f.asks && f.id != nil && (f.result != nil || f.err != nil) }

// isOptional reports whether f is a notification that the other side may ignore, such as
// $/cancel_request: whether it is sent may depend on what comes first.
func (f *frame) isOptional() bool { return f.id == nil && strings.HasPrefix(f.method, "$/") }

// withID returns the text of f with another id.
func (f *frame) withID(id []byte) []byte {
	return bytes.Join([][]byte{f.text[:f.idStart], id, f.text[f.idEnd:]}, nil)
}

// idKey makes ids comparable that say the same number, as a number, as a string of digits or
// as a float, and numbers otherwise.
func idKey(id []byte) string {
	text := string(id)
	if strings.HasPrefix(text, `"`) {
		if text = wire.Unquote(id); !digits.MatchString(text) {
			return `"` + text
		}
	}
	if text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return text
	}
	return number(text)
}

// digits is a whole number as JSON has it.
var digits = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)$`)

// number writes a JSON number so that the same one looks the same. A whole one is exact, since
// ids may be larger than a float can tell apart; any other is the float that a program makes of
// it.
func number(text string) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	unsigned := strings.TrimLeft(strings.TrimPrefix(whole, "-")+fraction, "0")
	short := strings.TrimRight(unsigned, "0")
	if short == "" {
		return "0"
	}
	tens, err := strconv.Atoi(cmp.Or(exponent, "0"))
	if err != nil {
		return text // larger, or smaller, than any
	}
	if tens += len(unsigned) - len(short) - len(fraction); tens < 0 {
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return strconv.FormatFloat(f, 'g', -1, 64)
		}
	}
	if whole[0] == '-' {
		short = "-" + short
	}
	return short + "e" + strconv.Itoa(tens)
}

// likewise writes the live id in the form in which the recorded reply had the recorded
// request's: an agent that answers 3 with "3" or 3.0 does so again.
func likewise(live, asked, replied []byte) []byte {
	switch {
	case len(live) == 0 || live[0] == '"' || string(asked) == string(replied) || string(live) == "null":
		return live
	case len(replied) > 0 && replied[0] == '"':
		return []byte(strconv.Quote(string(live)))
	case strings.HasSuffix(string(replied), ".0") && !bytes.ContainsAny(live, ".eE"):
		return append(bytes.Clone(live), ".0"...)
	}
	return live
}
