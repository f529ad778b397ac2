package acptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/internal/visible"
)

// lines are a conversation as it is compared and shown: an entry a line, with all that is in
// it, and the same however its JSON is written.
func lines(talk *transcript.Transcript) []string {
	var b bytes.Buffer
	talk.WriteTo(&b) // a buffer takes everything
	header, _, _ := bytes.Cut(b.Bytes(), []byte("\n"))
	all := []string{show("run: " + canonical(header))}
	for _, e := range talk.Entries {
		all = append(all, show(entry(e)))
	}
	return all
}

// show makes a line one that cmp shows as it is, between backquotes, and not with each of the
// quotes in its JSON escaped.
func show(line string) string {
	line = visible.Line(strings.TrimRight(line, " "))
	odd := func(r rune) bool { return r == '`' || !unicode.IsPrint(r) }
	if !strings.ContainsFunc(line, odd) {
		return line
	}
	var b strings.Builder
	for _, r := range line {
		if odd(r) {
			fmt.Fprintf(&b, `\u{%x}`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func entry(e transcript.Entry) string {
	at := ""
	if e.At != 0 {
		at = fmt.Sprintf("%10.3f ", float64(e.At.Microseconds())/1e3)
	}
	switch {
	case e.End != nil:
		return at + "end: " + marshal(e.End)
	case len(e.Frame) > 0:
		return fmt.Sprintf("%s%-6s -> %s", at, e.From, message(e.Frame))
	case e.Bytes != 0:
		return fmt.Sprintf("%s%-6s |  %s (%d bytes)", at, e.From, marshal(e.Text), e.Bytes)
	}
	return fmt.Sprintf("%s%-6s |  %s", at, e.From, marshal(e.Text))
}

// message is a frame, in short where it has what a frame should have and nothing else.
func message(frame json.RawMessage) string {
	var m map[string]json.RawMessage
	whole := canonical(frame)
	if json.Unmarshal(frame, &m) != nil || canonical(m["jsonrpc"]) != `"2.0"` {
		return whole
	}
	delete(m, "jsonrpc")
	has := func(names ...string) bool {
		for name := range m {
			if !slices.Contains(names, name) {
				return false
			}
		}
		return true
	}
	id := ""
	if m["id"] != nil {
		id = "#" + canonical(m["id"])
	}
	var method string
	json.Unmarshal(m["method"], &method)
	switch {
	case plainMethod.MatchString(method) && has("method", "id", "params"):
		return strings.TrimRight(method+" "+id, " ") + " " + canonical(m["params"])
	case id != "" && m["result"] != nil && has("id", "result"):
		return id + " = " + canonical(m["result"])
	case id != "" && m["error"] != nil && has("id", "error"):
		return id + " = error " + canonical(m["error"])
	}
	return whole
}

var plainMethod = regexp.MustCompile(`^[\w$./-]+$`)

// canonical is a JSON text as every JSON library would have to write it: no white space, the
// members in the order of their names, and numbers as they are.
func canonical(text []byte) string {
	if text == nil {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // an id may be larger than what a float holds
	var v any
	if err := d.Decode(&v); err != nil {
		return string(text)
	}
	return marshal(v)
}

func marshal(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}
