package conform

import "time"

// sceneTools has the agent call tools in one session, and gives it leave to, and files that
// can be read and not written.
var sceneTools = scene{
	name:  "tools",
	about: "two tool calls and a command in one session, all allowed, with nothing of the client's on offer but files to read",
	play: func(a *actor) {
		a.caps = map[string]any{"fs": map[string]bool{"readTextFile": true, "writeTextFile": false}, "terminal": false}
		a.answer("session/request_permission", allowPermission)
		a.answer("fs/read_text_file", a.readFile)
		session, ok := a.session()
		for _, turn := range []struct {
			label string
			kind  PromptKind
		}{{"one", PromptTool}, {"two", PromptTool}, {"command", PromptCommand}} {
			if !ok || !a.converse(turn.label, session, a.prompt(turn.kind)) {
				return
			}
			a.settle(afterTurn, time.Second) // what should have come before the answer
		}
	},
}
