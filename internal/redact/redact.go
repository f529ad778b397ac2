// Package redact replaces secret values in what is shown. It is pure: no I/O beyond
// the writer it is given, no goroutine.
//
//	r := redact.New([]string{"s3cr3t-value"})
//	r.String("the key is s3cr3t-value") // "the key is [redacted]"
package redact

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
)

// Mark stands in the place of a secret.
const Mark = "[redacted]"

// minLength is the shortest value that is looked for, in bytes. Anything shorter
// would be found everywhere.
const minLength = 8

// Redactor replaces a fixed set of values. A nil Redactor replaces nothing. Its
// methods may be called from any goroutine.
type Redactor struct {
	secrets  [][]byte // longest first
	replacer *strings.Replacer
}

// New returns a Redactor of the given values, as they are and as they look within a
// JSON string. Values shorter than 8 bytes are left out. Of a value of several lines
// each line counts by itself too, so that it is known where lines are shown singly.
func New(secrets []string) *Redactor {
	var forms []string
	add := func(s string) {
		if len(s) >= minLength && !slices.Contains(forms, s) {
			forms = append(forms, s)
		}
	}
	for _, secret := range secrets {
		parts := append([]string{secret}, strings.FieldsFunc(secret, func(r rune) bool { return r == '\n' || r == '\r' })...)
		for _, part := range parts {
			if len(part) < minLength {
				continue
			}
			add(part)
			add(jsonForm(part, false))
			add(jsonForm(part, true))
		}
	}
	if len(forms) == 0 {
		return nil
	}
	// Of secrets that overlap the longest is replaced whole.
	slices.SortFunc(forms, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	r := &Redactor{}
	var pairs []string
	for _, f := range forms {
		r.secrets = append(r.secrets, []byte(f))
		pairs = append(pairs, f, Mark)
	}
	r.replacer = strings.NewReplacer(pairs...)
	return r
}

// jsonForm is s as it stands between the quotes of a JSON string.
func jsonForm(s string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	e.Encode(s) // a string always encodes
	text := strings.TrimSuffix(b.String(), "\n")
	return text[1 : len(text)-1]
}

// String returns s with every secret replaced.
func (r *Redactor) String(s string) string {
	if r == nil {
		return s
	}
	return r.replacer.Replace(s)
}

// Bytes returns b with every secret replaced; b is not changed.
func (r *Redactor) Bytes(b []byte) []byte {
	if r == nil {
		return b
	}
	return []byte(r.replacer.Replace(string(b)))
}

// Writer returns a writer that passes what it is given on to w, with secrets replaced
// also where they come in pieces. Of what it has it keeps back only an end that may
// be the beginning of a secret, until more comes or it is closed. Closing does not
// close w.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser {
	return &writer{r: r, w: w}
}

type writer struct {
	r    *Redactor
	w    io.Writer
	kept []byte
}

func (w *writer) Write(p []byte) (int, error) {
	if w.r == nil {
		return w.w.Write(p)
	}
	w.kept = append(w.kept, p...)
	return len(p), w.flush(false)
}

func (w *writer) Close() error {
	if w.r == nil {
		return nil
	}
	return w.flush(true)
}

// flush writes what can be decided by now; all of it at the end.
func (w *writer) flush(end bool) error {
	var out []byte
	text := w.kept
	for len(text) > 0 {
		secret, partial := w.r.at(text)
		if partial && !end {
			break
		}
		if secret > 0 {
			out = append(out, Mark...)
			text = text[secret:]
			continue
		}
		out = append(out, text[0])
		text = text[1:]
	}
	w.kept = append(w.kept[:0], text...)
	if len(out) == 0 {
		return nil
	}
	_, err := w.w.Write(out)
	return err
}

// at returns the length of the longest secret that text begins with, 0 if there is
// none, and whether text is as far as it goes the beginning of a longer one.
func (r *Redactor) at(text []byte) (secret int, partial bool) {
	for _, s := range r.secrets {
		switch {
		case secret == 0 && bytes.HasPrefix(text, s):
			secret = len(s)
		case len(text) < len(s) && bytes.HasPrefix(s, text):
			partial = true
		}
	}
	return secret, partial
}
