package conform

import "strconv"

// futureVersion is a protocol version that no agent supports: the largest there is room for.
const futureVersion = 65535

// sceneVersions is a client from the future.
var sceneVersions = scene{
	name:  "versions",
	about: "initialize with a protocol version that nobody has; in a fresh process with the one that was offered",
	play: func(a *actor) {
		if !a.start() {
			return
		}
		answer, ok := a.call("initialize-future", "initialize", a.hello(futureVersion))
		if !ok {
			a.bar("the agent did not answer initialize")
			return
		}
		offered, err := strconv.ParseUint(canonical(field(answer.Result, "protocolVersion")), 10, 16)
		if err != nil || offered == futureVersion {
			return
		}
		a.end()
		if a.start() {
			a.call("initialize-offered", "initialize", a.hello(int(offered)))
		}
	},
}
