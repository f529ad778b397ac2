package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
)

// jsonForms returns how a string stands inside a JSON string, where that differs from
// the string itself: as Go writes it by default (<, > and & escaped for HTML), without
// that, and with everything beyond ASCII escaped, as Python does; each also with the
// slash escaped, as PHP does. JSON has more ways to write a string: who wants to hide
// one can.
func jsonForms(s string) []string {
	var forms []string
	for _, html := range []bool{true, false} {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(html)
		if enc.Encode(s) == nil {
			forms = append(forms, string(b.Bytes()[len(`"`):b.Len()-len(`"`+"\n")]))
		}
	}
	forms = append(forms, ascii(forms[len(forms)-1]))
	for _, f := range forms {
		if strings.Contains(f, "/") {
			forms = append(forms, strings.ReplaceAll(f, "/", `\/`))
		}
	}
	return forms
}

// ascii escapes what is not ASCII as JSON does, in UTF-16.
func ascii(s string) string {
	var b strings.Builder
	for _, c := range s {
		if c < 0x80 {
			b.WriteRune(c)
			continue
		}
		for _, u := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&b, `\u%04x`, u)
		}
	}
	return b.String()
}
