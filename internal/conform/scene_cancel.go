package conform

import "time"

// sceneCancel cancels at every point of a turn, and prompts again each time.
var sceneCancel = scene{
	name:  "cancel",
	about: "session/cancel while idle, right after the prompt, in mid turn and after the end, each with a prompt after it",
	play: func(a *actor) {
		a.answer("session/request_permission", refusePermission)
		session, ok := a.session()
		if !ok {
			return
		}
		// Of an agent that answers no prompt at all nothing can be said.
		answer, ok := a.call("before", "session/prompt", promptOf(session, a.prompt(PromptText)))
		switch {
		case !ok:
			a.stop("the prompt %q was not answered", "before")
			return
		case answer.Error != nil:
			a.stop("the agent answers prompts with an error: %s%s", errorText(answer.Error), a.r.loginHint(answer))
			return
		}
		if session, ok = a.newSession("new-idle", a.dir); !ok {
			return
		}
		a.cancel("idle-cancel", session)
		if !a.converse("idle-after", session, a.prompt(PromptText)) {
			return
		}
		a.cancel("late-cancel", session)
		if !a.converse("late-after", session, a.prompt(PromptText)) {
			return
		}
		// Each cancelled turn has a session of its own: one that never ends must not take
		// the others along.
		if session, ok = a.newSession("new-early", a.dir); !ok {
			return
		}
		a.cancelEarly(session)
		if session, ok = a.newSession("new-mid", a.dir); !ok || !a.cancelMid(session) {
			return
		}
		if session, ok = a.newSession("new-control", a.dir); ok {
			a.control("control", session, "mid")
		}
	},
}

// cancel writes session/cancel.
func (a *actor) cancel(label, session string) {
	a.notify(label, "session/cancel", map[string]any{"sessionId": session})
}

// cancelEarly cancels a turn before the agent can have said anything.
func (a *actor) cancelEarly(session string) {
	p := a.send("early", "session/prompt", promptOf(session, a.prompt(PromptLong)))
	a.cancel("early-cancel", session)
	a.endCancelled(p)
}

// midTurn is how long a turn is at work before it is cancelled.
const midTurn = 100 * time.Millisecond

// cancelMid cancels a turn that has begun to say something and was not over soon. It
// reports whether the turn ended well, but not cancelled, as one does that was over by itself.
func (a *actor) cancelMid(session string) bool {
	p := a.send("mid", "session/prompt", promptOf(session, a.prompt(PromptLong)))
	_, m, came := a.waitFor(p.sent+1, a.opts.Timeout, func(m message) bool {
		kind, _ := stringField(m.Params, "update", "sessionUpdate")
		return p.isAnswer(m) || m.Method == "session/update" && update{kind: kind}.ofTurn()
	})
	if came && !m.isResponse() {
		a.waitFor(p.sent+1, midTurn, p.isAnswer)
	}
	a.cancel("mid-cancel", session)
	a.endCancelled(p)
	answer, ok := a.answered(p)
	if !ok {
		return false
	}
	// In the same session: that is where a client goes on.
	a.converse("mid-after", session, a.prompt(PromptText))
	stop, _ := stringField(answer.Result, "stopReason")
	return answer.Error == nil && stop != "cancelled"
}

// control is the turn of another label again without a cancel, for longer than that has
// taken: whether it is over by itself by then.
func (a *actor) control(label, session, of string) {
	a.mu.Lock()
	t := a.r.turn(of)
	took := a.r.entries[t.end].At - a.r.entries[t.sentAt].At
	a.mu.Unlock()
	p := a.send(label, "session/prompt", promptOf(session, a.prompt(PromptLong)))
	if _, _, ok := a.waitFor(p.sent+1, min(3*took+time.Second, a.opts.Timeout), p.isAnswer); !ok {
		a.cancel(label+"-cancel", session)
		a.endCancelled(p)
	}
}

// endCancelled waits for the answer to a prompt that was cancelled: as long as it may
// take to end, and then, to tell late from never, a while longer.
func (a *actor) endCancelled(p pending) {
	if _, _, ok := a.waitFor(p.sent+1, a.opts.ExitTimeout, p.isAnswer); !ok {
		a.mark(p.label + "/slow")
		a.awaitFor(p, a.opts.ExitTimeout)
	}
	a.settle(afterTurn, time.Second) // what should have come before the answer
}

// sceneCancelPermission cancels while a permission request is open: once it is answered as
// it has to be, and once it is not, until the agent had time to end the turn without.
var sceneCancelPermission = scene{
	name:  "cancel-permission",
	about: "session/cancel with a permission request open, which is answered cancelled at once, and late",
	play: func(a *actor) {
		a.answer("session/request_permission", always(ignore())) // the scene answers itself
		if _, ok := a.login(); !ok {
			return
		}
		for _, label := range cancelledAsking {
			dir := a.mkdir(label)
			session, ok := a.newSession("new-"+label, dir)
			if !ok || !a.cancelAsked(label, session, dir) {
				return
			}
		}
	},
}

// cancelAsked cancels a turn whose permission request is open. A mark label+"/files" notes
// which files there are in the session's directory that were not there before the cancel. Not
// ok: it came to none, or to no end.
func (a *actor) cancelAsked(label, session, dir string) bool {
	p := a.send(label, "session/prompt", promptOf(session, a.prompt(PromptTool)))
	_, asked, ok := a.waitFor(p.sent+1, a.opts.Timeout, func(m message) bool {
		return isAsk(m) || p.isAnswer(m)
	})
	if !ok || !isAsk(asked) {
		if !ok {
			a.gaveUp(p, a.opts.Timeout)
		}
		a.stop("%s", noPermission)
		return false
	}
	before := filesIn(dir)
	a.cancel(label+"-cancel", session)
	if label == "unanswered" {
		if _, _, ok := a.waitFor(p.sent+1, a.opts.ExitTimeout, p.isAnswer); !ok {
			a.note("unanswered/late", a.opts.ExitTimeout, "")
		}
	}
	// More may have been asked meanwhile: every open request is answered.
	for at := p.sent + 1; ; at++ {
		var m message
		if at, m, ok = a.waitFor(at, 0, isAsk); !ok {
			break
		}
		a.respond(m, sayCancelled(nil))
	}
	a.answer("session/request_permission", sayCancelled)
	a.endCancelled(p)
	a.answer("session/request_permission", always(ignore()))
	a.note(label+"/files", 0, newFiles(before, dir))
	_, ended := a.answered(p)
	return ended
}
