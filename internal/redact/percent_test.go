package redact

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestPercent writes secrets as URLs have them, each character encoded or not, and looks
// that they go, and that what stands around them stays.
func TestPercent(t *testing.T) {
	const token = "ab+/cd=ef/gh+12345"
	for _, test := range []struct{ name, secret, in string }{
		{"Python's quote", token, "ab%2B/cd%3Def/gh%2B12345"},
		{"small hex digits", token, "ab%2b%2fcd%3def%2fgh%2b12345"},
		{"Go's QueryEscape", token, "ab%2B%2Fcd%3Def%2Fgh%2B12345"},
		{"Go's PathEscape", token, "ab+%2Fcd=ef%2Fgh+12345"},
		{"JavaScript's encodeURI", token, token},
		{"one of them", token, "ab+/cd=ef/gh%2B12345"},
		{"in mixed case", token, "ab%2B/cd%3def%2Fgh%2b12345"},
		{"the first", token, "%61b+/cd=ef/gh+12345"},
		{"the last", token, "ab+/cd=ef/gh+1234%35"},
		{"all", token, percent(token, "%%%02x")},
		{"all, in capitals", token, percent(token, "%%%02X")},
		{"in JSON", token, `ab\u002B\/cd%3Def\/gh%2B12345`},
		{"the percent sign escaped", token, `ab\u00252B\/cd\u00253def\u00252Fgh+12345`},
		{"the digits escaped", token, `ab%\u0032\u0042/cd%3\u0064ef/gh%2\u004212345`},
		{"in JSON in JSON", token, `ab\\u00252B\\/cd%3Def\\/gh\\u002B12345`},
		{"all, all escaped", token, percent(percent(token, "%%%02X"), `\u%04x`)},
		{"all, all escaped twice", token, percent(percent(percent(token, "%%%02X"), `\u%04x`), `\u%04x`)},
		{"twice", token, "ab%252B%252fcd%253Def/gh%252B12345"},
		{"all twice", token, percent(percent(token, "%%%02X"), "%%%02X")},
		{"twice, in JSON", token, `ab\u0025252B%252fcd%253Def\/gh%252B12345`},
		{"blanks as +", "ab cd ef+gh", "ab+cd+ef%2Bgh"},
		{"blanks as %20", "ab cd ef+gh", "ab%20cd%20ef+gh"},
		{"blanks as both", "ab cd ef+gh", "ab+cd%20ef%2bgh"},
		{"blanks as + and nothing else", "ab cd ef gh", "ab+cd+ef+gh"},
		{"blanks as %20 twice", "ab cd ef gh", "ab%2520cd+ef%20gh"},
		{"blanks as + twice", "ab cd ef gh", "ab%2Bcd%2Bef%2Bgh"},
		{"blanks as + in JSON", "ab cd ef gh", `ab+cd\u002bef%20gh`},
		{"a blank first", " abcdefg", "%20abcdefg"},
		{"+ for a blank first", " abcdefg", "+abcdefg"},
		{"as UTF-8", "pässwörd🔑", "p%C3%A4ssw%c3%b6rd%F0%9f%94%91"},
		{"as UTF-8 in part", "pässwörd🔑", "p%C3\xa4sswörd\xf0%9F\x94%91"},
		{"as UTF-8 in JSON", "pässwörd🔑", `p%C3%A4ssw\u00f6rd\ud83d\udd11`},
		{"bytes that are no UTF-8", "abc\xff\xfedefgh", "abc%FF\xfedefgh"},
		{"a percent sign", "100%_sure+x", "100%25_sure%2Bx"},
		{"a percent sign as it is", "100%_sure+x", "100%_sure%2Bx"},
		{"what looks encoded", "ab%2Fcd%2Fef", "ab%2Fcd%2Fef"},
		{"what looks encoded, encoded", "ab%2Fcd%2Fef", "ab%252Fcd%252Fef"},
		{"what was encoded, otherwise", "ab%2Fcd%2Fef", "ab%2fcd/e%66"},
		{"backslashes and quotes", `pass"word\n`, `pass%22word%5Cn`},
		{"a backslash as it is", `pass\word+1`, `pass\word%2B1`},
		{"a backslash in JSON", `pass\word+1`, `pass\\word%2B1`},
		{"line breaks", "abcde\nfghij", "abcde%0Afghij"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := New([]string{test.secret})
			for _, around := range []string{"%s", "(%s)", "%%%s%%", "%%2%s%%2", "/%%41%s%%2B/", "=%s&k=%%2", `"%s\u0025"`, "%%25%s%%25"} {
				in, want := fmt.Sprintf(around, test.in), fmt.Sprintf(around, Mark)
				if got := r.String(in); got != want {
					t.Errorf("String(%q) = %q, want %q", in, got, want)
				}
			}
			in, want := "("+test.in+")", "("+Mark+")"
			for cut := range len(in) {
				var out strings.Builder
				w := r.Writer(&out)
				io.WriteString(w, in[:cut])
				io.WriteString(w, in[cut:])
				w.Close()
				if got := out.String(); got != want {
					t.Fatalf("in two, %q and %q: %q, want %q", in[:cut], in[cut:], got, want)
				}
			}
		})
	}
}

// percent writes each byte of a string in a format.
func percent(s, format string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, format, s[i])
	}
	return b.String()
}

// TestPercentLeaves has texts that read like a secret, and are none.
func TestPercentLeaves(t *testing.T) {
	for _, test := range []struct{ name, secret, in string }{
		{"a plus of a plus of a plus is no blank", "ab cd ef gh", "ab%252Bcd%252Bef%252Bgh"},
		{"a blank is no plus", "ab+cd+ef+gh", "ab%20cd ef+gh"},
		{"another character", "ab+cd+ef+gh", "ab%2Ccd+ef+gh"},
		{"one character less", "ab+cd+ef+gh", "ab%2Bcd+ef+%67"},
		{"half of an encoding", "ab+cd+ef+gh", "ab%2Bcd%2Bef%2"},
		{"no digits", "ab+cd+ef+gh", "ab%2Gcd+ef+gh"},
		{"encoded three times", "ab+cd+ef+gh", "ab%25252Bcd+ef+gh"},
		{"in another case", "ab+cd+ef+gh", "%41b%2Bcd+ef+gh"},
		{"a character is no byte", "ab\xe9cdefgh", `ab\u00e9cdefgh`},
		{"a byte is no character", "abécdefgh", `ab%E9cdefgh`},
		{"digits are no encoding", "ab%2Bcd%2B", "ab2Bcd2B"},
		{"too short when it is decoded", "%41%42%43", "ABC %41BC A%42C"},
		{"ordinary text", "ab+cd+ef+gh", "100% of it, 5%, 3 % and %d%%, %2, %, a+b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := New([]string{test.secret})
			if got := r.String(test.in); got != test.in {
				t.Errorf("String(%q) = %q", test.in, got)
			}
		})
	}
}
