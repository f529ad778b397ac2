package visible_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/visible"
)

func Example() {
	fmt.Println(visible.Text("\x1b]52;c;ZXZpbA==\a"))
	fmt.Println(visible.Line("rm \u202egpj.x"))
	// Output:
	// \u{1b}]52;c;ZXZpbA==\u{7}
	// rm \u{202e}gpj.x
}

var texts = []struct {
	name, in, want string
	line           string // what Line gives where that is not want
}{
	{"nothing", "", "", ""},
	{"plain", "Hello, world!", "Hello, world!", ""},
	{"other scripts", "naïve 日本語 עברית العربية", "naïve 日本語 עברית العربية", ""},
	{"combining marks", "e\u0301", "e\u0301", ""},
	{"several lines", "a\n\tb\n", "a\n\tb\n", `a\u{a}\u{9}b\u{a}`},
	{"CRLF", "a\r\nb", "a\nb", `a\u{d}\u{a}b`},
	{"a lone CR", "safe\revil", `safe\u{d}evil`, ""},
	{"CR CR LF", "a\r\r\nb", "a\\u{d}\nb", `a\u{d}\u{d}\u{a}b`},
	{"CR at the end", "a\r", `a\u{d}`, ""},
	{"CSI", "\x1b[2J\x1b[31mred\x1b[0m", `\u{1b}[2J\u{1b}[31mred\u{1b}[0m`, ""},
	{"OSC 52", "\x1b]52;c;AA==\x07", `\u{1b}]52;c;AA==\u{7}`, ""},
	{"OSC 8 with ST", "\x1b]8;;http://x\x1b\\y", `\u{1b}]8;;http://x\u{1b}\y`, ""},
	{"NUL, BS, VT, FF", "\x00\b\v\f", `\u{0}\u{8}\u{b}\u{c}`, ""},
	{"DEL", "\x7f", `\u{7f}`, ""},
	{"C1 as code points", "\u0085\u009b31m\u009d", `\u{85}\u{9b}31m\u{9d}`, ""},
	{"C1 as bytes", "\x9b31m", `\x{9b}31m`, ""},
	{"bidi overrides and embeddings", "\u202a\u202b\u202c\u202d\u202e", `\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}`, ""},
	{"bidi isolates", "\u2066\u2067\u2068\u2069", `\u{2066}\u{2067}\u{2068}\u{2069}`, ""},
	{"bidi marks", "\u200e\u200f\u061c", `\u{200e}\u{200f}\u{61c}`, ""},
	{"zero width", "a\u200bb\u200cc\u200dd\u2060e\ufeff", `a\u{200b}b\u{200c}c\u{200d}d\u{2060}e\u{feff}`, ""},
	{"soft hyphen", "a\u00adb", `a\u{ad}b`, ""},
	{"fillers that show as nothing", "\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4", `\u{115f}\u{1160}\u{3164}\u{ffa0}\u{2800}\u{34f}\u{17b4}`, ""},
	{"separators", "a\u2028b\u2029c", `a\u{2028}b\u{2029}c`, ""},
	{"tag characters", "x\U000e0041\U000e007f\U000e0001", `x\u{e0041}\u{e007f}\u{e0001}`, ""},
	{"variation selectors on letters", "a\ufe0fb\U000e0100\u180b", `a\u{fe0f}b\u{e0100}\u{180b}`, ""},
	{"annotations", "\ufff9a\ufffab\ufffb", `\u{fff9}a\u{fffa}b\u{fffb}`, ""},
	{"noncharacters", "\ufffe\U0001ffff", `\u{fffe}\u{1ffff}`, ""},
	{"emoji", "⚠️ ❤️ 1️⃣ 👨‍👩‍👧 👍🏽 ❤️‍🔥", "⚠️ ❤️ 1️⃣ 👨‍👩‍👧 👍🏽 ❤️‍🔥", ""},
	{"a message hung on an emoji", "🙂\ufe0f\ufe0f\ufe0e", "🙂\ufe0f\\u{fe0f}\\u{fe0e}", ""},
	{"joiners hung on an emoji", "🙂\u200d\u200d", "🙂\u200d\\u{200d}", ""},
	{"a selector after something made visible", "⚠\u200b\ufe0f", `⚠\u{200b}\u{fe0f}`, ""},
	{"invalid UTF-8", "a\xffb\xc3", `a\x{ff}b\x{c3}`, ""},
	{"overlong ESC", "\xc0\x9b", `\x{c0}\x{9b}`, ""},
	{"surrogate", "\xed\xa0\x80", `\x{ed}\x{a0}\x{80}`, ""},
	{"the replacement character itself", "\ufffd", "\ufffd", ""},
}

func TestText(t *testing.T) {
	for _, tt := range texts {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, visible.Text(tt.in)); diff != "" {
				t.Errorf("Text (-want +got):\n%s", diff)
			}
			line := tt.line
			if line == "" {
				line = tt.want
			}
			if diff := cmp.Diff(line, visible.Line(tt.in)); diff != "" {
				t.Errorf("Line (-want +got):\n%s", diff)
			}
		})
	}
}

// However a text is cut, the stream shows what Text shows.
func TestStream(t *testing.T) {
	for _, tt := range texts {
		for size := 1; size <= 4; size++ {
			var st visible.Stream
			if got := pieces(&st, tt.in, size); got != tt.want {
				t.Errorf("%s, in pieces of %d bytes: got %q, want %q", tt.name, size, got, tt.want)
			}
			// The end of one text has no effect on the next one.
			if got := pieces(&st, "\ufe0f\x9b", size); got != `\u{fe0f}\x{9b}` {
				t.Errorf("%s, then another text: got %q", tt.name, got)
			}
		}
	}
}

func pieces(st *visible.Stream, s string, size int) string {
	var b strings.Builder
	for len(s) > 0 {
		n := min(size, len(s))
		b.WriteString(st.Next(s[:n]))
		s = s[n:]
	}
	b.WriteString(st.End())
	return b.String()
}

func FuzzText(f *testing.F) {
	for _, tt := range texts {
		f.Add(tt.in, 2)
	}
	f.Fuzz(func(t *testing.T, s string, size int) {
		check.Cost(t, len(s))
		text := visible.Text(s)
		checkVisible(t, text, "\n\t")
		checkVisible(t, visible.Line(s), "")
		var st visible.Stream
		if got := pieces(&st, s, min(max(size, 1), 64)); got != text {
			t.Errorf("in pieces of %d: %q, whole: %q", size, got, text)
		}

		doc, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		out := visible.JSON(doc)
		checkVisible(t, string(out), "")
		var before, after string
		if err := json.Unmarshal(doc, &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out, &after); err != nil || before != after {
			t.Errorf("JSON changed the meaning: %q, was %q (%v)", after, before, err)
		}
	})
}

// checkVisible is written apart from the code it checks: it lists what must never
// be shown, whatever else is let through.
func checkVisible(t *testing.T, s, except string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Errorf("%q is not UTF-8", s)
	}
	for _, r := range s {
		switch {
		case strings.ContainsRune(except, r), r == '\u200d': // part of many emoji
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), unicode.Is(unicode.Cf, r),
			r == '\u2028', r == '\u2029', r >= 0xe0000 && r <= 0xe0fff:
			t.Errorf("%U survived in %q", r, s)
		}
	}
}

func TestJSON(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", `{"a":1}`, `{"a":1}`},
		{"white space between tokens", "{\n\t\"a\": 1\r\n}\n", "{\n\t\"a\": 1\r\n}\n"},
		{"escapes that are there already", `"\u001b[31m"`, `"\u001b[31m"`},
		{"DEL and C1", "\"\x7f\u009b\"", `"\u007f\u009b"`},
		{"bidi", "\"a\u202eb\"", `"a\u202eb"`},
		{"beyond the first plane", "\"\U000e0041\"", `"\udb40\udc41"`},
		{"text", `"naïve 日本語 ⚠"`, `"naïve 日本語 ⚠"`},
		{"invalid UTF-8", "\"a\xffb\"", `"a\ufffdb"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, string(visible.JSON([]byte(tt.in)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
