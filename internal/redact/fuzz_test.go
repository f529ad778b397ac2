package redact

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/errand-acp/errand/internal/check"
)

// naive is the Redactor in its simplest form: mark every byte of every occurrence,
// then write each marked run as one Mark. cut marks the beginning of one at the end too.
func naive(patterns []string, s string, cut bool) string {
	secret := make([]bool, len(s))
	var memory layers
	for i := range len(s) {
		to, open := memory.occurs(patterns, s, i)
		if open && cut && len(s)-i >= Shortest {
			to = len(s)
		}
		for j := i; j < to; j++ {
			secret[j] = true
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

// layers are how a text reads as part of so many URLs in so many JSON strings; for their
// memory.
type layers [levels + 1][levels + 1][]unit

// occurs returns where the longest pattern ends that s has at i, if it has one there, and
// whether there may be one that s ends in.
func (l *layers) occurs(patterns []string, s string, i int) (to int, open bool) {
	special := strings.ContainsAny(s[i:i+1], `\%+`)
	if !special && !slices.ContainsFunc(patterns, func(p string) bool { return p[0] == s[i] }) {
		return 0, false
	}
	l[0][0] = l[0][0][:0]
	for j := i; j < len(s); j++ {
		l[0][0] = append(l[0][0], unit{s[j : j+1], j + 1})
	}
	broken := false
	for level := range l {
		if level > 0 {
			l[level][0], broken = decode(l[level][0][:0], l[level-1][0], broken)
			if before := len(strings.TrimRight(s[:i], `\`)); s[i] == '\\' && (i-before)%2 == 1 {
				continue // it is itself escaped
			}
		}
		for urls := range l[level] {
			if urls > 0 {
				l[level][urls] = decodeURL(l[level][urls][:0], l[level][urls-1], broken)
			}
			for _, p := range patterns {
				end, alike := i, true
				for _, u := range l[level][urls] {
					if p == "" || !alike {
						break
					}
					text := u.text
					if text == blank {
						if text = "+"; p[0] == ' ' {
							text = " "
						}
					}
					p, alike = strings.CutPrefix(p, text)
					end = u.end
				}
				switch {
				case alike && p == "":
					to = max(to, end)
				case alike && !broken:
					open = true
				}
			}
		}
	}
	return to, open
}

// blank is what + is in a URL: itself, or a blank.
const blank = "+ "

// decodeURL appends what a text says as a part of a URL, up to where that ends.
func decodeURL(out, in []unit, broken bool) []unit {
	for len(in) > 0 {
		text, size := in[0].text, 1
		if text == "+" {
			text = blank
		}
		if text == "%" {
			digits := ""
			for _, u := range in[1:min(3, len(in))] {
				digits += u.text
			}
			c, err := url.PathUnescape("%" + digits)
			switch whole := len(in) > 2; {
			case err == nil && len(c) == 1 && whole:
				text, size = c, 3
			case !whole && !broken && strings.Trim(digits, "0123456789abcdefABCDEF") == "":
				return out
			}
		}
		out = append(out, unit{text, in[size-1].end})
		in = in[size:]
	}
	return out
}

// unit is a character, or a byte of one, and where it ends.
type unit struct {
	text string
	end  int
}

// decode appends what the text of a JSON string says, up to where that ends or is none.
func decode(out, in []unit, broken bool) ([]unit, bool) {
	escape := func(units []unit) (string, bool) {
		doc := `"`
		for _, u := range units {
			doc += u.text
		}
		var text string
		err := json.Unmarshal([]byte(doc+`"`), &text)
		return text, err == nil
	}
	for len(in) > 0 {
		size := 1
		text := in[0].text
		if text == `\` {
			if len(in) == 1 {
				return out, broken
			}
			if size = 2; in[1].text == "u" {
				size = 6
			}
			for i := 2; i < min(size, len(in)); i++ {
				if !strings.Contains("0123456789abcdefABCDEF", in[i].text) {
					return out, true
				}
			}
			if len(in) < size {
				return out, broken
			}
			var ok bool
			if text, ok = escape(in[:size]); !ok {
				return out, true
			}
			if high := in[2:min(4, size)]; text == "\uFFFD" && strings.Contains("d8 d9 da db", strings.ToLower(high[0].text+high[1].text)) {
				next := in[size:min(2*size, len(in))]
				i := 0
				for i < len(next) && (i == 0 && next[i].text == `\` || i == 1 && next[i].text == "u" ||
					i > 1 && strings.Contains("0123456789abcdefABCDEF", next[i].text)) {
					i++
				}
				if i == len(next) && i < size && !broken {
					return out, broken
				}
				if pair, _ := escape(in[:min(2*size, len(in))]); i == size && utf8.RuneCountInString(pair) == 1 {
					text, size = pair, 2*size
				}
			}
		}
		out = append(out, unit{text, in[size-1].end})
		in = in[size:]
	}
	return out, broken
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
	f.Add("ab+/cd=ef/gh+12345|100%_sure|ab cd\xe9 ef", "ab%2B/cd%3Def/gh%2B12345 100%25_sure ab+cd%e9%20ef ab%252b\\u00252fcd%3", []byte{9, 6, 3, 1})
	f.Fuzz(func(t *testing.T, list, text string, pieces []byte) {
		if len(list) > 200 || len(text) > 300 {
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
			for _, form := range []string{url.QueryEscape(secret), url.PathEscape(secret), encoded(secret, pieces), encoded(encoded(secret, pieces), pieces)} {
				gone("encoded", r.String("x"+form+"y"), form)
				if utf8.ValidString(form) {
					gone("encoded, in JSON", r.String("x"+escaped(form, pieces)+"y"), escaped(form, pieces))
				}
			}
			if utf8.ValidString(secret) {
				inJSON, _ := json.Marshal(secret)
				twice, _ := json.Marshal(string(inJSON))
				for _, form := range []string{string(inJSON[1 : len(inJSON)-1]), strings.Trim(strconv.QuoteToASCII(secret), `"`), string(twice[3 : len(twice)-3])} {
					if json.Valid([]byte(`"` + form + `"`)) { // QuoteToASCII has escapes of Go's own
						gone("escaped", r.String("x"+form+"y"), form)
					}
				}
			}
			for _, part := range append(strings.FieldsFunc(secret, isLineBreak), secret) {
				if part = strings.TrimSpace(part); len(part) >= Shortest {
					gone("a line or all of it, without the blanks", r.String("x"+part+"y"), part)
				}
			}
		}
	})
}

func beginsOne(patterns []string, s string) bool {
	_, open := new(layers).occurs(patterns, s, 0)
	return open
}

// FuzzEscapes writes a secret in all the ways that JSON and URLs have, and looks for it with
// JSON's own eyes: in text nothing is left of it, and the rest is as it was.
func FuzzEscapes(f *testing.F) {
	f.Add("wJalrXUtnFEMI+K7MDENG+bPxRfiCYEXAMPLEKEY==", "", []byte{0, 1, 2, 3})
	f.Add("pass\"<&>\\word\n\u2028/", "\\", []byte{3, 1, 4, 1, 5, 9, 2, 6})
	f.Add("p\u00e4ssw\u00f6rd\U0001f511", "\\\\\\", []byte{1})
	f.Fuzz(func(t *testing.T, secret, before string, ways []byte) {
		r := New([]string{secret})
		text, want := before+"("+secret+")", before+"("+Mark+")"
		// With the letters and digits of an escape before it another secret may be there.
		if len(text) > 200 || !utf8.ValidString(text) || strings.ContainsAny(before, "0123456789abcdefABCDEFnrtu") ||
			strings.ContainsAny(secret, "()") || r.String(text) != want {
			return
		}
		check.Cost(t, len(secret)+len(before))
		for depth := range (levels + 1) * (levels + 1) {
			urls, strs := depth%(levels+1), depth/(levels+1)
			text := secret
			for range urls {
				text = encoded(text, ways)
			}
			if text = before + "(" + text + ")"; !utf8.ValidString(text) {
				continue // half a character is encoded
			}
			for range strs {
				text = escaped(text, ways)
				ways = append(ways[:len(ways):len(ways)], byte(len(text)))
			}
			got := r.String(text)
			var out strings.Builder
			w := r.Writer(&out)
			for i := range len(text) {
				io.WriteString(w, text[i:i+1])
			}
			w.Close()
			if out.String() != got {
				t.Errorf("the writer wrote %q, String gives %q", out.String(), got)
			}
			for range strs {
				doc := `"` + got + `"`
				if err := json.Unmarshal([]byte(doc), &got); err != nil {
					t.Fatalf("%q became %q, which is no JSON: %v", text, doc, err)
				}
			}
			if got != want {
				t.Errorf("%q reads %q, want %q", text, got, want)
			}
		}
	})
}

// escaped writes a string as it stands in JSON, each character in one of its ways, but for
// parentheses.
func escaped(s string, ways []byte) string {
	var b strings.Builder
	i := 0
	for _, c := range s {
		way := byte(i)
		if len(ways) > 0 {
			way = ways[i%len(ways)]
		}
		i++
		short := strings.IndexRune("\"\\/\b\f\n\r\t", c)
		must := c < ' ' || c == '"' || c == '\\'
		switch {
		case c == '(' || c == ')': // what stands around it
			b.WriteRune(c)
		case way%4 == 1 || must && short < 0:
			for _, u := range utf16.Encode([]rune{c}) {
				fmt.Fprintf(&b, `\u%04x`, u)
			}
		case way%4 == 2:
			for _, u := range utf16.Encode([]rune{c}) {
				fmt.Fprintf(&b, `\u%04X`, u)
			}
		case must || way%4 == 3 && short >= 0:
			b.WriteString(`\` + `"\/bfnrt`[short:short+1])
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// encoded writes a string as it stands in a URL, each byte in one of its ways, but not what
// would read otherwise then.
func encoded(s string, ways []byte) string {
	var b strings.Builder
	for i := range len(s) {
		way := byte(i)
		if len(ways) > 0 {
			way = ways[i%len(ways)] >> 2
		}
		switch c := s[i]; {
		case way%4 == 1 || c == '%':
			fmt.Fprintf(&b, "%%%02x", c)
		case way%4 == 2:
			fmt.Fprintf(&b, "%%%02X", c)
		case way%4 == 3 && c == ' ':
			b.WriteByte('+')
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
