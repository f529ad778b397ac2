// Package conform tries an ACP agent against the protocol: it starts the agent, holds
// conversations with it that a well-made agent answers in one way only, and says for
// each rule whether the agent keeps it, with the frames that show it.
//
//	report, err := conform.Run(ctx, conform.Command{Path: "my-agent", Args: []string{"--acp"}}, nil)
//	if err != nil {
//		return err // it could not be started at all
//	}
//	fmt.Print(report.Table())
//
// # Scenes and rules
//
// A scene does I/O: it starts the agent, in a scratch directory and with an environment
// without secrets, writes frames and waits for others, each wait bounded and the whole of it
// too, in time, bytes and lines, and all of it is recorded. A recording is judged when its
// scene is over, and let go. A rule judges: a pure function over the recordings of the scenes that it names.
// So a few processes serve many rules, and rules are tested and fuzzed without any.
//
// A rule that is kept needs evidence: entries of the recording that show it. What was not
// seen is not applicable, and says why. An agent that does nothing passes nothing.
//
// # How a scene is added
//
// In a file scene_NAME.go, and one line in scenes (scene.go):
//
//	var sceneEcho = scene{name: "echo", about: "a prompt, and its end", play: func(a *actor) {
//		session, ok := a.session() // start, initialize, authenticate if told to, session/new
//		if !ok {
//			return // why is in the recording, and makes the rules that need more not applicable
//		}
//		a.call("prompt", "session/prompt", promptText(session, a.prompt(PromptText)))
//		a.mark("after")
//	}}
//
// A request gets a label ("prompt") by which a rule finds it again; [actor.send] and
// [actor.await] are the halves of call, for what has to happen in between; [actor.notify],
// [actor.raw], [actor.ask], [actor.closeStdin], [actor.signal], [actor.awaitExit],
// [actor.waitFor] and [actor.settle] are the rest. What the agent asks of us is answered by
// the actor's answers: [actor.answer] sets what is said to a method; until then permissions
// are rejected, and other methods are not found. The engine ends the process. A scene may
// start another one after [actor.end].
//
// # How a rule is added
//
// In a rules_GROUP.go, as an element of its list, which stands in Rules (rule.go):
//
//	{
//		ID: "prompt-stop-reason", Title: "a turn ends with a stop reason", Level: Must,
//		Quote:  "the Agent MUST respond to the original session/prompt request with a StopReason",
//		Source: "https://agentclientprotocol.com/protocol/prompt-turn#4-check-for-completion",
//		scenes: []string{"echo"}, // none: all of them
//		judge: func(r *recording) outcome {
//			c, no := r.result("prompt") // no: why there is no result, as an outcome
//			if no != nil {
//				return *no
//			}
//			if _, ok := stringField(c.answer.Result, "stopReason"); !ok {
//				return broken("the result has no stopReason", c.entries()...)
//			}
//			return kept("it ended with a stop reason", c.entries()...)
//		},
//	},
//
// Level is the text's own word in capitals: [Must], [Should], or [Manners] where no text
// demands it; then Quote says why one should. Quotes are exact, without the text's mark-up.
// For each rule there is a script testdata/break/ID.script that breaks it and nothing else.
package conform
