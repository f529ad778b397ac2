package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/errand-acp/errand/internal/visible"
	"github.com/errand-acp/errand/subagent"
)

// format is what is printed on stdout.
type format int

const (
	answerFormat format = iota // the final answer
	liveFormat                 // the answer as it comes
	jsonFormat                 // the result as one object
	eventsFormat               // every event as an object
)

func (f *runFlags) format(con *console) format {
	switch {
	case f.json:
		return jsonFormat
	case f.events:
		return eventsFormat
	case con.outTTY && !f.quiet:
		return liveFormat
	}
	return answerFormat
}

// isText reports whether the format prints the answer alone, for people.
func (f format) isText() bool { return f == answerFormat || f == liveFormat }

// result is what the format prints at the end. streamed says that the answer is on
// stdout already.
func (f format) result(res *subagent.Result, streamed bool) string {
	switch f {
	case jsonFormat:
		return encode(res)
	case eventsFormat:
		return encode(subagent.Event{Type: subagent.EventEnd, RunID: res.RunID, Time: time.Now(), Result: res})
	case liveFormat:
		if streamed {
			return ""
		}
	}
	text := visible.Text(res.Output)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// encode gives v as a line of JSON that is safe to look at.
func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		// Results and events are made of what was decoded from JSON.
		panic(fmt.Sprintf("errand: encoding %T: %v", v, err))
	}
	return string(visible.JSON(b.Bytes()))
}
