package conform

// sceneHandshake is how every connection begins, two sessions, and the end of stdin while
// the agent is idle.
var sceneHandshake = scene{
	name:  "handshake",
	about: "initialize, two sessions, and the end of stdin while nothing is going on",
	play: func(a *actor) {
		if _, ok := a.login(); !ok {
			return
		}
		if _, ok := a.newSession("new", a.dir); ok {
			a.call("new-again", "session/new", newParams(a.mkdir("second"))) // some have one session only
		}
		if a.closeStdin() && a.awaitExit("exit", a.opts.ExitTimeout) {
			a.left("left", leftTimeout)
		}
	},
}
