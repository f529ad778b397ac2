package conform

import (
	"fmt"

	"github.com/errand-acp/errand/client/transcript"
)

var promptRules = []Rule{
	{
		ID: "prompt-text", Title: "takes text in a prompt", Level: Must,
		Quote:  "As a baseline, all Agents MUST support ContentBlock::Text and ContentBlock::ResourceLink in session/prompt requests.",
		Source: "https://agentclientprotocol.com/protocol/initialization#prompt-capabilities",
		scenes: []string{"content"}, judge: takes("text"),
	},
	{
		ID: "prompt-resource-link", Title: "takes a resource link in a prompt", Level: Must,
		Quote:  "As a baseline, all Agents MUST support ContentBlock::Text and ContentBlock::ResourceLink in session/prompt requests.",
		Source: "https://agentclientprotocol.com/protocol/initialization#prompt-capabilities",
		scenes: []string{"content"}, judge: takes("resource_link"),
	},
	{
		ID: "prompt-image", Title: "takes an image, if it says so", Level: Should,
		Quote:  "The Agent SHOULD specify whether it supports the following capabilities: […] promptCapabilities: Object indicating the different types of content that may be included in session/prompt requests.",
		Source: "https://agentclientprotocol.com/protocol/initialization#agent-capabilities",
		scenes: []string{"content"}, judge: takesAdvertised("image", "image"),
	},
	{
		ID: "prompt-audio", Title: "takes audio, if it says so", Level: Should,
		Quote:  "The Agent SHOULD specify whether it supports the following capabilities: […] promptCapabilities: Object indicating the different types of content that may be included in session/prompt requests.",
		Source: "https://agentclientprotocol.com/protocol/initialization#agent-capabilities",
		scenes: []string{"content"}, judge: takesAdvertised("audio", "audio"),
	},
	{
		ID: "prompt-embedded-context", Title: "takes an embedded resource, if it says so", Level: Should,
		Quote:  "The Agent SHOULD specify whether it supports the following capabilities: […] promptCapabilities: Object indicating the different types of content that may be included in session/prompt requests.",
		Source: "https://agentclientprotocol.com/protocol/initialization#agent-capabilities",
		scenes: []string{"content"}, judge: takesAdvertised("resource", "embeddedContext"),
	},
	{
		ID: "prompt-not-advertised", Title: "survives content that it does not take", Level: Manners,
		Quote:  "A client that sends a type of content by mistake, or a user's file of it, is told by an error or sees it ignored; it should not lose the agent with everything that the session was about.",
		scenes: []string{"content"}, judge: judgeNotAdvertised,
	},
	{
		ID: "prompt-stop-reason", Title: "ends a turn with a stop reason that there is", Level: Must,
		Quote:  "the turn ends and the Agent MUST respond to the original session/prompt request with a StopReason",
		Source: "https://agentclientprotocol.com/protocol/prompt-turn#4-check-for-completion",
		judge:  judgeStopReason,
	},
	{
		ID: "prompt-again", Title: "takes another prompt after a turn", Level: Manners,
		Quote:  "\"Once a prompt turn completes, the Client may send another session/prompt to continue the conversation\" (prompt-turn): a client that does so must not be refused.",
		scenes: []string{"content"}, judge: judgeAgain,
	},
	{
		ID: "prompt-while-busy", Title: "a second prompt in mid turn loses neither the first nor the agent", Level: Manners,
		Quote:  "Two windows on one session, or an impatient user, send a prompt while another is at work. It may be queued, merged, refused, or end the first: but both need an answer, or the client waits for ever.",
		scenes: []string{"busy"}, judge: judgeBusy,
	},
	{
		ID: "prompt-cancelled-unasked", Title: "says cancelled only where the client has cancelled", Level: Manners,
		Quote: "\"cancelled: The Client cancels the turn\" (prompt-turn#stop-reasons): a client that has not cancelled takes it for an abort by its user and does not look at what was done.",
		judge: judgeCancelledUnasked,
	},
}

// takes judges a prompt that must be answered with a result.
func takes(label string) func(*recording) outcome {
	return func(r *recording) outcome {
		c, no := r.reply(label)
		switch {
		case c != nil && !c.answered:
			return broken(c.why, c.entries()...)
		case no != nil:
			return *no
		case c.answer.Error != nil && isLogin(c.answer):
			return untried("it needs a login: " + errorText(c.answer.Error) + r.loginHint(c.answer))
		case c.answer.Error != nil:
			return broken("the prompt was answered with an error: "+errorText(c.answer.Error), c.entries()...)
		}
		if no := r.unsaid(label); no != nil {
			return *no
		}
		return kept("the prompt was answered", c.entries()...)
	}
}

// unsaid says, of a prompt that was answered with a result, that nothing else came of it, as
// from an agent that does nothing; nil: something came.
func (r *recording) unsaid(label string) *outcome {
	t, no := r.regular(label)
	if no != nil {
		return no
	}
	to := r.nextOf(t)
	for u := range r.updates(t.sentAt, to) {
		if u.session == t.session && u.ofTurn() {
			return nil
		}
	}
	if len(r.asks(t.sentAt, to)) > 0 {
		return nil
	}
	o := untried("it was answered, and nothing was said")
	return &o
}

// isLogin reports whether an answer asks for a login.
func isLogin(m message) bool {
	code, ok := m.errorCode()
	return ok && code == authRequired
}

// takesAdvertised is takes for a type of content that the agent may advertise. Where text
// alone is answered with an error already, that says nothing about the type.
func takesAdvertised(label, capability string) func(*recording) outcome {
	return func(r *recording) outcome {
		caps, _, no := r.capabilities()
		if no != nil {
			return *no
		}
		if !flag(caps, "promptCapabilities", capability) {
			return untried(fmt.Sprintf("promptCapabilities.%s is not advertised", capability))
		}
		if _, no := r.result("text"); no != nil {
			return *no
		}
		return takes(label)(r)
	}
}

func judgeNotAdvertised(r *recording) outcome {
	caps, _, no := r.capabilities()
	if no != nil {
		return *no
	}
	var tried []transcript.Entry
	for _, c := range []struct{ label, capability string }{{"image", "image"}, {"audio", "audio"}, {"resource", "embeddedContext"}, {unknownContent, unknownContent}} {
		if flag(caps, "promptCapabilities", c.capability) {
			continue
		}
		sent := r.call(c.label)
		if sent == nil {
			continue
		}
		if !sent.answered {
			return broken(fmt.Sprintf("%s is not advertised, and a prompt with it: %s", c.capability, sent.why), sent.entries()...)
		}
		tried = append(tried, sent.entries()...)
	}
	if tried == nil {
		_, no := r.reply(unknownContent)
		return *no
	}
	again := r.call("again")
	if again == nil || !again.answered {
		return broken("it did not answer the next prompt after content that it does not advertise", tried...)
	}
	if again.answer.Error == nil {
		if no := r.unsaid("again"); no != nil {
			return *no
		}
	}
	return kept("it answered, and the next prompt too", append(tried, again.entries()...)...)
}

func judgeStopReason(r *recording) outcome {
	var shown []transcript.Entry
	for _, t := range r.turns() {
		if !t.hasResult {
			continue
		}
		if found := promptResponse.misfits("result", t.answer.Result); len(found) > 0 {
			return broken(say(found), t.entries()...)
		}
		shown = append(shown, t.entries()...)
	}
	if shown == nil {
		return untried("no prompt was answered with a result")
	}
	return kept("every turn ended with one", shown...)
}

func judgeAgain(r *recording) outcome {
	first, no := r.regular("text")
	if no != nil {
		return *no
	}
	for _, t := range r.turns() {
		if gone, shown := t.thenGone(); t.hasResult && gone != "" {
			return broken("after the end of a turn "+gone, shown...)
		}
	}
	c, no := r.reply("again")
	switch {
	case c != nil && !c.answered:
		return broken(c.why, c.entries()...)
	case no != nil:
		return *no
	case c.answer.Error != nil:
		return broken("the first was answered well, the same again with an error: "+errorText(c.answer.Error), append(first.entries(), c.entries()...)...)
	}
	for _, label := range []string{"text", "again"} {
		if no := r.unsaid(label); no != nil {
			return *no
		}
	}
	return kept("both were answered", append(first.entries(), c.entries()...)...)
}

func judgeBusy(r *recording) outcome {
	first, second := r.turn("busy-first"), r.turn("busy-second")
	if first == nil || second == nil {
		_, no := r.reply("busy-second")
		if no == nil {
			_, no = r.reply("busy-first")
		}
		return *no
	}
	shown := append(first.entries(), second.entries()...)
	switch {
	case first.answered && first.answerAt < second.sentAt:
		return untried("the first turn had ended before the second prompt was sent; --prompt long=… says what takes longer")
	case !first.answered:
		return broken("the first: "+first.why, shown...)
	case !second.answered:
		return broken("the second: "+second.why, shown...)
	}
	if c, no := r.result("busy-new"); no != nil && c != nil && c.answered {
		return untried("both were answered, and it is not known whether it is of use after them: " + no.why) // some have one session only
	}
	after := r.call("busy-after")
	if after == nil || !after.answered || first.hasResult && after.answer.Error != nil {
		return broken("both were answered, but no prompt in a new session after them", shown...)
	}
	return kept("both were answered, and a prompt after them", append(shown, after.entries()...)...)
}

func judgeCancelledUnasked(r *recording) outcome {
	var shown []transcript.Entry
	for _, t := range r.turns() {
		if !t.hasResult || t.cancelAt >= 0 || r.disturbed(t) {
			continue
		}
		if t.stop == "cancelled" {
			return broken("nobody had cancelled the turn", append(r.at(r.answersIn(t)...), t.entries()...)...)
		}
		shown = append(shown, t.entries()...)
	}
	if shown == nil {
		return untried("no turn was left uncancelled and answered with a result")
	}
	return kept("turns that were not cancelled ended otherwise", shown...)
}

// disturbed reports whether something of ours may have ended the turn without a cancel:
// another prompt in mid turn, the end of the session, an outcome that says cancelled.
func (r *recording) disturbed(t *turn) bool {
	for i, m := range r.from(transcript.FromClient, t.sentAt+1, t.end) {
		if m.isRequest() && m.Method != "" {
			return true
		}
		if outcome, _ := stringField(m.Result, "outcome", "outcome"); i > t.sentAt && outcome == "cancelled" {
			return true
		}
	}
	return false
}

// answersIn returns where our answers to permission requests of a turn stand.
func (r *recording) answersIn(t *turn) (indices []int) {
	for _, q := range r.asksOf(t) {
		indices = append(indices, q.at, q.answerAt)
	}
	return indices
}
