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
func (c *Conn) receiveUpdate(params []byte, text *textUpdate) any {
	if text == nil {
		s := wire.NewScan(params)
		text = c.readText(&s)
	}
	if text != nil && c.typed && c.updates == nil && c.opts.Observe == nil {
		return text // SessionUpdate is all that it is for
	}
	u := &c.observed
	// It points into the reader's buffer.
	defer func() { *u = Update{} }()
	if text != nil {
		*u = text.update(c.pattern.raw(params))
	} else {
		readUpdate(params, u)
	}
	if !u.Known() {
		c.unknown.Add(1)
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
func readUpdate(params []byte, u *Update) {
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
