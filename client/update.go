package client

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/internal/wire"
)

// Update is one session/update of an agent.
//
// See https://agentclientprotocol.com/protocol/prompt-turn#3-agent-reports-output.
type Update struct {
	// SessionID is the session it is for; empty where the agent did not say.
	SessionID acp.SessionId
	// Kind is the update's sessionUpdate as it was sent; empty where it is missing or
	// no string.
	Kind string
	// Value is the update with whatever of it could be read. All of it is nil where
	// the schema does not have Kind: the agent means something that only Raw tells.
	Value acp.SessionUpdate
	// Raw is the update as it came: params.update, or all of params where that is no
	// object.
	Raw json.RawMessage
	// Meta is the _meta of the notification, not of the update; nil where it has
	// none.
	Meta map[string]any
}

// Known reports whether the schema has the update's kind.
func (u *Update) Known() bool { return u.Value != acp.SessionUpdate{} }

// Clone returns a copy that may be kept when u is valid during a call only.
func (u *Update) Clone() Update {
	c := *u
	c.Raw = slices.Clone(u.Raw)
	return c
}

func (u *Update) notification() acp.SessionNotification {
	return acp.SessionNotification{Meta: u.Meta, SessionId: u.SessionID, Update: u.Value}
}

// receiveUpdate takes the params of a session/update on the reader. What it returns is
// delivered later.
func (c *Conn) receiveUpdate(params []byte) any {
	u := &c.observed
	text := c.readText(params, u)
	if text == nil {
		c.readUpdate(params, u)
		if !u.Known() {
			c.unknown.Add(1)
		}
	}
	if c.opts.Observe != nil {
		c.observe(u)
	}
	switch {
	case c.updates != nil:
		kept := u.Clone()
		return &kept
	case !c.typed || !u.Known():
		return nil
	case text != nil:
		return text
	}
	kept := *u
	kept.Raw = nil
	return &kept
}

// observe calls Observe. A panic in it must not end the reader.
func (c *Conn) observe(u *Update) {
	defer c.wire.Contain()
	c.opts.Observe(u)
}

// deliver hands an update to the client.
func (c *Conn) deliver(ctx context.Context, u *Update) {
	if c.updates != nil {
		c.updates.HandleUpdate(ctx, *u)
	} else {
		c.client.SessionUpdate(ctx, u.notification())
	}
}

// readUpdate reads any update, as far as it can be read.
func (c *Conn) readUpdate(params []byte, u *Update) {
	*u = Update{Raw: params}
	var update []byte
	s := wire.NewScan(params)
	s.Object()
	for name, ok := s.Key(); ok; name, ok = s.Key() {
		value := s.Skip()
		switch string(name) {
		case "sessionId":
			decode(value, &u.SessionID)
		case "_meta":
			decode(value, &u.Meta)
		case "update":
			update = value
		}
	}
	if len(update) == 0 || update[0] != '{' {
		return
	}
	u.Raw = update
	u.Kind = member(update, "sessionUpdate")
	decode(update, &u.Value)
}

// textUpdate is a chunk of text, which is nearly all that agents send.
type textUpdate struct {
	chunk   acp.SessionUpdateAgentMessageChunk
	text    acp.ContentBlockText
	session acp.SessionId
}

const (
	messageChunk = "agent_message_chunk"
	thoughtChunk = "agent_thought_chunk"
)

func (t *textUpdate) value() (v acp.SessionUpdate) {
	if t.chunk.SessionUpdate == thoughtChunk {
		v.AgentThoughtChunk = (*acp.SessionUpdateAgentThoughtChunk)(&t.chunk)
	} else {
		v.AgentMessageChunk = &t.chunk
	}
	return v
}

func (t *textUpdate) notification() acp.SessionNotification {
	return acp.SessionNotification{SessionId: t.session, Update: t.value()}
}

// readText reads an update in one pass, allocating next to nothing, if it is a plain
// chunk of text of the agent. For anything else, and anything odd, it returns nil.
func (c *Conn) readText(params []byte, u *Update) *textUpdate {
	var session, kind, raw []byte
	var chunk textChunk
	s := wire.NewScan(params)
	if !s.Object() {
		return nil
	}
	for name, ok := s.Key(); ok; name, ok = s.Key() {
		switch string(name) {
		case "sessionId":
			session = stringValue(&s)
		case "update":
			s.Kind()
			start := s.Pos()
			if kind, ok = chunk.readUpdate(&s); !ok {
				return nil
			}
			raw = params[start:s.Pos()]
		case "_meta":
			return nil
		default:
			s.Skip()
		}
	}
	if !s.OK() || session == nil || chunk.text == nil {
		return nil
	}
	t := &textUpdate{}
	switch string(kind) {
	case `"` + messageChunk + `"`:
		t.chunk.SessionUpdate = messageChunk
	case `"` + thoughtChunk + `"`:
		t.chunk.SessionUpdate = thoughtChunk
	default:
		return nil
	}
	if plain := session[1 : len(session)-1]; string(plain) != string(c.session) {
		c.session = acp.SessionId(wire.Unquote(session))
	}
	t.session = c.session
	t.text.Type, t.text.Text = "text", wire.Unquote(chunk.text)
	t.chunk.Content.Text = &t.text
	if chunk.messageID != nil {
		id := wire.Unquote(chunk.messageID)
		t.chunk.MessageId = &id
	}
	*u = Update{SessionID: t.session, Kind: t.chunk.SessionUpdate, Value: t.value(), Raw: raw}
	return t
}

// textChunk holds what a plain chunk of text consists of, as raw JSON strings.
type textChunk struct{ text, messageID []byte }

// readUpdate reads the update object at the cursor; ok is false for anything that is
// not a plain chunk of text.
func (t *textChunk) readUpdate(s *wire.Scan) (kind []byte, ok bool) {
	if !s.Object() {
		return nil, false
	}
	for name, ok := s.Key(); ok; name, ok = s.Key() {
		switch string(name) {
		case "sessionUpdate":
			kind = stringValue(s)
		case "content":
			if !t.readContent(s) {
				return nil, false
			}
		case "messageId":
			if t.messageID = stringValue(s); t.messageID == nil {
				return nil, false
			}
		case "_meta":
			return nil, false
		default:
			s.Skip()
		}
	}
	return kind, s.OK()
}

func (t *textChunk) readContent(s *wire.Scan) bool {
	if !s.Object() {
		return false
	}
	var kind []byte
	for name, ok := s.Key(); ok; name, ok = s.Key() {
		switch string(name) {
		case "type":
			kind = stringValue(s)
		case "text":
			t.text = stringValue(s)
		case "_meta", "annotations":
			return false
		default:
			s.Skip()
		}
	}
	return string(kind) == `"text"`
}

// stringValue passes a value and returns it, with its quotes, if it is a string.
func stringValue(s *wire.Scan) []byte {
	isString := s.Kind() == '"'
	value := s.Skip()
	if !isString {
		return nil
	}
	return value
}
