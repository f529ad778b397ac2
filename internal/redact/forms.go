package redact

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// forms returns the ways in which a secret is written, but for how JSON and URLs have them:
// as it is, and, where it came out of a URL, as it was before that.
func forms(s string) []string {
	list := []string{s}
	if plain, err := url.PathUnescape(s); err == nil && plain != s {
		list = append(list, plain)
	}
	for _, form := range slices.Clone(list) {
		if !utf8.ValidString(form) {
			// Nobody decodes it without loss: each byte, or each run of them, is replaced.
			list = append(list, string([]rune(form)), strings.ToValidUTF8(form, "\uFFFD"))
		}
	}
	return list
}
