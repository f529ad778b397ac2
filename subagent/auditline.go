package subagent

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/errand-acp/errand/internal/visible"
)

// maxAuditLine bounds a line of an audit, in bytes, without its labels.
const maxAuditLine = 64 << 10

// auditCuts are how much is left of the texts, the lists and the nesting of a line that is
// too long: each is tried in turn, and after the last any line is short enough.
var auditCuts = []struct{ bytes, items, depth int }{{4096, 256, 32}, {512, 32, 8}, {48, 4, 2}}

// line returns the record as it is written: without secrets, bounded, in UTF-8, and with
// every character that could be taken for the end of a line, or that would not show,
// escaped.
func (rec AuditRecord) line(labels map[string]string, redact func(string) string) ([]byte, error) {
	rec = mapTexts(rec, textMap{text: redact, items: math.MaxInt, depth: math.MaxInt})
	text, err := rec.encode(nil)
	for _, cut := range auditCuts {
		if err != nil || len(text) <= maxAuditLine {
			break
		}
		rec = mapTexts(rec, textMap{
			text: func(s string) string { return ellipsis(s, cut.bytes) }, words: true, items: cut.items, depth: cut.depth,
		})
		rec.Cut = true
		text, err = rec.encode(nil)
	}
	if err != nil {
		return nil, err
	}
	return rec.encode(labels)
}

func (rec AuditRecord) encode(labels map[string]string) ([]byte, error) {
	rec.Labels = labels
	if labels == nil {
		rec.Labels = map[string]string{}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // commands are to be read
	if err := enc.Encode(rec); err != nil {
		return nil, err
	}
	line := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return append(visible.JSON(line), '\n'), nil
}

// ellipsis returns as much of the beginning of s as has room.
func ellipsis(s string, room int) string {
	if len(s) <= room {
		return s
	}
	for room > 0 && !utf8.RuneStart(s[room]) {
		room--
	}
	return s[:room] + "…"
}

// textMap says how mapTexts changes a value.
type textMap struct {
	text  func(string) string
	words bool // also those that are of a type of their own: words of the protocol or of ours
	items int  // so many of each list and map are kept; ones beyond are left out
	depth int  // of JSON of the agent's; what is below is null
}

// mapTexts returns a deep copy of v with every text in it changed.
func mapTexts[T any](v T, m textMap) T {
	return m.value(reflect.ValueOf(&v).Elem()).Interface().(T)
}

func (m textMap) value(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() || m.words {
			return reflect.ValueOf(m.text(v.String())).Convert(v.Type())
		}
	case reflect.Pointer:
		if !v.IsNil() {
			out := reflect.New(v.Type().Elem())
			out.Elem().Set(m.value(v.Elem()))
			return out
		}
	case reflect.Interface:
		return m.any(v)
	case reflect.Slice:
		if !v.IsNil() {
			n := min(v.Len(), m.items)
			out := reflect.MakeSlice(v.Type(), n, n)
			for i := range n {
				out.Index(i).Set(m.value(v.Index(i)))
			}
			return out
		}
	case reflect.Map:
		if !v.IsNil() {
			keys := v.MapKeys()
			slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
			out := reflect.MakeMap(v.Type())
			for _, key := range keys[:min(len(keys), m.items)] {
				out.SetMapIndex(m.value(key), m.value(v.MapIndex(key)))
			}
			return out
		}
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(m.value(v.Field(i)))
			}
		}
		return out
	}
	return v
}

// any changes decoded JSON.
func (m textMap) any(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	if m.depth--; v.IsNil() || m.depth < 0 {
		return out
	}
	if n, ok := v.Interface().(json.Number); ok {
		// A secret may consist of digits only.
		if text := m.text(string(n)); text != string(n) {
			out.Set(reflect.ValueOf(text))
		} else {
			out.Set(v)
		}
		return out
	}
	out.Set(m.value(v.Elem()))
	return out
}
