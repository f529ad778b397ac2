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
