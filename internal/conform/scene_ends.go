package conform

// sceneEOFInTurn is a client that ends while the agent speaks.
var sceneEOFInTurn = scene{
	name:  "eof-in-turn",
	about: "the end of stdin while a turn is going on",
	play: func(a *actor) {
		if !a.speaking() {
			return
		}
		if a.closeStdin() && a.awaitExit("exit", a.opts.ExitTimeout) {
			a.left("left", leftTimeout)
		}
	},
}

// sceneTermInTurn is SIGTERM while the agent speaks.
var sceneTermInTurn = scene{
	name:  "sigterm-in-turn",
	about: "SIGTERM while a turn is going on",
	play: func(a *actor) {
		if !a.speaking() {
			return
		}
		if a.signal() && a.awaitExit("exit", a.opts.ExitTimeout) {
			a.left("left", leftTimeout)
		}
	},
}

// speaking gets the agent to speak, and returns while it does. Not ok: the scene is over.
func (a *actor) speaking() (ok bool) {
	session, ok := a.session()
	if !ok {
		return false
	}
	p := a.send("prompt", "session/prompt", promptText(session, a.prompt(PromptLong)))
	_, m, ok := a.waitFor(p.sent+1, a.opts.Timeout, func(m message) bool {
		return m.Method == "session/update" && isSpeech(m) || m.isResponse() && sameJSON(m.ID, p.id)
	})
	if ok && !m.isResponse() {
		// Who has said all that it has to say is over at once.
		if _, answer, over := a.waitFor(p.sent+1, midTurn, p.isAnswer); over {
			m = answer
		}
	}
	switch {
	case !ok:
		a.stop("the agent said nothing to %q within %v", short(a.prompt(PromptLong), 60), a.opts.Timeout)
	case m.isResponse():
		a.stop(turnOver)
	default:
		return true
	}
	return false
}

const turnOver = "the turn was over before anything could happen in it; --prompt long=… says what makes the agent speak for a while"

// isSpeech reports whether an update is the model's own: commands and titles come at any
// time.
func isSpeech(m message) bool {
	kind, _ := stringField(m.Params, "update", "sessionUpdate")
	switch kind {
	case "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan":
		return true
	}
	return false
}
