package transcript

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/errand-acp/errand/internal/visible"
	"github.com/errand-acp/errand/internal/wire"
)

// The lines are put together by hand, because encoding/json does not leave a frame as it
// is: it takes the white space out, and escapes <, > and &.

func appendHeader(line []byte, h Header) []byte {
	version := h.Version
	if version == 0 {
		version = Version
	}
	line = append(line, `{"transcript":`...)
	line = strconv.AppendInt(line, int64(version), 10)
	// One that cannot be written is as good as not known.
	if at, err := h.StartedAt.MarshalText(); err == nil && !h.StartedAt.IsZero() {
		line = append(line, `,"startedAt":`...)
		line = appendString(line, string(at))
	}
	line = append(line, `,"runId":`...)
	line = appendString(line, h.RunID)
	line = append(line, `,"client":{"name":`...)
	line = appendString(line, h.Client.Name)
	line = append(line, `,"version":`...)
	line = appendString(line, h.Client.Version)
	line = append(line, `},"command":[`...)
	for i, word := range h.Command {
		if i > 0 {
			line = append(line, ',')
		}
		line = appendString(line, word)
	}
	line = append(line, `],"dir":`...)
	line = appendString(line, h.Dir)
	if len(h.Normalized) > 0 {
		line = append(line, `,"normalized":`...)
		line = append(line, visible.JSON(marshal(h.Normalized))...)
	}
	return append(line, '}')
}

// farthest bounds At, in both directions: 31 years.
const farthest = 1e12 * time.Millisecond

func appendEntry(line []byte, e Entry) []byte {
	line = append(line, '{')
	if us := min(max(e.At, -farthest), farthest).Round(time.Microsecond).Microseconds(); us != 0 {
		line = append(line, `"ms":`...)
		line = strconv.AppendFloat(line, float64(us)/1e3, 'f', -1, 64)
		line = append(line, ',')
	}
	if e.End != nil {
		line = append(line, `"end":`...)
		line = append(line, marshal(e.End)...)
		return append(line, '}')
	}
	line = append(line, `"from":`...)
	line = appendString(line, string(e.From))
	text := e.Text
	if len(e.Frame) > 0 {
		if frame := oneLine(e.Frame); frame != nil {
			line = append(line, `,"frame":`...)
			line = append(line, frame...)
			return append(line, '}')
		}
		text = string(e.Frame)
	}
	line = append(line, `,"text":`...)
	line = appendString(line, text)
	if e.Bytes > 0 {
		line = append(line, `,"bytes":`...)
		line = strconv.AppendInt(line, e.Bytes, 10)
	}
	return append(line, '}')
}

// oneLine returns frame as it can stand in a line of UTF-8; nil if it is no object or
// array.
func oneLine(frame json.RawMessage) []byte {
	out := bytes.TrimSpace(frame)
	if !IsFrame(out) {
		return nil
	}
	if bytes.ContainsAny(out, "\n\r") {
		var b bytes.Buffer
		json.Compact(&b, out) // which is valid
		out = b.Bytes()
	}
	if !utf8.Valid(out) {
		out = []byte(string([]rune(string(out)))) // U+FFFD for each byte, as the client reads it
	}
	return out
}

// IsFrame reports whether text is what a transcript has as a Frame: one JSON object or
// array, nested less deeply than encoding/json takes, so that the line around it can be read.
func IsFrame(text []byte) bool {
	s := wire.NewScan(text)
	if c := s.Kind(); c != '{' && c != '[' {
		return false
	}
	// It is quick, and there is more than it reads.
	return (s.Skip() != nil && s.End() || json.Valid(text)) && fits(text)
}

// fits reports whether a line can hold text, which is valid: it is one level deeper.
func fits(text []byte) bool {
	const deepest = 10_000 // what encoding/json takes
	return bytes.Count(text, []byte("{"))+bytes.Count(text, []byte("[")) < deepest || json.Valid(slices.Concat([]byte("["), text, []byte("]")))
}

// appendString appends s as a JSON string that a terminal can be shown.
func appendString(line []byte, s string) []byte {
	return append(line, visible.JSON(marshal(s))...)
}

// marshal is for what cannot fail, and leaves <, > and & as they are.
func marshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// MarshalJSON returns h as the line that a transcript has.
func (h Header) MarshalJSON() ([]byte, error) { return appendHeader(nil, h), nil }

// MarshalJSON returns e as the line that a transcript has.
func (e Entry) MarshalJSON() ([]byte, error) { return appendEntry(nil, e), nil }
