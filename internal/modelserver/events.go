package modelserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// maxBody bounds a question: agents send long instructions, and no more than this.
const maxBody = 64 << 20

// object is a JSON object of an answer.
type object = map[string]any

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	return io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
}

// events writes server-sent events.
type events struct {
	ctx context.Context
	w   http.ResponseWriter
}

func startEvents(w http.ResponseWriter, r *http.Request) *events {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	return &events{ctx: r.Context(), w: w}
}

// send writes an event. What cannot be written has nobody to read it.
func (e *events) send(data any) {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // all of it is made here
	}
	e.raw("data: " + string(text) + "\n\n")
}

// named writes an event whose data has its name as its type too.
func (e *events) named(name string, data object) {
	data["type"] = name
	_, _ = io.WriteString(e.w, "event: "+name+"\n")
	e.send(data)
}

func (e *events) raw(text string) {
	_, _ = io.WriteString(e.w, text)
	_ = http.NewResponseController(e.w).Flush()
}

// words calls send with each word of the answer in its time, and says whether that came
// to its end.
func (e *events) words(a answer, send func(string)) bool {
	for _, word := range a.words {
		if !pause(e.ctx, a.pause) {
			return false
		}
		send(word)
	}
	return true
}

// contents is text that APIs have as a string or as a list of parts.
type contents []part

type part struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Content json.RawMessage `json:"content"` // of a tool's result
}

func (c *contents) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, (*[]part)(c))
	}
	var text *string // null, for nothing said
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("content is neither a text nor a list: %w", err)
	}
	if text != nil {
		*c = contents{{Type: "text", Text: *text}}
	}
	return nil
}

// text joins what is text of the contents.
func (c contents) text() string {
	text := ""
	for _, p := range c {
		if p.Text != "" {
			text += p.Text + "\n"
		}
	}
	return text
}
