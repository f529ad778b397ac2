package conform

// futureVersion is a protocol version that no agent supports: the largest there is room for.
const futureVersion = 65535

// sceneVersions is a client from the future.
var sceneVersions = scene{
	name:  "versions",
	about: "initialize with a protocol version that nobody has",
	play: func(a *actor) {
		if !a.start() {
			return
		}
		if _, ok := a.call("initialize-future", "initialize", a.hello(futureVersion)); !ok {
			a.bar("the agent did not answer initialize")
		}
	},
}
