package redact

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// forms returns the ways in which a secret is written, but for how JSON has them: as it is;
// as URLs have it; and, where it came out of a URL, as it was before that.
func forms(s string) []string {
	if !strings.ContainsFunc(s, special) {
		return []string{s} // as most are
	}
	list := append([]string{s}, urlForms(s)...)
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

// special reports whether a character is written in more than one way.
func special(c rune) bool {
	return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.')
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
