package transcript

import (
	"bytes"
	"encoding/json"
)

// Message is what a frame says as JSON-RPC. Values are as they came, nil where the member
// is missing.
type Message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"` // empty where it is missing or no string
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"` // nil also for null
}

// IsRequest reports whether m has a method and an id, and so asks for an answer.
func (m Message) IsRequest() bool { return m.Method != "" && m.ID != nil }

// IsNotification reports whether m has a method and no id.
func (m Message) IsNotification() bool { return m.Method != "" && m.ID == nil }

// IsResponse reports whether m answers a request, well or with an error.
func (m Message) IsResponse() bool {
	return m.Method == "" && (m.Result != nil || m.Error != nil)
}

// Messages returns what the frame of e holds: one message, or those of an array. It is
// empty where e has no frame.
func (e Entry) Messages() []Message {
	var messages []Message
	for _, text := range parts(e.Frame) {
		messages = append(messages, parseMessage(text))
	}
	return messages
}

// parts returns the elements of a frame that is an array, or else the frame.
func parts(frame json.RawMessage) []json.RawMessage {
	frame = bytes.TrimSpace(frame)
	if len(frame) == 0 {
		return nil
	}
	if frame[0] != '[' {
		return []json.RawMessage{frame}
	}
	var all []json.RawMessage
	json.Unmarshal(frame, &all)
	return all
}

// parseMessage reads one object; of anything else nothing.
func parseMessage(text json.RawMessage) (m Message) {
	var f map[string]json.RawMessage
	json.Unmarshal(text, &f)
	m.ID, m.Params, m.Result, m.Error = f["id"], f["params"], f["result"], f["error"]
	json.Unmarshal(f["method"], &m.Method)
	if string(m.Error) == "null" {
		m.Error = nil
	}
	return m
}

// Method returns the method of the frame of e, or of the first message in it; empty for
// an answer and where there is no frame.
func (e Entry) Method() string { return e.first().Method }

// ID returns the id of the frame of e, or of the first message in it, as it came; nil
// where there is none.
func (e Entry) ID() json.RawMessage { return e.first().ID }

func (e Entry) first() Message {
	if all := e.Messages(); len(all) > 0 {
		return all[0]
	}
	return Message{}
}
