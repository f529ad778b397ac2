package traces

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Frame is a line that an agent has read: a request, a notification, or an answer to a
// request of its own. A field that the line does not have is nil or empty.
type Frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// Parse returns the frames of a log, in their order. An error names the first line that
// is none: half a line is none either.
func Parse(log string) ([]Frame, error) {
	var frames []Frame
	for line := range strings.Lines(log) {
		var f Frame
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			return frames, fmt.Errorf("the agent read %.200q: %w", line, err)
		}
		frames = append(frames, f)
	}
	return frames, nil
}
