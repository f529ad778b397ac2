package client

import (
	"bytes"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/internal/wire"
)

// Nearly all that an agent sends is its text, chunk by chunk. Such an update is read
// here in one pass that allocates nothing but the update; and since one chunk differs
// from the one before in its text only, it is mostly compared instead of read.

const (
	messageChunk = "agent_message_chunk"
	thoughtChunk = "agent_thought_chunk"
)

// textUpdate is a chunk of text, with what it points to beside it.
type textUpdate struct {
	chunk     acp.SessionUpdateAgentMessageChunk
	text      acp.ContentBlockText
	messageID string
	session   acp.SessionId
}

func (t *textUpdate) value() (v acp.SessionUpdate) {
	if t.chunk.SessionUpdate == thoughtChunk {
		v.AgentThoughtChunk = (*acp.SessionUpdateAgentThoughtChunk)(&t.chunk)
	} else {
		v.AgentMessageChunk = &t.chunk
	}
	return v
}

func (t *textUpdate) update(raw []byte) Update {
	return Update{SessionID: t.session, Kind: t.chunk.SessionUpdate, Value: t.value(), Raw: raw}
}

func (t *textUpdate) notification() acp.SessionNotification {
	return acp.SessionNotification{SessionId: t.session, Update: t.value()}
}

// textPattern is the params of a chunk of text around the text itself.
type textPattern struct {
	// head ends with the text's opening quote, tail begins after its closing quote.
	head, tail []byte
	// The update begins at start and ends after so many bytes before the end.
	start, after int

	kind         string // messageChunk or thoughtChunk
	session      acp.SessionId
	messageID    string
	hasMessageID bool
}

// maxPattern bounds what a connection holds for this.
const maxPattern = 1 << 10

// raw returns the update within the params that matched last.
func (p *textPattern) raw(params []byte) []byte { return params[p.start : len(params)-p.after] }

// readText reads the params at the cursor if they are a plain chunk of text of the
// agent. For anything else, and anything odd, it returns nil.
func (c *Conn) readText(s *wire.Scan) *textUpdate {
	text := c.pattern.match(s)
	if text == nil {
		if text = c.pattern.learn(s); text == nil {
			return nil
		}
	}
	p := &c.pattern
	t := &textUpdate{session: p.session, messageID: p.messageID}
	t.text.Type, t.text.Text = "text", wire.Unquote(text)
	t.chunk.SessionUpdate = p.kind
	t.chunk.Content.Text = &t.text
	if p.hasMessageID {
		t.chunk.MessageId = &t.messageID
	}
	if len(p.head) == 0 {
		p.session, p.messageID = "", "" // too long to be kept
	}
	return t
}

// match passes params that differ from the pattern in the text only, and returns the
// text as a JSON string.
func (p *textPattern) match(s *wire.Scan) []byte {
	params := s.Rest()
	if len(p.head) == 0 || !bytes.HasPrefix(params, p.head) {
		return nil
	}
	body := wire.NewScan(params[len(p.head)-1:])
	text := body.String()
	if !body.OK() || !bytes.HasPrefix(body.Rest(), p.tail) {
		return nil
	}
	s.Pass(len(p.head) - 1 + len(text) + len(p.tail))
	return text
}

// learn reads params of any form, as far as they are a plain chunk of text, and makes
// them the pattern.
func (p *textPattern) learn(s *wire.Scan) []byte {
	line := s.Rest() // from the params on
	at := func() int { return len(line) - len(s.Rest()) }
	var r textReader
	var session []byte
	var start, end int
	if !s.Object() {
		return nil
	}
	for name, ok := s.Key(); ok; name, ok = s.Key() {
		switch string(name) {
		case "sessionId":
			session = s.String()
		case "update":
			s.Kind()
			start = at()
			r = textReader{} // of two updates the last one counts, alone
			if !r.readUpdate(s) {
				return nil
			}
			end = at()
		case "_meta":
			return nil
		default:
			s.Skip()
		}
	}
	if !s.OK() || session == nil || r.text == nil {
		return nil
	}
	switch r.kind {
	case messageChunk, thoughtChunk:
	default:
		return nil
	}
	*p = textPattern{
		head: p.head[:0], tail: p.tail[:0], start: start, after: at() - end,
		kind: r.kind, session: acp.SessionId(wire.Unquote(session)),
	}
	if r.messageID != nil {
		p.messageID, p.hasMessageID = wire.Unquote(r.messageID), true
	}
	if at()-len(r.text) <= maxPattern {
		begin := len(line) - r.left
		p.head = append(p.head, line[:begin+1]...)
		p.tail = append(p.tail, line[begin+len(r.text):at()]...)
	}
	return r.text
}

// textReader collects what a plain chunk of text consists of.
type textReader struct {
	kind            string
	text, messageID []byte // with their quotes; nil where missing
	left            int    // bytes of the line from the text on
}

// readUpdate reads the update at the cursor; false for anything that is not a plain
// chunk of text.
func (r *textReader) readUpdate(s *wire.Scan) bool {
	if !s.Object() {
		return false
	}
	for name, ok := s.Key(); ok; name, ok = s.Key() {
		switch string(name) {
		case "sessionUpdate":
			switch string(s.String()) {
			case `"` + messageChunk + `"`:
				r.kind = messageChunk
			case `"` + thoughtChunk + `"`:
				r.kind = thoughtChunk
			default:
				return false
			}
		case "content":
			if !r.readContent(s) {
				return false
			}
		case "messageId":
			if r.messageID = s.String(); r.messageID == nil {
				return false
			}
		case "_meta":
			return false
		default:
			s.Skip()
		}
	}
	return s.OK()
}

func (r *textReader) readContent(s *wire.Scan) bool {
	if !s.Object() {
		return false
	}
	isText := false
	r.text = nil
	for name, ok := s.Key(); ok; name, ok = s.Key() {
		switch string(name) {
		case "type":
			isText = string(s.String()) == `"text"`
		case "text":
			s.Kind()
			r.left = len(s.Rest())
			r.text = s.String()
		case "_meta", "annotations":
			return false
		default:
			s.Skip()
		}
	}
	return isText && s.OK()
}
