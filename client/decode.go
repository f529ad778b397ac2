package client

import (
	"encoding/json"

	"github.com/coder/acp-go-sdk"
)

// DecodeUpdate reads an update (the object under "update" in a session/update) as a
// Conn does: whatever of it can be read. It keeps raw.
func DecodeUpdate(session acp.SessionId, raw json.RawMessage) Update {
	u := Update{SessionID: session, Kind: member(raw, "sessionUpdate"), Raw: raw}
	decode(raw, &u.Value)
	return u
}

// Text returns the text of a chunk of the agent's message, and false for every other
// update and for other content.
func (u *Update) Text() (text string, ok bool) {
	if chunk := u.Value.AgentMessageChunk; chunk != nil && chunk.Content.Text != nil {
		return chunk.Content.Text.Text, true
	}
	return "", false
}

const (
	// maxRepeated bounds in bytes, and maxRepeatedDepth in nesting, what an agent sent
	// without a meaning of ours and we repeat: any reader of JSON must be able to read
	// the result it is in.
	maxRepeated      = 1 << 20
	maxRepeatedDepth = 100
)

// repeatable reports whether raw, which is JSON, is within these bounds.
func repeatable(raw []byte) bool {
	if len(raw) > maxRepeated {
		return false
	}
	depth, inString, escaped := 0, false, false
	for _, c := range raw {
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = c == '\\', c != '"'
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			if depth++; depth > maxRepeatedDepth {
				return false
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return true
}
