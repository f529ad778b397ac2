package acptest

import "fmt"

// What is kept of a conversation: an agent that says more floods its test.
const (
	maxBytes = 64 << 20
	maxLines = 50_000
)

// room is what there is for a conversation.
type room struct {
	maxBytes, maxLines int
	bytes, lines       int // that are taken
}

func newRoom() room { return room{maxBytes: maxBytes, maxLines: maxLines} }

// take takes room for a line of so many bytes, and says why there is none; empty: there is.
func (r *room) take(bytes int) (full string) {
	r.bytes += bytes
	r.lines++
	switch {
	case r.lines > r.maxLines:
		return fmt.Sprintf("more was said than the test kit keeps of a conversation: %d lines", r.maxLines)
	case r.bytes > r.maxBytes:
		return fmt.Sprintf("more was said than the test kit keeps of a conversation: %d bytes", r.maxBytes)
	}
	return ""
}
