package script

import (
	"encoding/json"
	"strings"

	"github.com/coder/acp-go-sdk"
)

// message is as much of a frame as there is in any, and what the agent looks at in
// its params, read once: they may be long.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`

	session string // the id, "" if there is none
	cwd     string
	text    string // the texts of a prompt, else the params as they are
}

func readMessage(line []byte) (message, error) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return m, err
	}
	var params struct {
		SessionID string `json:"sessionId"`
		Cwd       string `json:"cwd"`
		Prompt    []struct {
			Text string `json:"text"`
		} `json:"prompt"`
	}
	_ = json.Unmarshal(m.Params, &params) // what has another shape is not there
	m.session, m.cwd = params.SessionID, params.Cwd
	if m.Method != acp.AgentMethodSessionPrompt {
		m.text = string(m.Params)
		return m, nil
	}
	texts := make([]string, len(params.Prompt))
	for i, block := range params.Prompt {
		texts[i] = block.Text
	}
	m.text = strings.Join(texts, "")
	return m, nil
}
