package client

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/internal/wire"
)

// decode reads raw JSON into the value that target points to, as far as it can be
// read: what does not fit its place is left out, and only that. It reports whether raw
// as a whole was of the right shape.
//
// It knows the SDK's types by their json tags. Its unions, structs of which one field
// is set, are read by their discriminator only: the SDK's own decoding guesses where
// that is unknown, and refuses the whole for one odd field.
func decode(raw []byte, target any) bool {
	return len(raw) > 0 && decodeValue(raw, reflect.ValueOf(target).Elem())
}

func decodeValue(raw []byte, v reflect.Value) bool {
	if string(raw) == "null" {
		// Whatever v is now is its default.
		return true
	}
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		if !decodeValue(raw, p.Elem()) {
			return false
		}
		v.Set(p)
		return true
	case reflect.String:
		text, ok := scalar(raw)
		if ok {
			v.SetString(text)
		}
		return ok
	case reflect.Bool:
		text, _ := scalar(raw)
		if text != "true" && text != "false" {
			return false
		}
		v.SetBool(text == "true")
		return true
	case reflect.Int, reflect.Int64, reflect.Int32:
		return decodeInt(raw, v)
	case reflect.Float64:
		text, _ := scalar(raw)
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return false
		}
		v.SetFloat(f)
		return true
	case reflect.Slice:
		if v.Type() == rawMessage {
			v.SetBytes(append([]byte(nil), raw...))
			return true
		}
		return decodeSlice(raw, v)
	case reflect.Struct:
		return decodeStruct(raw, v)
	default: // maps and interfaces hold any JSON
		return json.Unmarshal(raw, v.Addr().Interface()) == nil
	}
}

var rawMessage = reflect.TypeFor[json.RawMessage]()

// scalar returns what a string says, and the text of a number or a boolean: ids and
// counts come as either.
func scalar(raw []byte) (text string, ok bool) {
	switch raw[0] {
	case '"':
		return wire.Unquote(raw), true
	case '{', '[':
		return "", false
	}
	return string(raw), true
}

func decodeInt(raw []byte, v reflect.Value) bool {
	text, ok := scalar(raw)
	if !ok {
		return false
	}
	text = strings.TrimSpace(text)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || !(math.Abs(f) < 1<<63) {
			return false
		}
		n = int64(f)
	}
	if v.OverflowInt(n) {
		return false
	}
	v.SetInt(n)
	return true
}

func decodeSlice(raw []byte, v reflect.Value) bool {
	s := wire.NewScan(raw)
	if !s.Array() {
		return false
	}
	list := reflect.MakeSlice(v.Type(), 0, 0)
	for s.Elem() {
		element := reflect.New(v.Type().Elem()).Elem()
		raw := s.Skip()
		if raw != nil && string(raw) != "null" && decodeValue(raw, element) {
			list = reflect.Append(list, element)
		}
	}
	v.Set(list)
	return s.OK()
}

func decodeStruct(raw []byte, v reflect.Value) bool {
	if custom := customs[v.Type()]; custom != nil {
		return custom(raw, v)
	}
	s := wire.NewScan(raw)
	if !s.Object() {
		return false
	}
	shape := shapeOf(v.Type())
	if shape.union {
		return decodeUnion(raw, v, shape)
	}
	if shape.defaults {
		v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON([]byte("{}"))
	}
	for name, ok := s.Key(); ok; name, ok = s.Key() {
		value := s.Skip()
		if i, ok := shape.fields[string(name)]; ok && value != nil {
			decodeValue(value, v.Field(i))
		}
	}
	return s.OK()
}

// shape is what decode needs to know of a struct type.
type shape struct {
	// fields are by their name in JSON, of a union by the discriminator's value.
	fields map[string]int
	// union is true for a struct of which one field is set.
	union bool
	// defaults is true where the type's own decoding fills in what is missing.
	defaults bool
}

var shapes sync.Map // of *shape by reflect.Type

func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s := &shape{fields: map[string]int{}}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			s.fields[name] = i
		}
	}
	if s.union = len(s.fields) == 0 && t.NumField() > 0; s.union {
		for i := range t.NumField() {
			s.fields[snake(t.Field(i).Name)] = i
		}
	}
	s.defaults = !s.union && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
	shapes.Store(t, s)
	return s
}

// discriminators name the member that says which variant of a union an object is;
// "type" where the union is not listed.
var discriminators = map[reflect.Type]string{
	reflect.TypeFor[acp.SessionUpdate]():                    "sessionUpdate",
	reflect.TypeFor[acp.RequestPermissionOutcome]():         "outcome",
	reflect.TypeFor[acp.UnstableCreateElicitationRequest](): "mode",
}

// decodeUnion sets the field of v that the discriminator names: ToolCall for tool_call.
func decodeUnion(raw []byte, v reflect.Value, s *shape) bool {
	if v.NumField() == 1 {
		return decodeValue(raw, v.Field(0))
	}
	key, ok := discriminators[v.Type()]
	if !ok {
		key = "type"
	}
	name := member(raw, key)
	if name == "" && v.Type() == reflect.TypeFor[acp.AuthMethod]() {
		name = "agent" // what it is without a type, says the schema
	}
	i, ok := s.fields[name]
	if !ok {
		return false
	}
	v.SetZero() // what came before under the same name may be another variant
	return decodeValue(raw, v.Field(i))
}

// member returns a member of an object if it is a string.
func member(raw []byte, key string) (text string) {
	s := wire.NewScan(raw)
	s.Object()
	for name, ok := s.Key(); ok; name, ok = s.Key() {
		value := s.Skip()
		if string(name) == key && len(value) > 0 && value[0] == '"' {
			text = wire.Unquote(value)
		}
	}
	return text
}

// snake writes a Go name in the notation of JSON: tool_call for ToolCall.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// customs decode the unions that have no discriminator.
var customs map[reflect.Type]func(raw []byte, v reflect.Value) bool

func init() {
	customs = map[reflect.Type]func([]byte, reflect.Value) bool{
		reflect.TypeFor[acp.EmbeddedResourceResource](): func(raw []byte, v reflect.Value) bool {
			if has(raw, "blob") {
				return decodeValue(raw, v.FieldByName("BlobResourceContents"))
			}
			return has(raw, "text") && decodeValue(raw, v.FieldByName("TextResourceContents"))
		},
		reflect.TypeFor[acp.SessionConfigSelectOptions](): func(raw []byte, v reflect.Value) bool {
			s := wire.NewScan(raw)
			if s.Array() && s.Elem() && has(s.Skip(), "group") {
				return decodeValue(raw, v.FieldByName("Grouped"))
			}
			return decodeValue(raw, v.FieldByName("Ungrouped"))
		},
		reflect.TypeFor[acp.ContentBlock](): decodeBlock,
	}
}

// decodeBlock reads a content block. Agents send the bare text in its place, or a list
// of blocks, as other protocols have it: what that says is a block of text.
func decodeBlock(raw []byte, v reflect.Value) bool {
	switch raw[0] {
	case '"':
		v.Set(reflect.ValueOf(acp.TextBlock(wire.Unquote(raw))))
		return true
	case '[':
		s := wire.NewScan(raw)
		var text []byte
		found := false
		for s.Array(); s.Elem(); {
			var element acp.ContentBlock
			raw := s.Skip()
			if len(raw) == 0 || raw[0] == '[' || !decode(raw, &element) || element.Text == nil {
				continue
			}
			text, found = append(text, element.Text.Text...), true
		}
		if !found || !s.OK() {
			return false
		}
		v.Set(reflect.ValueOf(acp.TextBlock(string(text))))
		return true
	}
	return decodeUnion(raw, v, shapeOf(v.Type()))
}

// has reports whether raw is an object with a member of that name.
func has(raw []byte, key string) bool {
	s := wire.NewScan(raw)
	s.Object()
	for name, ok := s.Key(); ok; name, ok = s.Key() {
		if string(name) == key {
			return true
		}
		s.Skip()
	}
	return false
}
