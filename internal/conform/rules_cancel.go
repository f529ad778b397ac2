package conform

import (
	"fmt"
	"slices"
	"time"

	"github.com/errand-acp/errand/client/transcript"
)

const (
	cancellation = promptTurnPage + "#cancellation"
	mustCancel   = "After all ongoing operations have been successfully aborted and pending updates have been sent, the Agent MUST respond to the original session/prompt request with the cancelled stop reason."
)

var cancelRules = []Rule{
	{
		ID: "cancel-early", Title: "a turn cancelled before it said anything ends cancelled", Level: Must,
		Quote: mustCancel, Source: cancellation, scenes: []string{"cancel"}, judge: judgeCancelEarly,
	},
	{
		ID: "cancel-mid-turn", Title: "a turn cancelled while it is at work ends cancelled", Level: Must,
		Quote: mustCancel, Source: cancellation, scenes: []string{"cancel"}, judge: judgeCancelMid,
	},
	{
		ID: "cancel-soon", Title: "a cancelled turn ends soon", Level: Should,
		Quote:  "When the Agent receives this notification, it SHOULD stop all language model requests and all tool call invocations as soon as possible.",
		Source: cancellation, scenes: []string{"cancel", "cancel-permission"}, judge: judgeCancelSoon,
	},
	{
		ID: "cancel-no-late-updates", Title: "after the answer to a cancelled prompt nothing of the turn comes", Level: Must,
		Quote:  "The Agent MAY send session/update notifications with content or tool call updates after receiving the session/cancel notification, but it MUST ensure that it does so before responding to the session/prompt request.",
		Source: cancellation, scenes: []string{"cancel", "cancel-permission", "sessions"}, judge: judgeCancelLate,
	},
	{
		ID: "cancel-permission", Title: "a turn cancelled with a permission open ends cancelled once that is answered", Level: Must,
		Quote: mustCancel, Source: cancellation, scenes: []string{"cancel-permission"}, judge: judgeCancelPermission,
	},
	{
		ID: "cancel-permission-unanswered", Title: "a turn cancelled with a permission open ends, whatever the client does", Level: Should,
		Quote:  "When the Agent receives this notification, it SHOULD stop all language model requests and all tool call invocations as soon as possible.",
		Source: cancellation, scenes: []string{"cancel-permission"}, judge: judgeCancelUnanswered,
	},
	{
		ID: "cancel-idle", Title: "a cancel before any prompt has no effect", Level: Manners,
		Quote:  "A user's cancel and the end of a turn cross on the wire. What is cancelled is \"an ongoing prompt turn\" (prompt-turn#cancellation), not the agent and not the next turn.",
		scenes: []string{"cancel"}, judge: judgeNoEffect("idle-cancel", "idle-after"),
	},
	{
		ID: "cancel-after-turn", Title: "a cancel after the end of a turn has no effect", Level: Manners,
		Quote:  "A user's cancel and the end of a turn cross on the wire. What is cancelled is \"an ongoing prompt turn\" (prompt-turn#cancellation), not the agent and not the next turn.",
		scenes: []string{"cancel"}, judge: judgeNoEffect("late-cancel", "late-after"),
	},
	{
		ID: "cancel-then-prompt", Title: "after a cancelled turn the next one works", Level: Manners,
		Quote:  "\"Once a prompt turn completes, the Client may send another session/prompt to continue the conversation\" (prompt-turn): users cancel in order to say something else.",
		scenes: []string{"cancel"}, judge: judgeCancelThenPrompt,
	},
}

// stopOf judges how a cancelled turn ended, where there is no doubt that it was cancelled.
func (r *recording) stopOf(t *turn) outcome {
	shown := r.exchange(t)
	switch {
	case !t.answered:
		return broken("cancelled, and "+t.why, shown...)
	case t.answer.Error != nil:
		return broken("it was answered with an error: "+errorText(t.answer.Error)+`; "Agents MUST catch these errors and return the semantically meaningful cancelled stop reason"`, shown...)
	case t.stop != "cancelled":
		return broken(fmt.Sprintf("it was cancelled, and its stop reason is %q", short(t.stop, 80)), shown...)
	}
	return kept(fmt.Sprintf("it ended cancelled, %v after the cancel", r.sinceCancel(t)), shown...)
}

// exchange shows a cancelled turn: with the permission requests in it, and our answers.
func (r *recording) exchange(t *turn) []transcript.Entry {
	indices := append(r.answersIn(t), t.sentAt, t.cancelAt, t.end)
	slices.Sort(indices)
	return append(r.at(indices...), t.exit()...)
}

// sinceCancel is how long a turn went on after its cancel.
func (r *recording) sinceCancel(t *turn) time.Duration {
	return r.since(t.cancelAt, t.end)
}

// since is the time between two entries.
func (r *recording) since(from, to int) time.Duration {
	return (r.entries[to].At - r.entries[from].At).Round(time.Millisecond)
}

const tooShort = "the turn was over before it was cancelled; --prompt long=… says what takes longer"

// cancelled returns the turn with this label, if it was cancelled before it was over.
func (r *recording) cancelled(label string) (t *turn, no *outcome) {
	if t = r.turn(label); t == nil {
		_, no = r.reply(label)
		return nil, no
	}
	if t.cancelAt >= 0 {
		return t, nil
	}
	if _, no = r.result(label); no != nil {
		return t, no
	}
	o := untried(tooShort)
	if slices.Contains(cancelledAsking, label) {
		o = untried(noPermission)
	}
	return t, &o
}

// cancelledAsking are the turns that are cancelled when permission is asked for.
var cancelledAsking = []string{"answered", "unanswered"}

func judgeCancelEarly(r *recording) outcome { return r.cancelledTurn("early") }
func judgeCancelMid(r *recording) outcome   { return r.cancelledTurn("mid") }

// cancelledTurn judges the end of a turn that was cancelled. One that ended well, but not
// cancelled, may have been over by itself when the agent heard of the cancel: that is no
// fault unless the same turn was seen to take longer, or went on and on after the cancel.
func (r *recording) cancelledTurn(label string) outcome {
	t, no := r.cancelled(label)
	if no != nil {
		return *no
	}
	o := r.stopOf(t)
	if o.verdict == Fail && t.hasResult && r.sinceCancel(t) < r.deaf("new-early") && !r.isLong() {
		return untried(tooShort)
	}
	return o
}

// deaf is how long after its cancel a turn cannot have missed it; the label is that of a
// request that shows how fast it answers.
func (r *recording) deaf(label string) time.Duration {
	const least = 2 * time.Second
	if c := r.call(label); c != nil && c.answered { // how slow everything is
		return max(least, 10*(r.entries[c.answerAt].At-r.entries[c.sentAt].At))
	}
	return least
}

// isLong reports whether the turn of the long prompt does not end by itself for a while.
func (r *recording) isLong() bool {
	mid, no := r.cancelled("mid")
	if no != nil {
		return false
	}
	if mid.stop == "cancelled" {
		return true
	}
	return r.goesOn("control")
}

// goesOn reports whether the turn of the long prompt, when it was left alone for longer,
// had to be cancelled to end.
func (r *recording) goesOn(control string) bool {
	_, no := r.cancelled(control)
	return no == nil
}

// promptly are the turns that were cancelled and had nothing to wait for.
var promptly = []string{"early", "mid", "answered"}

func judgeCancelSoon(r *recording) outcome {
	var shown []transcript.Entry
	for _, label := range promptly {
		t, no := r.cancelled(label)
		if no != nil || !t.answered {
			continue
		}
		entries := r.at(t.sentAt, t.cancelAt, t.end)
		if slow, ok := r.mark(label + "/slow"); ok && t.end >= slow.index {
			return broken(fmt.Sprintf("it took %v from the cancel to the answer", r.sinceCancel(t)), entries...)
		}
		if t.stop != "cancelled" && !r.isLong() {
			continue // it may have been over by itself
		}
		shown = append(shown, entries...)
	}
	if shown == nil {
		return untried("no turn is known to have ended for its cancel")
	}
	return kept("they did", shown...)
}

func judgeCancelLate(r *recording) outcome {
	var shown []transcript.Entry
	for _, t := range r.turns() {
		if t.cancelAt < 0 || t.stop != "cancelled" {
			continue
		}
		for u := range r.updates(t.end+1, r.nextOf(t)) {
			if u.session == t.session && u.ofTurn() {
				return broken(u.kind+" came after the answer", r.at(t.cancelAt, t.end, u.at)...)
			}
		}
		shown = append(shown, r.at(t.sentAt, t.cancelAt, t.end)...)
	}
	if shown == nil {
		return untried("no turn ended cancelled")
	}
	return kept("nothing came", shown...)
}

func judgeCancelPermission(r *recording) outcome {
	var o outcome
	for _, label := range cancelledAsking {
		t, no := r.cancelled(label)
		if no != nil {
			if o.verdict == "" {
				o = *no
			}
			break
		}
		if asks := r.asksOf(t); len(asks) == 0 || asks[0].answerAt < 0 && !t.answered {
			break
		}
		if o = r.stopOf(t); o.verdict == Fail {
			break
		}
	}
	if o.verdict == "" {
		return untried(noPermission)
	}
	return o
}

func judgeCancelUnanswered(r *recording) outcome {
	t, no := r.cancelled("unanswered")
	if no != nil {
		return *no
	}
	late, waited := r.mark("unanswered/late")
	if !waited && t.answered {
		return kept(fmt.Sprintf("it ended %v after the cancel, without an answer to its request", r.sinceCancel(t)), r.exchange(t)...)
	}
	shown, limit := r.exchange(t), late.waited
	switch {
	case !waited:
		return broken("the prompt was not answered: "+t.why, shown...)
	case t.answered:
		return broken(fmt.Sprintf("nothing came in %v; the prompt was answered only when its permission request was", limit), shown...)
	}
	return broken(fmt.Sprintf("nothing came in %v, and nothing when the permission request was answered at last", limit), shown...)
}

// judgeNoEffect judges a cancel that cancels nothing by the turn after it.
func judgeNoEffect(cancel, after string) func(*recording) outcome {
	return func(r *recording) outcome {
		m, ok := r.mark(cancel)
		t := r.turn(after)
		if !ok || t == nil {
			if o := r.diedOf(m, after); ok && o != nil {
				return *o
			}
			if _, no := r.reply(after); no != nil {
				return *no
			}
			return untried("there was no cancel before the prompt")
		}
		shown := append(r.at(m.index), t.entries()...)
		switch {
		case !t.answered:
			return broken("the next prompt: "+t.why, shown...)
		case t.answer.Error != nil:
			return broken("the next prompt was answered with an error: "+errorText(t.answer.Error), shown...)
		case t.stop == "cancelled":
			return broken("the next turn was cancelled by it", shown...)
		case !r.heeds():
			return untried("no turn of it ended cancelled, so nothing is known of what a cancel does to it")
		}
		return kept("the next turn ended with "+short(t.stop, 80), shown...)
	}
}

// heeds reports whether any turn has ended for its cancel: of who ignores all of them, one
// without effect says nothing.
func (r *recording) heeds() bool {
	return slices.ContainsFunc(r.turns(), func(t *turn) bool { return t.cancelAt >= 0 && t.stop == "cancelled" })
}

func judgeCancelThenPrompt(r *recording) outcome {
	before, no := r.cancelled("mid")
	if no != nil {
		return *no
	}
	t := r.turn("mid-after")
	if before.stop != "cancelled" || t == nil {
		return untried("the turn did not end cancelled")
	}
	shown := append(r.at(before.cancelAt, before.end), t.entries()...)
	switch {
	case !t.answered:
		return broken(t.why, shown...)
	case t.answer.Error != nil:
		return broken("it was answered with an error: "+errorText(t.answer.Error), shown...)
	case t.stop == "cancelled":
		return broken("the next turn is cancelled as well", shown...)
	}
	return kept("it ended with "+short(t.stop, 80), shown...)
}
