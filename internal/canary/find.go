package canary

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/errand-acp/errand/internal/redact"
)

// Find looks through v, whatever it is: strings and bytes in it, also in unexported
// fields and behind pointers; of an error its texts, its JSON and all that it wraps. It
// returns where something of the secret is, and what. A fragment counts that is as long
// as the shortest secret that is taken out of anything.
func Find(secret string, v any) []string {
	s := search{fragments: Fragments(secret), seen: map[reflect.Value]bool{}}
	s.walk("", reflect.ValueOf(v))
	return slices.Compact(s.found)
}

// Fragments returns every piece of the secret, as it is and as it stands in JSON, that
// nothing may show.
func Fragments(secret string) []string {
	escaped, _ := json.Marshal(secret) // a string always marshals
	var list []string
	for _, form := range []string{secret, strings.Trim(string(escaped), `"`)} {
		// What spans a line break is never one piece: the lines go one by one.
		for line := range strings.SplitSeq(strings.ReplaceAll(form, `\n`, "\n"), "\n") {
			for i := range len(line) - redact.Shortest + 1 {
				list = append(list, line[i:i+redact.Shortest])
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

type search struct {
	fragments []string
	seen      map[reflect.Value]bool // pointers
	found     []string
}

func (s *search) text(path, text string) {
	for _, fragment := range s.fragments {
		if i := strings.Index(text, fragment); i >= 0 {
			s.found = append(s.found, fmt.Sprintf("%s: %q, in …%.120q", path, fragment, text[max(0, i-40):]))
			return
		}
	}
}

func (s *search) walk(path string, v reflect.Value) {
	if !v.IsValid() {
		return
	}
	if v.CanInterface() {
		if err, ok := v.Interface().(error); ok && (v.Kind() != reflect.Pointer && v.Kind() != reflect.Interface || !v.IsNil()) {
			s.err(path+"(error)", err)
		}
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() || v.Kind() == reflect.Pointer && s.seen[v] {
			return
		}
		if v.Kind() == reflect.Pointer {
			s.seen[v] = true
		}
		s.walk(path, v.Elem())
	case reflect.String:
		s.text(path, v.String())
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if v.Kind() == reflect.Slice {
				s.text(path, string(v.Bytes()))
			}
			return
		}
		for i := range v.Len() {
			s.walk(fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			s.walk(path+"{key}", key)
			s.walk(fmt.Sprintf("%s[%v]", path, key), v.MapIndex(key))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			s.walk(path+"."+v.Type().Field(i).Name, v.Field(i))
		}
	}
}

// err looks at what an error tells in all the ways there are of asking it.
func (s *search) err(path string, err error) {
	for _, verb := range []string{"%v", "%+v", "%#v", "%q", "%s", "%d"} {
		s.text(path+verb, fmt.Sprintf(verb, err))
	}
	if doc, jsonErr := json.Marshal(err); jsonErr == nil {
		s.text(path+" as JSON", string(doc))
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		s.walk(path+".Unwrap()", reflect.ValueOf(e.Unwrap()))
	case interface{ Unwrap() []error }:
		for _, cause := range e.Unwrap() {
			s.walk(path+".Unwrap()", reflect.ValueOf(cause))
		}
	}
}
