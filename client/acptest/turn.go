package acptest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
)

// Turn is a prompt turn: what the agent makes of one prompt.
//
// Expectations are read in the order in which the agent did things. Each waits for the
// first thing that fits it, after what the one before it has found, and skips what nobody
// asked for; a permission request cannot be skipped. Each fails the test where its
// thing does not come before the turn ends, or in time.
//
// What the agent does after the last of them is not waited for: a turn that is still open at
// the end of the test is cancelled, which is no failure, unless the agent has died in it or
// asks for a permission by then. Let each turn end with [Turn.Stop] or [Turn.Error].
type Turn struct {
	s    *Session
	a    *Agent
	from int                     // the first event of the turn
	stop context.CancelCauseFunc // ends the prompt's context
	done chan struct{}           // closed when the turn is over

	// Where the expectations are: the next event, and how many bytes of its text are behind
	// them. Used by the test's goroutine.
	at, off int

	// What follows is guarded by the journal's mutex.
	cancelled bool // by the test
	ended     bool // its end is among the events
	until     int  // its index, once it is
	answered  bool // by the agent, with a result or an error
	over      bool // and it is known what it came to
	answer    client.Answer
	err       error
}

// run carries out the turn.
func (t *Turn) run(ctx context.Context, blocks []acp.ContentBlock, sent chan struct{}) {
	defer close(t.done)
	defer t.stop(nil)
	answer, err := t.s.session.Prompt(ctx, blocks, &client.PromptOptions{
		OnSent: func() { close(sent) },
		OnReply: func() {
			t.a.change(func() {
				t.a.heard++
				t.answered = true
				t.end()
			})
		},
	})
	t.a.change(func() {
		t.end() // unless the agent's answer has done it
		t.over, t.answer, t.err = true, answer, err
	})
}

// end adds the end to the events; with the journal's mutex held.
func (t *Turn) end() {
	if !t.ended {
		t.ended, t.until = true, len(t.a.events)
		t.a.events = append(t.a.events, &event{session: t.s.ID(), end: t})
	}
}

// Cancel asks the agent to end the turn, unless it has. Permission requests that are open,
// and those that come later, are answered `cancelled`. What the agent answers is for
// [Turn.Stop].
//
// See https://agentclientprotocol.com/protocol/prompt-turn#cancellation.
func (t *Turn) Cancel() {
	t.a.t.Helper()
	over := false
	t.a.change(func() { over, t.cancelled = t.ended, true })
	if over {
		return
	}
	ctx, cancel := t.a.waitContext()
	defer cancel()
	// Not by the end of the prompt's context: after that the client has less patience than
	// the test.
	err := t.a.agent.Conn().Cancel(ctx, acp.CancelNotification{SessionId: t.s.ID()})
	// One who has gone, or ended the turn, need not hear of it.
	if err != nil && ctx.Err() != nil {
		t.a.fatal("Cancel", "session/cancel could not be sent: "+t.a.text(err))
	}
}

// Stop waits for the end of the turn, which must be for this reason: "end_turn",
// "cancelled", "refusal", "max_tokens" or "max_turn_requests". It returns the agent's
// answer, with its usage and _meta.
//
// See https://agentclientprotocol.com/protocol/prompt-turn#stop-reasons.
func (t *Turn) Stop(reason acp.StopReason) client.Answer {
	t.a.t.Helper()
	what := fmt.Sprintf("Stop(%q)", string(reason))
	t.await(what)
	if t.err != nil || t.answer.StopReason == nil || *t.answer.StopReason != string(reason) {
		t.a.fatal(what, t.outcome())
	}
	return t.answer
}

// Error waits for the end of the turn, which must be an error of this kind, or of any if
// kind is empty: client.KindAgent for an error that the agent answers with,
// client.KindExit where it ends instead, client.KindCapability for a content block that it
// does not take. It returns the error, with code and data of the agent's.
func (t *Turn) Error(kind client.ErrorKind) *client.Error {
	t.a.t.Helper()
	what := fmt.Sprintf("Error(%q)", string(kind))
	t.await(what)
	e, ok := errors.AsType[*client.Error](t.err)
	if !ok || kind != "" && e.Kind != kind {
		t.a.fatal(what, t.outcome())
	}
	if e.Kind == client.KindExit {
		t.a.seen.Store(true)
	}
	return e
}

// await waits for the end of the turn.
func (t *Turn) await(what string) {
	t.a.t.Helper()
	t.a.wait(what, "the turn did not end", func() (bool, string) {
		for ; t.at < len(t.a.events); t.at++ {
			e := t.a.events[t.at]
			t.off = 0
			switch {
			case e.end == t:
				return t.over, ""
			case t.unexpected(e):
				return false, t.a.surprise(e.ask)
			}
		}
		for _, i := range t.a.asks {
			e := t.a.events[i]
			if k := e.ask; i >= t.from && t.concerns(e) && k.claimed && !t.cancelled && !t.a.ruled && !k.given && k.record == nil {
				return false, "the test has not answered a permission request: " + t.a.tell(k) +
					"\nAnswer it before: Allow, Reject, Select or Cancel"
			}
		}
		return false, ""
	}, nil)
}

// outcome says how the turn ended, which is over.
func (t *Turn) outcome() string {
	switch {
	case t.err != nil:
		return "the turn ended with an error: " + t.a.text(t.err)
	case t.answer.StopReason == nil:
		return "the turn ended with an answer that has no stop reason: " + t.a.quoted(string(t.answer.Raw))
	}
	return "the turn ended with " + t.a.quoted(*t.answer.StopReason)
}

// Output waits for the end of the turn, however it ends, and returns the agent's final
// answer: the last of its [Turn.Messages], empty without any. An agent that died in the turn
// fails the test at its end, unless that looks at it.
func (t *Turn) Output() string {
	t.a.t.Helper()
	t.await("Output")
	messages := t.messages()
	if len(messages) == 0 {
		return ""
	}
	return messages[len(messages)-1]
}

// Messages waits for the end of the turn and returns what the agent said in it. A message
// ends where its id changes, or where something else comes in between: a tool call, a
// thought, a plan.
func (t *Turn) Messages() []string {
	t.a.t.Helper()
	t.await("Messages")
	return t.messages()
}

func (t *Turn) messages() []string {
	var all []string
	var id string
	open := false // the next chunk may go on with the last message
	for _, u := range t.updates() {
		switch u.Kind {
		case "agent_message_chunk":
			chunk, _ := u.Text()
			next := messageID(&u)
			switch {
			case open && (next == "" || next == id):
				all[len(all)-1] += chunk
			case chunk != "":
				all, id, open = append(all, chunk), next, true
			default:
				open = false
			}
		case "agent_thought_chunk", "user_message_chunk", "tool_call", "tool_call_update", "plan":
			open = false
		}
	}
	return all
}

func messageID(u *client.Update) string {
	if c := u.Value.AgentMessageChunk; c != nil && c.MessageId != nil {
		return *c.MessageId
	}
	return ""
}

// Updates returns the updates of the turn so far, all of them once it has ended: for what
// the kit has no expectation for, such as that there was no tool call.
func (t *Turn) Updates() []client.Update { return t.updates() }

func (t *Turn) updates() []client.Update {
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	var all []client.Update
	for _, e := range t.events() {
		if e.update != nil && e.session == t.s.ID() {
			all = append(all, e.update.Clone())
		}
	}
	return all
}

// events are those from the beginning of the turn to its end; with the journal's mutex held.
func (t *Turn) events() []*event {
	if t.ended {
		return t.a.events[t.from:t.until]
	}
	return t.a.events[t.from:]
}

// concerns reports whether e is of the turn; with the journal's mutex held. A permission
// request of a session that is not ours, one that the agent made for itself, is of any
// turn that is open.
func (t *Turn) concerns(e *event) bool {
	if e.session == t.s.ID() {
		return true
	}
	_, ours := t.a.open[e.session]
	return e.ask != nil && !ours
}

// unexpected reports whether e is a permission request that nobody expects; with the
// journal's mutex held.
func (t *Turn) unexpected(e *event) bool {
	return e.ask != nil && t.concerns(e) && !e.ask.claimed && !t.a.ruled && !t.cancelled
}

// misses reports whether the event with index i is a permission request of the turn, by its
// end, that nobody expects; with the journal's mutex held.
func (t *Turn) misses(i int) bool {
	return i >= t.from && (!t.ended || i < t.until) && t.unexpected(t.a.events[i])
}

// missed returns the first permission request that nobody expects in one of the turns that
// began through this Agent, nil if there is none; with the journal's mutex held.
func (a *Agent) missed() *ask {
	for _, i := range a.asks {
		if slices.ContainsFunc(a.turns, func(t *Turn) bool { return t.misses(i) }) {
			return a.events[i].ask
		}
	}
	return nil
}

// surprise says that a permission request was not expected.
func (c *core) surprise(k *ask) string {
	return "the agent asks for a permission that the test does not expect: " + c.tell(k) + "\n" +
		fmt.Sprintf("Expect it here, with %s.Allow() for one, or set Options.Client.Permission", c.expectation(k))
}

// expectation is how a test expects a permission request.
func (c *core) expectation(k *ask) string {
	for _, name := range []string{string(deref(k.call.Kind)), deref(k.call.Title), string(k.call.ToolCallId)} {
		if name != "" && means(name, k.call) {
			return "turn.Permission(" + c.quoted(name) + ")"
		}
	}
	return `turn.Permission("")`
}

// tell is a permission request in short.
func (c *core) tell(k *ask) string {
	what := "tool call " + c.quoted(string(k.call.ToolCallId))
	if title := deref(k.call.Title); title != "" {
		what = c.quoted(title) + " (" + what + ")"
	}
	if kind := deref(k.call.Kind); kind != "" {
		what = c.line(string(kind)) + " " + what
	}
	var options []string
	for _, o := range k.req.Options {
		options = append(options, c.quoted(string(o.OptionId))+" ("+c.line(string(o.Kind))+")")
	}
	return what + ", offering " + cmp.Or(strings.Join(options, ", "), "no option")
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
