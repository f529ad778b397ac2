package check

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Frames is what encoding/json makes of an agent's output, for a fuzz target to compare
// with what our own reading makes of it: the lines that leave nothing open.
type Frames struct {
	List []Frame
	// certain is how many of them come before a line that may be anything.
	certain int
}

// Frame is a frame's members.
type Frame map[string]json.RawMessage

// ReadFrames reads the frames of text that are no longer than limit.
func ReadFrames(text string, limit int) (fs Frames) {
	certain := true
	for line := range strings.SplitSeq(text, "\n") {
		var f Frame
		deep := strings.Count(line, "{")+strings.Count(line, "[") > 100
		if len(line) <= limit && utf8.ValidString(line) && !deep && json.Unmarshal([]byte(line), &f) == nil && string(f["jsonrpc"]) == `"2.0"` {
			fs.List = append(fs.List, f)
		} else if strings.ContainsAny(line, "{[") {
			certain = false
		}
		if certain {
			fs.certain = len(fs.List)
		}
	}
	return fs
}

// Reply returns the result of the call with that id, and how many frames come before it;
// nil if there is none for certain.
func (fs Frames) Reply(id string) (result json.RawMessage, before int) {
	for i, f := range fs.List[:fs.certain] {
		result := f["result"]
		switch got := string(f["id"]); {
		case got == id && result != nil && f["error"] == nil && f["method"] == nil:
			return result, i
		case got == id || strings.Trim(got, "123456789") != "":
			return nil, 0 // it may be the reply written otherwise, or an echo
		}
	}
	return nil, 0
}

// Asks reports whether the frame is a request for certain, though maybe an invalid one.
func (f Frame) Asks() bool {
	id := f["id"]
	return (f["method"] != nil || f["params"] != nil) && f["result"] == nil && f["error"] == nil &&
		id != nil && string(id) != "null" && !bytes.ContainsAny(id[:1], "{[")
}

// Member returns the string that stands at a path of names in nested objects. Names have
// to match exactly, which encoding/json does not ask for.
func Member(raw json.RawMessage, path ...string) (text string, ok bool) {
	for _, name := range path {
		var f Frame
		if json.Unmarshal(raw, &f) != nil {
			return "", false
		}
		raw = f[name]
	}
	return text, bytes.HasPrefix(raw, []byte(`"`)) && json.Unmarshal(raw, &text) == nil
}
