package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// forms returns the ways in which a secret is written: as it is; as JSON and URLs have
// it; and, where it came out of a URL, as it was before that.
func forms(s string) []string {
	if !strings.ContainsFunc(s, special) {
		return []string{s} // as most are
	}
	list := append(written(s), urlForms(s)...)
	if plain, err := url.PathUnescape(s); err == nil && plain != s {
		list = append(list, written(plain)...)
	}
	return list
}

// special reports whether a character is written in more than one way.
func special(c rune) bool {
	return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.')
}

// written returns s itself and its forms in JSON.
func written(s string) []string {
	list := []string{s}
	for _, form := range jsonForms(s) {
		if form != s {
			// An agent passes on what another program answered it with, which is JSON too.
			list = append(append(list, form), jsonForms(form)...)
		}
	}
	if !utf8.ValidString(s) {
		// Nobody decodes it without loss: each byte, or each run of them, is replaced.
		list = append(list, string([]rune(s)), strings.ToValidUTF8(s, "\uFFFD"))
	}
	return list
}

// urlForms returns how a string stands in the query and in the path of a URL, where that
// differs from the string itself.
func urlForms(s string) []string {
	var list []string
	query := url.QueryEscape(s)
	for _, form := range []string{query, strings.ReplaceAll(query, "+", "%20"), url.PathEscape(s)} {
		if form != s {
			list = append(list, form)
		}
	}
	return list
}

// jsonForms returns how a string stands inside a JSON string: as Go writes it by default
// (<, > and & escaped for HTML), without that, and with everything beyond ASCII escaped,
// as Python does; each also with the slash escaped, as PHP does. JSON has more ways to
// write a string: who wants to hide one can.
func jsonForms(s string) []string {
	var list []string
	for _, html := range []bool{true, false} {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(html)
		if enc.Encode(s) == nil {
			list = append(list, string(b.Bytes()[len(`"`):b.Len()-len(`"`+"\n")]))
		}
	}
	plain := list[len(list)-1]
	list = append(list, ascii(plain, `\u%04x`), ascii(plain, `\u%04X`))
	slices.Sort(list)
	list = slices.Compact(list)
	for _, f := range list {
		if strings.Contains(f, "/") {
			list = append(list, strings.ReplaceAll(f, "/", `\/`))
		}
	}
	return list
}

// ascii escapes what is not ASCII as JSON does, in UTF-16.
func ascii(s, escape string) string {
	var b strings.Builder
	for _, c := range s {
		if c < 0x80 {
			b.WriteRune(c)
			continue
		}
		for _, u := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&b, escape, u)
		}
	}
	return b.String()
}
