package conform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// shape says what a JSON value has to look like. It is data, see shapes.go, and no
// JSON Schema: only what the protocol's messages need. Fields that a shape does not
// name are fine, as is a null for a field that may be left out.
type shape struct {
	is       kind
	needs    fields   // of an object: what must be there
	may      fields   // of an object: what may be there
	of       *shape   // of an array: its elements
	by       string   // of a union: the field that tells its variants apart
	variants fields   // of a union: the object for each value of that field
	either   []*shape // of a choice: one of them must fit
	known    []string // of a string: the values that the schema lists
}

type fields map[string]*shape

type kind string

const (
	kindAny     kind = "any value"
	kindObject  kind = "an object"
	kindArray   kind = "an array"
	kindString  kind = "a string"
	kindBool    kind = "a boolean"
	kindNumber  kind = "a number"
	kindCount   kind = "a whole number from 0" // the schema's uint32 and uint64
	kindInteger kind = "a whole number"
	kindUnion   kind = "an object of a known kind"
	kindChoice  kind = "one of several"
)

// has reports whether an object has one of the fields that the shape names.
func (s *shape) has(raw json.RawMessage) bool {
	for _, named := range []fields{s.needs, s.may} {
		for name := range named {
			if at := field(raw, name); at != nil && !isNull(at) {
				return true
			}
		}
	}
	return false
}

// misfit is one place where a value is not of its shape.
type misfit struct {
	path    string // "params.update.entries[0].status"
	what    string // "is missing"
	unknown bool   // of the right type, but a value that the schema does not list
}

func (m misfit) String() string { return m.path + " " + m.what }

// misfits lists where raw is not of the shape; path is what raw itself is called.
func (s *shape) misfits(path string, raw json.RawMessage) []misfit {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return []misfit{{path: path, what: "is missing"}}
	}
	return s.check(path, v)
}

func (s *shape) check(path string, v any) []misfit {
	if !s.is.fits(v) {
		return []misfit{{path: path, what: "is " + typeName(v) + ", not " + string(s.is)}}
	}
	switch s.is {
	case kindObject:
		return s.checkFields(path, v.(map[string]any))
	case kindArray:
		var all []misfit
		for i, element := range v.([]any) {
			all = append(all, s.of.check(fmt.Sprintf("%s[%d]", path, i), element)...)
		}
		return all
	case kindString:
		if text := v.(string); s.known != nil && !slices.Contains(s.known, text) {
			return []misfit{{path, fmt.Sprintf("is %q, which the schema does not list", text), true}}
		}
	case kindUnion:
		object := v.(map[string]any)
		tag, there := object[s.by]
		name, isText := tag.(string)
		switch variant, known := s.variants[name]; {
		case !there:
			return []misfit{{path: dot(path, s.by), what: "is missing"}}
		case !isText:
			return []misfit{{path: dot(path, s.by), what: "is " + typeName(tag) + ", not a string"}}
		case !known:
			return []misfit{{dot(path, s.by), fmt.Sprintf("is %q, which the schema does not list", name), true}}
		default:
			return variant.check(path, v)
		}
	case kindChoice:
		return s.checkChoice(path, v)
	}
	return nil
}

func (s *shape) checkFields(path string, object map[string]any) []misfit {
	var all []misfit
	for _, name := range sortedKeys(s.needs) {
		if v, there := object[name]; there {
			all = append(all, s.needs[name].check(dot(path, name), v)...)
		} else {
			all = append(all, misfit{path: dot(path, name), what: "is missing"})
		}
	}
	for _, name := range sortedKeys(s.may) {
		if v := object[name]; v != nil && s.needs[name] == nil {
			all = append(all, s.may[name].check(dot(path, name), v)...)
		}
	}
	return all
}

// checkChoice reports the misfits of the alternative that comes closest.
func (s *shape) checkChoice(path string, v any) []misfit {
	var closest []misfit
	for i, alternative := range s.either {
		found := alternative.check(path, v)
		if len(found) == 0 {
			return nil
		}
		if i == 0 || len(found) < len(closest) {
			closest = found
		}
	}
	return closest
}

func (k kind) fits(v any) bool {
	switch k {
	case kindObject, kindUnion:
		_, ok := v.(map[string]any)
		return ok
	case kindArray:
		_, ok := v.([]any)
		return ok
	case kindString:
		_, ok := v.(string)
		return ok
	case kindBool:
		_, ok := v.(bool)
		return ok
	case kindNumber:
		_, ok := v.(json.Number)
		return ok
	case kindInteger, kindCount:
		n, ok := v.(json.Number)
		f, err := strconv.ParseFloat(string(n), 64)
		return ok && err == nil && f == math.Trunc(f) && (k == kindInteger || f >= 0)
	}
	return true
}

func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return string(kindObject)
	case []any:
		return string(kindArray)
	case string:
		return string(kindString)
	case bool:
		return string(kindBool)
	case json.Number:
		return "the number " + string(v)
	}
	return "something else"
}

func dot(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func sortedKeys(f fields) []string {
	names := make([]string, 0, len(f))
	for name := range f {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// say joins what is wrong into one sentence, the first few of it.
func say(all []misfit) string {
	const most = 3
	parts := make([]string, 0, most+1)
	for _, m := range all[:min(most, len(all))] {
		parts = append(parts, m.String())
	}
	if len(all) > most {
		parts = append(parts, fmt.Sprintf("and %d more", len(all)-most))
	}
	return strings.Join(parts, "; ")
}
