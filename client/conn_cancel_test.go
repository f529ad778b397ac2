package client

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
)

// An answer wins over a session/cancel that waits behind a frame the agent does not
// read: it was read before that was written.
func TestConnAnswerBeforeCancelIsWritten(t *testing.T) {
	for name, cancel := range map[string]func(*Conn, context.CancelFunc){
		"context": func(_ *Conn, end context.CancelFunc) { end() },
		"Cancel": func(c *Conn, _ context.CancelFunc) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.postCancel("s", acp.CancelNotification{SessionId: "s"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newConnPeer(t)
			conn := p.dial(nil, &ConnOptions{CancelGrace: connPatience})
			ctx, end := context.WithCancel(t.Context())
			defer end()
			turn := async(func() (promptReply, error) { return conn.prompt(ctx, promptText("s", "hi"), promptHooks{}) })
			f := p.expect("session/prompt")
			note := async(func() (any, error) {
				return nil, conn.Notify(t.Context(), "note", []string{strings.Repeat("x", 2<<20)})
			})
			if _, err := p.in.Peek(1); err != nil { // the note is under way
				t.Fatal(err)
			}
			cancel(conn, end)
			for deadline := time.Now().Add(connPatience); !conn.cancelPosted("s"); time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("no session/cancel")
				}
			}
			p.reply(f, `{"stopReason":"end_turn"}`)
			r, err := await(t, turn)
			if err != nil || string(r.raw) != `{"stopReason":"end_turn"}` || r.cancelled {
				t.Errorf("%+v, %v", r, err)
			}
			// Once the agent reads again it is told, and the session can be used.
			p.expect("note")
			p.expect("session/cancel")
			await(t, note)
			next := prompt(t.Context(), conn, "s")
			p.reply(p.expect("session/prompt"), `{"stopReason":"end_turn"}`)
			if _, err := await(t, next); err != nil {
				t.Error(err)
			}
		})
	}
}

// cancelPosted reports whether the open turn of a session was cancelled.
func (c *Conn) cancelPosted(id acp.SessionId) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.sessions[id].turn
	return t != nil && t.cancel != nil
}

// unseenEnd is a context whose end nobody is woken by.
type unseenEnd struct {
	context.Context
	over atomic.Bool
}

func (c *unseenEnd) Done() <-chan struct{} { return nil }

func (c *unseenEnd) Err() error {
	if c.over.Load() {
		return context.Canceled
	}
	return nil
}

// Who cancels and then ends the agent has cancelled, also where the end is heard of first.
func TestConnCancelBeforeTheEnd(t *testing.T) {
	for name, cancelled := range map[string]bool{"cancelled": true, "not cancelled": false} {
		t.Run(name, func(t *testing.T) {
			p := newConnPeer(t)
			conn := p.dial(nil, nil)
			ctx := &unseenEnd{Context: t.Context()}
			turn := async(func() (promptReply, error) { return conn.prompt(ctx, promptText("s", "hi"), promptHooks{}) })
			p.expect("session/prompt")
			ctx.over.Store(cancelled)
			p.out.Close()
			r, err := await(t, turn)
			if _, closed := errors.AsType[*ClosedError](err); !closed || r.cancelled != cancelled {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}
