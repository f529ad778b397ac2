package conform

// sceneBusy prompts a second time while a turn is at work.
var sceneBusy = scene{
	name:  "busy",
	about: "a second prompt in mid turn",
	play: func(a *actor) {
		a.answer("session/request_permission", refusePermission)
		session, ok := a.session()
		if !ok {
			return
		}
		first := a.send("busy-first", "session/prompt", promptOf(session, a.prompt(PromptLong)))
		_, _, ok = a.waitFor(first.sent+1, a.opts.Timeout, func(m message) bool {
			return m.Method == "session/update" || first.isAnswer(m)
		})
		if !ok {
			a.gaveUp(first, a.opts.Timeout)
			a.stop("nothing came of the first prompt")
			return
		}
		second := a.send("busy-second", "session/prompt", promptOf(session, a.prompt(PromptText)))
		a.waitFor(second.sent+1, midTurn, second.isAnswer)
		a.cancel("busy-cancel", session) // the first, or both: they need not be played to their end
		a.await(second)
		a.await(first)
		if session, ok = a.newSession("busy-new", a.dir); ok {
			a.converse("busy-after", session, a.prompt(PromptText))
		}
	},
}
