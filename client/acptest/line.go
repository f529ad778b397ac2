package acptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/internal/visible"
)

// line is an entry of a conversation as it is compared and shown: with all that is in it,
// and the same however its JSON is written.
type line struct {
	head string // what it is
	body string // what it says
}

func (l line) String() string { return visible.Line(strings.TrimRight(l.head+" "+l.body, " ")) }

// lines are a conversation as it is compared.
func lines(talk *transcript.Transcript) []line {
	var b bytes.Buffer
	talk.WriteTo(&b) // a buffer takes everything
	header, _, _ := bytes.Cut(b.Bytes(), []byte("\n"))
	all := []line{{"run:", canonical(header)}}
	for _, e := range talk.Entries {
		all = append(all, newLine(e))
	}
	return all
}

func newLine(e transcript.Entry) line {
	at := ""
	if e.At != 0 {
		at = fmt.Sprintf("%10.3f ", float64(e.At.Microseconds())/1e3)
	}
	switch {
	case e.End != nil:
		return line{at + "end:", marshal(e.End)}
	case len(e.Frame) > 0:
		l := message(e.Frame)
		l.head = strings.TrimRight(fmt.Sprintf("%s%-6s -> %s", at, e.From, l.head), " ")
		return l
	}
	l := line{fmt.Sprintf("%s%-6s | ", at, e.From), marshal(e.Text)}
	if e.Bytes != 0 {
		l.body += fmt.Sprintf(" (%d bytes)", e.Bytes)
	}
	return l
}

// message is a frame, in short where it has what a frame should have and nothing else.
func message(frame json.RawMessage) line {
	var m map[string]json.RawMessage
	whole := line{"", canonical(frame)}
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
		return line{strings.TrimRight(method+" "+id, " "), canonical(m["params"])}
	case id != "" && m["result"] != nil && has("id", "result"):
		return line{id + " =", canonical(m["result"])}
	case id != "" && m["error"] != nil && has("id", "error"):
		return line{id + " = error", canonical(m["error"])}
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
