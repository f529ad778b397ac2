package conform

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/errand-acp/errand/client/transcript"
)

// message is a frame taken apart, whatever is wrong with it: package wire reads what can be
// acted on and package replay what can be said again, and here what is wrong is the finding.
// Absent members are nil, others are parts of the frame and no copies: a recording has many.
type message struct {
	jsonrpc, method json.RawMessage

	ID     json.RawMessage
	Method string // empty also where it is no string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

// parseMessage takes a frame apart. What is no frame is a message without members.
func parseMessage(e transcript.Entry) message {
	var m message
	if !members(e.Frame, func(name string, value json.RawMessage) {
		switch name {
		case "jsonrpc":
			m.jsonrpc = value
		case "method":
			m.method = value
		case "id":
			m.ID = value
		case "params":
			m.Params = value
		case "result":
			m.Result = value
		case "error":
			m.Error = value
		}
	}) {
		return message{}
	}
	json.Unmarshal(m.method, &m.Method)
	return m
}

// isRequest, isNotification and isResponse tell the three sorts of messages apart. A
// frame may be none of them.
func (m message) isRequest() bool {
	return m.method != nil && m.ID != nil
}

func (m message) isNotification() bool { return m.method != nil && m.ID == nil }

func (m message) isResponse() bool {
	return m.method == nil && (m.Result != nil || m.Error != nil)
}

// errorCode returns the code of an error response.
func (m message) errorCode() (code int64, ok bool) {
	var e struct {
		Code *json.Number `json:"code"`
	}
	if json.Unmarshal(m.Error, &e) != nil || e.Code == nil {
		return 0, false
	}
	code, err := e.Code.Int64()
	return code, err == nil
}

// isObject, isString and the like say what a JSON value is. Nil is nothing.
func isObject(v json.RawMessage) bool { return begins(v, "{") }
func isArray(v json.RawMessage) bool  { return begins(v, "[") }
func isString(v json.RawMessage) bool { return begins(v, `"`) }
func isNull(v json.RawMessage) bool   { return begins(v, "n") }

func isNumber(v json.RawMessage) bool {
	v = bytes.TrimSpace(v)
	return len(v) > 0 && (v[0] == '-' || v[0] >= '0' && v[0] <= '9')
}

// isInteger takes 1.0 for one, as the schema does.
func isInteger(v json.RawMessage) bool {
	return isNumber(v) && !strings.ContainsAny(canonical(v), ".eE")
}

func begins(v json.RawMessage, with string) bool {
	return bytes.HasPrefix(bytes.TrimSpace(v), []byte(with)) // not as a string: v may be long
}

// hasSomething reports whether there is a value, and more than null or an empty array.
func hasSomething(v json.RawMessage) bool {
	return v != nil && !isNull(v) && !(isArray(v) && len(elements(v)) == 0)
}

// field returns what stands at a path in a JSON value: the names of members one below the
// other. Nil where there is nothing.
func field(v json.RawMessage, path ...string) json.RawMessage {
	for _, name := range path {
		var at json.RawMessage
		if !members(v, func(has string, value json.RawMessage) {
			if has == name {
				at = value
			}
		}) {
			return nil
		}
		v = at
	}
	return v
}

// members calls f with each member of an object, the value a part of v; of two with one name
// the last one counts, as ever. Not ok: v is no object.
func members(v json.RawMessage, f func(name string, value json.RawMessage)) (ok bool) {
	if !isObject(v) {
		return false
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(v), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		return false
	}
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			return false
		}
		name := token.String()
		value, err := d.ReadValue()
		if err != nil {
			return false
		}
		end := d.InputOffset()
		f(name, json.RawMessage(v[end-int64(len(value)):end:end]))
	}
	_, err := d.ReadToken()
	return err == nil
}

// stringField is field for a string; not ok where there is none.
func stringField(v json.RawMessage, path ...string) (s string, ok bool) {
	at := field(v, path...)
	if !isString(at) || json.Unmarshal(at, &s) != nil {
		return "", false
	}
	return s, true
}

// flag reports whether true stands there.
func flag(v json.RawMessage, path ...string) bool {
	return string(bytes.TrimSpace(field(v, path...))) == "true"
}

// elements returns the elements of an array; nil where v is none.
func elements(v json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if !isArray(v) || json.Unmarshal(v, &list) != nil {
		return nil
	}
	return list
}

// sameJSON reports whether two values are the same, however they are written.
func sameJSON(a, b json.RawMessage) bool {
	return canonical(a) != "" && canonical(a) == canonical(b)
}

func canonical(v json.RawMessage) string {
	if isNumber(v) { // 1.0 is 1; a whole number that a float64 cannot hold is itself
		text := string(bytes.TrimSpace(v))
		if _, err := strconv.ParseInt(text, 10, 64); err == nil {
			return text
		}
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return strconv.FormatFloat(f, 'f', -1, 64)
		}
	}
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return ""
	}
	text, _ := json.Marshal(value)
	return string(text)
}
