package redact

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/errand-acp/errand/internal/check"
)

// naive is the Redactor in its simplest form: mark every byte of every occurrence,
// then write each marked run as one Mark. cut marks the beginning of one at the end too.
func naive(patterns []string, s string, cut bool) string {
	secret := make([]bool, len(s))
	for _, p := range patterns {
		for i := range len(s) - len(p) + 1 {
			if s[i:i+len(p)] == p {
				for j := range len(p) {
					secret[i+j] = true
				}
			}
		}
	}
	for i := range len(s) - Shortest + 1 {
		if cut && slices.ContainsFunc(patterns, func(p string) bool { return strings.HasPrefix(p, s[i:]) }) {
			for j := i; j < len(s); j++ {
				secret[j] = true
			}
		}
	}
	var b strings.Builder
	for i := range len(s) {
		switch {
		case !secret[i]:
			b.WriteByte(s[i])
		case i == 0 || !secret[i-1]:
			b.WriteString(Mark)
		}
	}
	return b.String()
}

// FuzzRedact compares String, Bytes and a Writer that is fed in arbitrary pieces with
// the naive form, checks that the Writer holds nothing but the beginning of a secret,
// and that no secret survives in any of the forms in which it is looked for.
func FuzzRedact(f *testing.F) {
	f.Add("hunter2hunter2|abcdefgh|efghijkl", "x abcdefghijkl hunter2hunter2", []byte{1, 3, 2})
	f.Add("abcdefghijklmn|cdefghij", "abcdefghijklmn", []byte{2})
	f.Add("aaaaaaaa|aaaaaaaab", "aaaaaaaaaaaaaaaab aaaaaaa", []byte{7})
	f.Add("a\"<b>&cdé|12345678\n87654321", "a\\\"\\u003cb\\u003e\\u0026cd\\u00e9 12345678\\n87654321", []byte{0, 5})
	f.Add("\xff\xff\xff\xff\xff\xff\xff\xff", "\xff\xff\xff\xff\xff\xff\xff\xff\xff", []byte{4})
	f.Fuzz(func(t *testing.T, list, text string, pieces []byte) {
		if len(list) > 200 || len(text) > 2000 {
			return // the naive form is slow
		}
		check.Cost(t, len(list)+len(text))
		// The text gets secrets to find, however the fuzzer spells it.
		secrets := strings.Split(list, "|")
		text += " " + strings.Join(secrets, "")
		if len(pieces) > 1 {
			text = text[:max(0, len(text)-int(pieces[1]%16))] // ends in the middle of one
		}

		r := New(secrets)
		want := naive(r.patterns, text, false)
		if got := r.String(text); got != want {
			t.Fatalf("String(%q) = %q, want %q", text, got, want)
		}
		if got := r.Bytes([]byte(text)); string(got) != want {
			t.Fatalf("Bytes(%q) = %q, want %q", text, got, want)
		}
		want = naive(r.patterns, text, true)
		if got := r.Cut(text); got != want {
			t.Fatalf("Cut(%q) = %q, want %q", text, got, want)
		}

		var out strings.Builder
		w := r.Writer(&out).(*writer)
		for i, rest := 0, text; rest != ""; i++ {
			n := 1
			if len(pieces) > 0 {
				n = min(int(pieces[i%len(pieces)])%17+1, len(rest))
			}
			if _, err := w.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
			if held := string(w.held); held != "" && !beginsOne(r.patterns, held) {
				t.Fatalf("holds %q, which begins no secret", held)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Fatalf("Writer of %q wrote %q, want %q", text, out.String(), want)
		}
		gone := func(what, text, form string) {
			// What is left can only spell it with the help of the mark.
			if strings.Contains(strings.ReplaceAll(text, Mark, "\x00\x00"), form) && !strings.Contains(form, "\x00") {
				t.Errorf("%s: %q survives in %q", what, form, text)
			}
		}
		for _, secret := range secrets {
			if len(secret) < Shortest || strings.TrimSpace(secret) == "" {
				continue
			}
			gone("as it is", out.String(), secret)
			if utf8.ValidString(secret) {
				inJSON, _ := json.Marshal(secret)
				twice, _ := json.Marshal(string(inJSON))
				for _, form := range []string{string(inJSON[1 : len(inJSON)-1]), strings.Trim(strconv.QuoteToASCII(secret), `"`), string(twice[3 : len(twice)-3]), url.QueryEscape(secret), url.PathEscape(secret)} {
					if json.Valid([]byte(`"` + form + `"`)) { // QuoteToASCII has escapes of Go's own
						gone("escaped", r.String("x"+form+"y"), form)
					}
				}
			}
			lineBreak := func(r rune) bool { return r == '\n' || r == '\r' }
			for _, part := range append(strings.FieldsFunc(secret, lineBreak), secret) {
				if part = strings.TrimSpace(part); len(part) >= Shortest {
					gone("a line or all of it, without the blanks", r.String("x"+part+"y"), part)
				}
			}
		}
	})
}

func beginsOne(patterns []string, s string) bool {
	for _, p := range patterns {
		if strings.HasPrefix(p, s) {
			return true
		}
	}
	return false
}
