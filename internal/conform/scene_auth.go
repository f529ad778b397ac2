package conform

// noSuchMethod is the id of a method of authentication that no agent advertises.
const noSuchMethod = "errand-no-such-method"

// sceneAuth is a client that tries to go in without a login, then with a wrong one, and
// then as Options.AuthMethod says.
var sceneAuth = scene{
	name:  "auth",
	about: "a session without authenticate, a method that there is none of, and the login by --auth",
	play: func(a *actor) {
		if _, ok := a.initialize(); !ok {
			return
		}
		if _, ok := a.call("new-first", "session/new", newParams(a.dir)); !ok {
			a.bar("the agent did not answer session/new")
		}
		a.ask("authenticate-unknown", "authenticate", map[string]any{"methodId": noSuchMethod})
		if a.opts.AuthMethod != "" {
			a.call("authenticate", "authenticate", map[string]any{"methodId": a.opts.AuthMethod})
			a.call("new-after", "session/new", newParams(a.mkdir("after")))
		}
	},
}
