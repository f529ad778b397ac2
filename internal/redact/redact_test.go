package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7\n-----END PRIVATE KEY-----\n"

const aws = "wJalrXUtnFEMI+K7MDENG+bPxRfiCYEXAMPLEKEY=="

func TestString(t *testing.T) {
	for _, test := range []struct {
		name     string
		secrets  []string
		in, want string
	}{
		{"no secrets", nil, "text", "text"},
		{"none in it", []string{"hunter2hunter2"}, "text hunter2", "text hunter2"},
		{"one", []string{"hunter2hunter2"}, "a hunter2hunter2 b", "a [redacted] b"},
		{"at the ends", []string{"hunter2hunter2"}, "hunter2hunter2 hunter2hunter2", "[redacted] [redacted]"},
		{"short ones are ignored", []string{"1234567", "12345678"}, "1234567 12345678", "1234567 [redacted]"},
		{"blank ones are ignored", []string{"          "}, "           x", "           x"},
		{"the longest where several begin", []string{"abcdefgh", "abcdefghijkl"}, "xabcdefghijkly", "x[redacted]y"},
		{"overlapping ones go wholly", []string{"abcdefgh", "efghijkl"}, "xabcdefghijkly", "x[redacted]y"},
		{"touching ones become one mark", []string{"abcdefgh", "ijklmnop"}, "xabcdefghijklmnopy", "x[redacted]y"},
		{"one that overlaps itself", []string{"aaaaaaaa"}, "b aaaaaaaaaaaa b", "b [redacted] b"},
		{"one within another", []string{"cdefghij", "abcdefghijkl"}, "abcdefghijkl cdefghij", "[redacted] [redacted]"},
		{"around a line break", []string{"abcdefgh\n"}, "x abcdefgh y", "x [redacted] y"},
		{"in Go's JSON", []string{`pass"<&>\word`}, `{"e":"bad pass\"\u003c\u0026\u003e\\word"}`, `{"e":"bad [redacted]"}`},
		{"in JSON without HTML's escapes", []string{`pass"<&>\word`}, `{"e":"bad pass\"<&>\\word"}`, `{"e":"bad [redacted]"}`},
		{"in ASCII JSON", []string{"pässwörd🔑"}, `{"e":"p\u00e4ssw\u00f6rd\ud83d\udd11"}`, `{"e":"[redacted]"}`},
		{"in JSON with the slash escaped", []string{"https://u:pä/word"}, `{"e":"https:\/\/u:p\u00e4\/word"}`, `{"e":"[redacted]"}`},
		{"lines one by one", []string{pem}, "key:\n  MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n  BKcwggSjAgEAAoIBAQC7\n", "key:\n  [redacted]\n  [redacted]\n"},
		{"the whole in JSON", []string{pem}, strings.ReplaceAll(pem, "\n", `\n`), "[redacted]"},
		{"lines of one that writes its breaks", []string{strings.ReplaceAll(pem, "\n", `\n`)}, pem, "[redacted]\n[redacted]\n[redacted]\n[redacted]\n"},
		{"in JSON within JSON", []string{`pass"word\n`}, `{"e":"{\"k\":\"pass\\\"word\\\\n\"}"}`, `{"e":"{\"k\":\"[redacted]\"}"}`},
		{"in ASCII JSON with capitals", []string{"pässwörd🔑"}, `p\u00E4ssw\u00F6rd\uD83D\uDD11`, "[redacted]"},
		{"in .NET's JSON", []string{aws, `it's "so" x`}, `{"e":"wJalrXUtnFEMI\u002BK7MDENG\u002BbPxRfiCYEXAMPLEKEY== it\u0027s \u0022so\u0022 x"}`, `{"e":"[redacted] [redacted]"}`},
		{"in Gson's JSON", []string{aws, `it's "so" x`}, `{"e":"wJalrXUtnFEMI+K7MDENG+bPxRfiCYEXAMPLEKEY\u003d\u003d it\u0027s \"so\" x"}`, `{"e":"[redacted] [redacted]"}`},
		{"in .NET's JSON within JSON", []string{aws}, `{"e":"{\"k\":\"wJalrXUtnFEMI\\u002BK7MDENG\\u002BbPxRfiCYEXAMPLEKEY==\"}"}`, `{"e":"{\"k\":\"[redacted]\"}"}`},
		{"in .NET's JSON within its JSON", []string{`pass"word`}, `{"e":"{\u0022k\u0022:\u0022pass\\u0022word\u0022}"}`, `{"e":"{\u0022k\u0022:\u0022[redacted]\u0022}"}`},
		{"in JSON with letters escaped", []string{"hunter2hunter2"}, `\u0068unter2\u0068unter\u0032 \\u0068unter2hunter2`, "[redacted] [redacted]"},
		{"in JSON with the backslash escaped", []string{`pass\word"+`}, `pass\u005Cword\u0022\u002b pass\u005c\u005cword\u005c\u0022\u005cu002b`, "[redacted] [redacted]"},
		{"in JSON with short escapes", []string{"\b\f\n\r\t/\\\"x"}, `\b\f\n\r\t\/\\\"x \\b\\f\\n\\r\\t\\/\\\\\\\"x`, "[redacted] [redacted]"},
		{"in JSON behind a backslash", []string{"+abcdefgh"}, `"C:\\\u002Babcdefgh" "C:\\\\\\u002Babcdefgh"`, `"C:\\[redacted]" "C:\\\\[redacted]"`},
		{"as it is behind a backslash", []string{`\abcdefgh`, "ijklmnop"}, `\\abcdefgh \ijklmnop`, `[redacted] \[redacted]`},
		{"in JSON with half a pair", []string{"pässwörd🔑"}, `p\u00e4ssw\u00f6rd\ud83d\u00e4`, `p\u00e4ssw\u00f6rd\ud83d\u00e4`},
		{"in JSON with half a pair that became another character", []string{"abc\uFFFDdefgh"}, `abc\udc00defgh abc\ud83ddefgh`, "[redacted] [redacted]"},
		{"out of a URL, in JSON", []string{aws}, `wJalrXUtnFEMI\u00252BK7MDENG%2BbPxRfiCYEXAMPLEKEY%3D%3D`, "[redacted]"},
		{"no escapes of JSON", []string{aws}, `wJalrXUtnFEMI\x2bK7MDENG+bPxRfiCYEXAMPLEKEY==`, `wJalrXUtnFEMI\x2bK7MDENG+bPxRfiCYEXAMPLEKEY==`},
		{"escaped three times", []string{"+abcdefgh"}, `\\\\u002Babcdefgh \\\\\\\\u002Babcdefgh`, `\\[redacted] \\\\\\[redacted]`},
		{"escaped three times in the middle", []string{"abcd+efgh"}, `abcd\\\\u002Befgh`, `abcd\\\\u002Befgh`},
		{"in a query", []string{"ab+c/d=é f"}, "?k=ab%2Bc%2Fd%3D%C3%A9+f ?k=ab%2Bc%2Fd%3D%C3%A9%20f", "?k=[redacted] ?k=[redacted]"},
		{"in a path", []string{"ab+c/d=e?f"}, "/ab+c%2Fd=e%3Ff/", "/[redacted]/"},
		{"out of a URL", []string{"p%40ss%2Fword%22"}, `p@ss/word" p@ss\/word\"`, "[redacted] [redacted]"},
		{"no percent encoding", []string{"100%_sure"}, "100%_sure", "[redacted]"},
		{"without its quotes", []string{`"abcdefgh"`, "'ijklmnop'"}, "abcdefgh ijklmnop", "[redacted] [redacted]"},
		{"without the blanks around it", []string{" abcdefgh\n"}, "x=abcdefgh", "x=[redacted]"},
		{"several lines without the blanks around them", []string{" abcde\nfghij\n"}, "x=abcde\nfghij x=abcde\\nfghij", "x=[redacted] x=[redacted]"},
		{"several lines without their quotes", []string{"'abcde\nfghij'"}, "x=abcde\nfghij", "x=[redacted]"},
		{"one is the beginning of another", []string{"abcdefgh", "abcdefgh-more"}, "abcdefgh-mo abcdefgh-more", "[redacted]-mo [redacted]"},
		{"characters of regular expressions", []string{"a.*b[c]{2}$^|"}, "axxxb a.*b[c]{2}$^|", "axxxb [redacted]"},
		{"in other case it is another text", []string{"abcdefgh"}, "ABCDEFGH", "ABCDEFGH"},
		{"a beginning at the end", []string{"abcdefghijkl"}, "x abcdefghijk", "x abcdefghijk"}, // Cut is for that
		{"a hundred thousand times", []string{"abcdefgh"}, strings.Repeat("abcdefgh", 1e5) + " x", "[redacted] x"},
		{"replaced bytes", []string{"abc\xff\xfedefgh"}, "abc\uFFFD\uFFFDdefgh abc\uFFFDdefgh", "[redacted] [redacted]"},
		{"not UTF-8", []string{"\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8"}, "a\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8b", "a[redacted]b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := New(test.secrets)
			if diff := cmp.Diff(test.want, r.String(test.in)); diff != "" {
				t.Errorf("String (-want +got):\n%s", diff)
			}
			in := []byte(test.in)
			if diff := cmp.Diff(test.want, string(r.Bytes(in))); diff != "" {
				t.Errorf("Bytes (-want +got):\n%s", diff)
			}
			if string(in) != test.in {
				t.Error("Bytes changed its argument")
			}
			for _, size := range []int{1, 2, 3, 7, len(test.in) + 1} {
				var out strings.Builder
				w := r.Writer(&out)
				for rest := in; len(rest) > 0; {
					n := min(size, len(rest))
					if got, err := w.Write(rest[:n]); got != n || err != nil {
						t.Fatalf("Write = %d, %v, want %d", got, err, n)
					}
					rest = rest[n:]
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(r.Cut(test.in), out.String()); diff != "" {
					t.Errorf("Writer, %d bytes at a time (-want +got):\n%s", size, diff)
				}
			}
		})
	}
}

// TestJSONForms checks the escaped forms against what encoding/json really writes.
func TestJSONForms(t *testing.T) {
	const secret = "tab\there <b> & \"quoted\" \\ \u2028 \x01 é 🔑"
	r := New([]string{secret})
	frame, err := json.Marshal(map[string]any{"params": map[string]any{"text": "x " + secret + " y"}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"params":{"text":"x [redacted] y"}}`
	if diff := cmp.Diff(want, r.String(string(frame))); diff != "" {
		t.Errorf("frame (-want +got):\n%s", diff)
	}
}

// TestCut tries every place at which a text can end within a secret.
func TestCut(t *testing.T) {
	r := New([]string{"abcdefghijkl", "defghijk-another", pem})
	for _, text := range []string{"abcdefghijkl", "abcdefghijk-another", pem} {
		for n := range len(text) + 1 {
			got := r.Cut("x " + text[:n])
			for i := range n - Shortest + 1 {
				if left := text[i : i+Shortest]; strings.Contains(got, left) {
					t.Errorf("Cut(%q) = %q, which has %q", text[:n], got, left)
				}
			}
		}
	}
	for _, test := range []struct{ in, want string }{
		{"x abcdefg", "x abcdefg"}, // seven bytes are not enough to tell
		{"x abcdefgh", "x [redacted]"},
		{"x abcdefgh ", "x abcdefgh "}, // it did not end there
		{"abcdefghijklabcdefghi", "[redacted]"},
		{`x \u0061bcdefghi\u00`, "x [redacted]"},
		{`x \\u0061bcdefghi\\u006a\`, "x [redacted]"},
		{`x \u0061\`, `x \u0061\`}, // seven bytes
		{`x \\`, `x \\`},
		{"", ""},
	} {
		if got := r.Cut(test.in); got != test.want {
			t.Errorf("Cut(%q) = %q, want %q", test.in, got, test.want)
		}
	}
}

func TestNil(t *testing.T) {
	var r *Redactor
	var out strings.Builder
	w := r.Writer(&out)
	io.WriteString(w, "hunter2")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := []string{r.String("a"), string(r.Bytes([]byte("b"))), r.Cut("c"), out.String()}; cmp.Diff([]string{"a", "b", "c", "hunter2"}, got) != "" {
		t.Errorf("a nil Redactor gave %q", got)
	}
}

// TestWriterHoldsLittle checks what is held back after each write.
func TestWriterHoldsLittle(t *testing.T) {
	r := New([]string{"hunter2hunter2", "secret-one"})
	var out strings.Builder
	w := r.Writer(&out)
	for _, step := range []struct{ in, out string }{
		{"Password? ", "Password? "},              // a prompt without a newline
		{"hunt", ""},                              // may begin a secret
		{"ing\n", "hunting\n"},                    // did not
		{"x hunter2hunter", "x "},                 // all but its last byte
		{"2", "[redacted]"},                       // decided at its last byte
		{"hunter2hunter2", ""},                    // goes on where the last one ended
		{" s", " "},                               // the other one may begin
		{"ecret-one!", "[redacted]!"},             // and does
		{strings.Repeat("long ", 40000), "*long"}, // flows through
		{"50%", "50"},                             // any character may begin so
		{" done, 100%68", "% done, 100"},          // none did; this one is an h
		{"% \n", "%68% \n"},                       // and no more
		{"hunter2x secret-on", "hunter2x "},
	} {
		out.Reset()
		if _, err := io.WriteString(w, step.in); err != nil {
			t.Fatal(err)
		}
		want := step.out
		if want == "*long" {
			want = step.in
		}
		if got := out.String(); got != want {
			t.Fatalf("after %.20q: wrote %.40q, want %.40q", step.in, got, want)
		}
		if held := len(w.(*writer).held); held >= len("hunter2hunter2") {
			t.Fatalf("after %.20q: %d bytes are held", step.in, held)
		}
	}
	if c := cap(w.(*writer).out) + cap(w.(*writer).held); c > 128<<10 {
		t.Errorf("%d bytes of memory are kept after a long write", c)
	}
	out.Reset()
	if err := w.Close(); err != nil || out.String() != Mark {
		t.Errorf("Close wrote %q, %v, want a mark: what was held is nearly a secret", out.String(), err)
	}
	if err := w.Close(); err != nil || out.String() != Mark {
		t.Errorf("the second Close wrote again: %q, %v", out.String(), err)
	}
}

// TestWriterHoldsEscapes checks that what is held has a bound however a secret is written,
// and is let go when it was none.
func TestWriterHoldsEscapes(t *testing.T) {
	const secret = "hunter2hunter2"
	once := percent(secret, `\u%04x`)
	twice := percent(once, `\u%04x`)
	inURL := percent(percent(secret, "%%%02x"), "%%%02x")
	most := percent(percent(inURL, `\u%04x`), `\u%04x`)
	w := New([]string{secret}).Writer(io.Discard).(*writer)
	for _, text := range []string{
		strings.Repeat(`\`, 1e6), strings.Repeat(`\u005c`, 1e5), strings.Repeat(twice[:100], 1e4), twice, twice + twice[:len(twice)-1],
		strings.Repeat("%", 1e6), strings.Repeat("%25", 1e5), strings.Repeat("%2", 1e5), strings.Repeat(inURL[:50], 1e4), inURL, most, most + most[:len(most)-1],
	} {
		for i := 0; i < len(text); i += 1000 {
			w.Write([]byte(text[i:min(i+1000, len(text))]))
			if most := 324 * len(secret); len(w.held) >= most {
				t.Fatalf("%d bytes of %.20q are held", len(w.held), text)
			}
		}
		io.WriteString(w, " no")
		if len(w.held) > 0 {
			t.Errorf("%q is held, which begins no secret", w.held)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestWriterError(t *testing.T) {
	w := New([]string{"hunter2hunter2"}).Writer(failing{io.ErrShortWrite})
	for range 2 {
		if n, err := io.WriteString(w, "text"); n != 0 || !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("Write = %d, %v, want 0 and the cause", n, err)
		}
	}
	if err := w.Close(); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("Close = %v, want the cause", err)
	}
}

// TestConcurrent lets the race detector see one Redactor in many goroutines.
func TestConcurrent(t *testing.T) {
	r := New([]string{"hunter2hunter2"})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { // ends by itself
			var out bytes.Buffer
			w := r.Writer(&out)
			io.WriteString(w, "a hunter2hunter2")
			w.Close()
			if out.String() != r.String("a hunter2hunter2") {
				t.Errorf("got %q", out.String())
			}
		})
	}
	wg.Wait()
}

func BenchmarkWriter(b *testing.B) {
	var secrets []string
	for c := 'a'; c <= 'z'; c++ {
		for _, rest := range []string{"-secret-of-some-length-1", "-secret-of-some-length-2"} {
			secrets = append(secrets, string(c)+rest)
		}
	}
	w := New(secrets).Writer(io.Discard)
	line := []byte(strings.Repeat("an ordinary line of a chatty agent's stderr ", 20) + "\n")
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		w.Write(line)
	}
}

// BenchmarkBytes redacts frames that are full of escapes: a file of source code as it is
// in JSON, once and twice, and a picture in a data: URL.
func BenchmarkBytes(b *testing.B) {
	var secrets []string
	for c := 'a'; c <= 'z'; c++ {
		secrets = append(secrets, string(c)+`-secret/of+some="length"\`)
	}
	r := New(secrets)
	code := strings.Repeat("\tif s == \"<an ordinary line of code>\" { return `\\d+` }\n", 20)
	once, _ := json.Marshal(code) // a string always marshals
	twice, _ := json.Marshal(string(once))
	picture := strings.Repeat(`<path d="M10 10h5a1,1+2.5" fill="#f00"/>`, 20)
	for _, test := range []struct {
		name  string
		frame []byte
	}{{"once", once}, {"twice", twice}, {"url", []byte("data:image/svg+xml," + url.PathEscape(picture))}} {
		b.Run(test.name, func(b *testing.B) {
			b.SetBytes(int64(len(test.frame)))
			for b.Loop() {
				r.Bytes(test.frame)
			}
		})
	}
}
