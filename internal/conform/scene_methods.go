package conform

import (
	"encoding/json"
	"time"
)

// Methods that no agent knows: an extension's and one that looks like the protocol's own.
const (
	unknownExtension    = "_errand.example/unknown"
	unknownMethod       = "session/errand_unknown"
	unknownNotification = "_errand.example/happened"
)

// unusualIDs are ids that a client may use, by the labels of their requests.
var unusualIDs = []struct {
	label string
	id    json.RawMessage
}{
	{"id-zero", json.RawMessage(`0`)},
	{"id-negative", json.RawMessage(`-7`)},
	{"id-large", json.RawMessage(`9007199254740991`)},
	{"id-text", json.RawMessage(`"errand-1"`)},
	{"id-digits", json.RawMessage(`"1"`)},
	{"id-odd", json.RawMessage(`"é \"quoted\" \\ /"`)},
}

// sceneMethods is what an agent does not know, ids of all sorts, and SIGTERM while
// nothing is going on.
var sceneMethods = scene{
	name:  "methods",
	about: "methods and notifications that nobody knows, unusual ids, and SIGTERM while nothing is going on",
	play: func(a *actor) {
		if _, ok := a.login(); !ok {
			return
		}
		session, inSession := a.newSession("new", a.dir) // none of this needs one
		params := map[string]any{"sessionId": session}
		_, answers := a.ask("unknown-extension", unknownExtension, params)
		a.ask("unknown-method", unknownMethod, params)
		if inSession {
			// Some have one session only: then another one says nothing of the notification.
			answer, ok := a.call("before-notification", "session/new", newParams(a.mkdir("before")))
			inSession = ok && answer.Error == nil
			a.lull()
		}
		a.notify("unknown-notification", unknownNotification, params)
		if inSession {
			a.call("after-notification", "session/new", newParams(a.mkdir("after")))
		} else {
			a.ask("after-notification", unknownExtension, params)
		}
		a.settle(afterTurn, time.Second) // what answers the notification may come later
		if answers {                     // else all of these would be waited for in vain
			for _, u := range unusualIDs {
				a.awaitFor(a.sendID(u.label, unknownExtension, params, u.id), a.quick())
			}
		}
		if a.signal() && a.awaitExit("exit", a.opts.ExitTimeout) {
			a.left("left", leftTimeout)
		}
	},
}
