package script

import (
	"encoding/json"
	"io"
	"sync"
	"sync/atomic"
)

// output is the agent's stdout, shared by the SDK's connection and by the statements
// that write bytes of their own. What one call writes is never torn by another.
type output struct {
	sealed atomic.Bool // the agent has ended: the SDK has nothing to say any more

	mu       sync.Mutex // guards what follows
	w        io.Writer
	newline  string // what ends a frame
	expected map[string][]chan struct{}
}

func newOutput(w io.Writer) *output {
	return &output{w: w, newline: "\n", expected: map[string][]chan struct{}{}}
}

// Write takes one frame of the SDK, which ends in a line feed. Errors are for nobody:
// an agent that closed its stdout, or lost its reader, goes on with its script.
func (o *output) Write(frame []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.put(frame[:len(frame)-1], o.newline)
	if len(o.expected) > 0 {
		var m message
		if json.Unmarshal(frame, &m) == nil {
			key := frameKey(m)
			for _, ch := range o.expected[key] {
				close(ch)
			}
			delete(o.expected, key)
		}
	}
	return len(frame), nil
}

// frame writes a frame of ours.
func (o *output) frame(frame []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.put(frame, o.newline)
}

// raw writes bytes that need not be a frame.
func (o *output) raw(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.put(b, "")
}

func (o *output) put(b []byte, end string) {
	if o.sealed.Load() {
		return
	}
	_, _ = o.w.Write(append(b[:len(b):len(b)], end...))
}

func (o *output) setNewline(end string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.newline = end
}

func (o *output) ending() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.newline
}

// expect returns a channel that is closed once the SDK has written its response to
// the request with this id, or if there is a method, a frame with that.
func (o *output) expect(m message) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	ch := make(chan struct{})
	o.expected[frameKey(m)] = append(o.expected[frameKey(m)], ch)
	return ch
}

func frameKey(m message) string {
	if m.Method != "" {
		return "method " + m.Method
	}
	return "id " + idKey(m.ID)
}

// close closes the descriptor, as far as there is one.
func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c, ok := o.w.(io.Closer); ok {
		_ = c.Close()
	}
}

// idKey makes ids comparable that JSON can write in two ways ("<" and "\u003c").
func idKey(id json.RawMessage) string {
	var s string
	if len(id) > 0 && id[0] == '"' && json.Unmarshal(id, &s) == nil {
		return "text " + s
	}
	return string(id)
}
