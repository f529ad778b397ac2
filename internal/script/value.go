package script

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// value is an argument as written: literal text with $names in it.
type value struct {
	kind  tokenKind
	parts []part
}

// part is a piece of literal text, or the name of a variable.
type part struct {
	text   string
	name   string
	quoted bool // a variable inside a JSON string: it is escaped, not a value of its own
}

// lookup returns a variable's value as JSON, or nil if it has none.
type lookup func(name string) json.RawMessage

var variablePattern = regexp.MustCompile(`^\$(?:\$|\{([A-Za-z_][A-Za-z0-9_.]*)\}|([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*))`)

func newValue(tok token) value {
	v := value{kind: tok.kind}
	src := tok.text
	inString := false
	literal := 0
	flush := func(to int) {
		if to > literal {
			v.parts = append(v.parts, part{text: src[literal:to]})
		}
	}
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '"':
			inString = !inString
		case '\\':
			if tok.kind == jsonToken {
				i++
			}
		case '$':
			m := variablePattern.FindStringSubmatch(src[i:])
			if m == nil {
				continue
			}
			flush(i)
			if m[0] == "$$" {
				v.parts = append(v.parts, part{text: "$"})
			} else {
				v.parts = append(v.parts, part{name: m[1] + m[2], quoted: inString})
			}
			i += len(m[0]) - 1
			literal = i + 1
		}
	}
	flush(len(src))
	return v
}

// names returns the variables in v.
func (v value) names() []string {
	var names []string
	for _, p := range v.parts {
		if p.name != "" {
			names = append(names, p.name)
		}
	}
	return names
}

// constant reports whether v has no variable in it.
func (v value) constant() bool { return len(v.names()) == 0 }

// text is v as a text.
func (v value) text(vars lookup) string {
	if v.kind == jsonToken {
		return string(v.jsonText(vars))
	}
	var b strings.Builder
	for _, p := range v.parts {
		if p.name == "" {
			b.WriteString(p.text)
		} else {
			b.WriteString(textOf(vars(p.name)))
		}
	}
	return b.String()
}

// json is v as a JSON value. Text in quotes is a JSON string; a bare word is what it
// says: null, 12, or a variable's own value. JSON as written was checked by the parser,
// and stays JSON whatever the variables are.
func (v value) json(vars lookup) (json.RawMessage, error) {
	switch {
	case v.kind == jsonToken:
		return v.jsonText(vars), nil
	case v.kind == textToken:
		return quote(v.text(vars)), nil
	case len(v.parts) == 1 && v.parts[0].name != "":
		return orNull(vars(v.parts[0].name)), nil
	}
	src := json.RawMessage(v.text(vars))
	return src, notJSON(src)
}

// notJSON returns an error that says why b is no JSON, or nil.
func notJSON(b []byte) error {
	var v json.RawMessage
	if err := json.Unmarshal(b, &v); err != nil {
		return fmt.Errorf("this is not JSON: %w: %.60s", err, b)
	}
	return nil
}

func (v value) jsonText(vars lookup) []byte {
	var b []byte
	for _, p := range v.parts {
		raw := json.RawMessage(nil)
		if p.name != "" {
			raw = vars(p.name)
		}
		switch {
		case p.name == "":
			b = append(b, p.text...)
		case !p.quoted:
			b = append(b, orNull(raw)...)
		case len(raw) > 0 && raw[0] == '"':
			b = append(b, raw[1:len(raw)-1]...)
		default:
			q := quote(textOf(raw))
			b = append(b, q[1:len(q)-1]...)
		}
	}
	return b
}

// compact leaves out the blanks between the tokens of v's JSON, so that it is a frame
// of one line.
func (v value) compact() value {
	if v.kind != jsonToken {
		return v
	}
	inString := false
	for i, p := range v.parts {
		b := make([]byte, 0, len(p.text))
		for j := 0; j < len(p.text); j++ {
			c := p.text[j]
			if !inString && strings.IndexByte(" \t\r\n", c) >= 0 {
				continue
			}
			b = append(b, c)
			switch {
			case c == '"':
				inString = !inString
			case c == '\\' && j+1 < len(p.text):
				j++
				b = append(b, p.text[j])
			}
		}
		v.parts[i].text = string(b)
	}
	return v
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// textOf is a JSON value as a text: a string's content, nothing for null, else the
// JSON itself.
func textOf(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// quote makes a JSON string of s. Bytes that are not UTF-8 stay as they are: that is
// what a script that has them is for, and what encoding/json would not let out.
func quote(s string) []byte {
	if utf8.ValidString(s) {
		b, _ := json.Marshal(s)
		return b
	}
	b := []byte{'"'}
	for len(s) > 0 {
		n := 0
		for n < len(s) {
			r, size := utf8.DecodeRuneInString(s[n:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			n += size
		}
		if n > 0 {
			q, _ := json.Marshal(s[:n])
			b = append(b, q[1:len(q)-1]...)
		}
		for n < len(s) {
			r, size := utf8.DecodeRuneInString(s[n:])
			if r != utf8.RuneError || size != 1 {
				break
			}
			b = append(b, s[n])
			n++
		}
		s = s[n:]
	}
	return append(b, '"')
}

// dig walks from a JSON value along field names and indexes.
func dig(raw json.RawMessage, path []string) json.RawMessage {
	for _, name := range path {
		var object map[string]json.RawMessage
		var array []json.RawMessage
		var index int
		switch {
		case json.Unmarshal(raw, &object) == nil:
			raw = object[name]
		case json.Unmarshal(raw, &array) == nil:
			if _, err := fmt.Sscan(name, &index); err != nil || index < 0 || index >= len(array) {
				return nil
			}
			raw = array[index]
		default:
			return nil
		}
	}
	return raw
}

// overlay lays the fields of over on base, object by object.
func overlay(base, over json.RawMessage) json.RawMessage {
	var b, o map[string]json.RawMessage
	if json.Unmarshal(over, &o) != nil || json.Unmarshal(base, &b) != nil || o == nil || b == nil {
		return over
	}
	for name, value := range o {
		if old, ok := b[name]; ok {
			value = overlay(old, value)
		}
		b[name] = value
	}
	merged, err := json.Marshal(b)
	if err != nil {
		return over
	}
	return merged
}
