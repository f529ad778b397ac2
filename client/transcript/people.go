package transcript

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/errand-acp/errand/internal/visible"
)

// shown is how much of a frame or a line String shows, in bytes, shownName of an id or the name
// of a method, and shownMessages how many messages of an array.
const (
	shown         = 600
	shownName     = 100
	shownMessages = 20
)

// String shows t to people, one line an entry. What the agent wrote is shown with control
// characters and the like made visible, and what is long is cut:
//
//	run 4A7…: opencode acp, in /abs/project
//	     0.512 client -> initialize #1 {"protocolVersion":1,…}
//	     7.100 agent  -> initialize #1 = {"agentCapabilities":{},…}
//	     8.000 stderr |  a line
//	     9.300 end: exit status 0, after eof
func (t *Transcript) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "run %s: %s, in %s\n", label(t.Header.RunID),
		excerpt(strings.Join(t.Header.Command, " "), 0), excerpt(t.Header.Dir, 0))
	asked := pending{}
	for _, e := range t.Entries {
		at := fmt.Sprintf("%10.3f ", float64(e.At)/float64(time.Millisecond))
		switch {
		case e.End != nil:
			fmt.Fprintf(&b, "%send: %s\n", at, excerpt(e.End.String(), 0))
		case len(e.Frame) > 0:
			all := parts(e.Frame)
			if len(all) == 0 {
				all = []json.RawMessage{e.Frame}
			}
			for i, text := range all {
				line := asked.line(e.From, text)
				if i < shownMessages {
					fmt.Fprintf(&b, "%s%-6s -> %s\n", at, e.From, line)
				}
			}
			if more := len(all) - shownMessages; more > 0 {
				fmt.Fprintf(&b, "%s%-6s -> … and %d more\n", at, e.From, more)
			}
		default:
			fmt.Fprintf(&b, "%s%-6s |  %s\n", at, e.From, excerpt(e.Text, e.Bytes))
		}
	}
	if t.Cut {
		b.WriteString("           (the recording was cut off here)\n")
	}
	return b.String()
}

// String is how an error tells it: "exit status 0, after eof".
func (e *End) String() string {
	how := "it is not known how"
	switch {
	case *e == (End{}):
		return "it was not started"
	case e.Signal != nil:
		how = "signal " + *e.Signal
	case e.Code != nil:
		how = fmt.Sprintf("exit status %d", *e.Code)
	}
	if e.Rung != "" {
		how += ", after " + e.Rung
	}
	return how
}

// pending is which method a request had that has not been answered, by asker and id.
type pending map[string]string

// line shows one message.
func (asked pending) line(from From, text json.RawMessage) string {
	m := parseMessage(text)
	id := label(string(m.ID))
	switch {
	case m.IsResponse():
		key := string(other(from)) + string(m.ID)
		method := asked[key]
		delete(asked, key)
		what := strings.TrimLeft(label(method)+" #"+id, " ")
		if m.Error != nil {
			return what + " = error " + excerpt(string(m.Error), 0)
		}
		return what + " = " + excerpt(string(m.Result), 0)
	case m.Method == "":
		return excerpt(string(text), 0) // it makes no sense as a frame
	}
	what := label(m.Method)
	if m.ID != nil {
		asked[string(from)+string(m.ID)] = m.Method
		what += " #" + id
	}
	return strings.TrimRight(what+" "+excerpt(string(m.Params), 0), " ")
}

// excerpt shows a line, or its beginning: the whole of it had size bytes, or as many as
// text has if that is 0.
func excerpt(text string, size int64) string { return clip(text, size, shown) }

// label shows an id or a name, or its beginning.
func label(text string) string { return clip(text, 0, shownName) }

func clip(text string, size int64, most int) string {
	whole := max(size, int64(len(text)))
	if len(text) > most {
		text = text[:most]
		for range utf8.UTFMax - 1 { // not in the middle of a character
			if r, n := utf8.DecodeLastRuneInString(text); r != utf8.RuneError || n != 1 {
				break
			}
			text = text[:len(text)-1]
		}
	}
	out := visible.Line(text)
	if int64(len(text)) < whole {
		out += fmt.Sprintf("… (%d bytes)", whole)
	}
	return out
}
