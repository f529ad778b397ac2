package conform

import (
	"strings"

	"github.com/errand-acp/errand/client/transcript"
)

const (
	sessionSetupPage = "https://agentclientprotocol.com/protocol/session-setup"
	sessionListPage  = "https://agentclientprotocol.com/protocol/session-list"
	modesPage        = "https://agentclientprotocol.com/protocol/session-modes"
	configPage       = "https://agentclientprotocol.com/protocol/session-config-options"
)

var sessionRules = []Rule{
	{
		ID: "session-new", Title: "session/new is supported", Level: Must,
		Quote:  "As a baseline, all Agents MUST support session/new, session/prompt, session/cancel, and session/update.",
		Source: initializationPage + "#session-capabilities",
		scenes: []string{"handshake"},
		judge: func(r *recording) outcome {
			c, no := r.reply("new")
			switch {
			case no != nil:
				return *no // session-id says so
			case isLogin(c.answer):
				return untried("it needs a login: " + errorText(c.answer.Error) + r.loginHint(c.answer))
			case c.answer.Error != nil:
				return brokenf(c.entries(), "in a directory that there is it was answered with an error that is not auth_required: %s", errorText(c.answer.Error))
			}
			return kept("it was answered with a result", c.entries()...)
		},
	},
	{
		ID: "session-id", Title: "session/new is answered with a session id", Level: Must,
		Quote:  "The Agent MUST respond with a unique Session ID that identifies this conversation",
		Source: sessionSetupPage + "#creating-a-session",
		scenes: []string{"handshake"},
		judge: func(r *recording) outcome {
			c, no := r.result("new")
			if c != nil && !c.answered {
				return broken(c.why, c.entries()...)
			}
			if no != nil {
				return *no
			}
			if id, ok := stringField(c.answer.Result, "sessionId"); !ok || id == "" {
				return broken("the result has no sessionId", c.entries()...)
			}
			return kept("it has a sessionId", c.entries()...)
		},
	},
	{
		ID: "session-id-unique", Title: "two sessions have two ids", Level: Must,
		Quote:  "The Agent MUST respond with a unique Session ID that identifies this conversation",
		Source: sessionSetupPage + "#creating-a-session",
		scenes: []string{"handshake"},
		judge: func(r *recording) outcome {
			one, no := r.result("new")
			if no != nil {
				return *no
			}
			two, no := r.result("new-again")
			if no != nil {
				return *no
			}
			first, ok := stringField(one.answer.Result, "sessionId")
			second, ok2 := stringField(two.answer.Result, "sessionId")
			entries := append(one.entries(), two.entries()...)
			switch {
			case !ok || !ok2:
				return untried("there are no two ids")
			case first == second:
				return broken("both sessions have the same id", entries...)
			}
			return kept("they differ", entries...)
		},
	},
	{
		ID: "session-meta", Title: "_meta in session/new is accepted", Level: Must,
		Quote:  "Implementations MUST NOT make assumptions about values at these keys.",
		Source: schemaPlace + "NewSessionRequest/properties/_meta",
		scenes: []string{"directories"},
		judge: func(r *recording) outcome {
			c, no := r.reply("new-meta")
			switch {
			case c == nil:
				return *no
			case no == nil && c.answer.Error == nil:
				return kept("it was answered with a session", c.entries()...)
			case c.died():
				return broken(c.why, c.entries()...)
			}
			// The same without a _meta tells whether that is what it was refused for.
			control, without := r.result("new-after")
			switch {
			case without != nil:
				return untried("without a _meta there was no session either: " + without.why)
			case no != nil:
				return broken(c.why+", and without a _meta it was", append(c.entries(), control.entries()...)...)
			}
			return brokenf(append(c.entries(), control.entries()...), "with a _meta it was refused, and without it was not: %s", errorText(c.answer.Error))
		},
	},
	{
		ID: "cwd-relative", Title: "there is no session in a relative directory", Level: Must,
		Quote:  "This directory: MUST be an absolute path (it binds both sides: an agent that establishes a session in a relative directory has one that is not)",
		Source: sessionSetupPage + "#working-directory",
		scenes: []string{"directories"},
		judge: func(r *recording) outcome {
			if c := r.call("new-relative"); c != nil && c.died() {
				return untried(c.why) // and there is no session
			}
			return refusedOnly("new-relative", `session/new in the directory "."`, "new-after")(r)
		},
	},
	{
		ID: "cwd-missing", Title: "a directory that does not exist is refused", Level: Manners,
		Quote:  "Where the session cannot work it fails later, in the middle of a turn, and nobody knows why.",
		scenes: []string{"directories"},
		judge:  refusedOnly("new-missing", "session/new in a directory that does not exist", "new-after"),
	},
	{
		ID: "cwd-file", Title: "a file in place of a directory is refused", Level: Manners,
		Quote:  "Where the session cannot work it fails later, in the middle of a turn, and nobody knows why.",
		scenes: []string{"directories"},
		judge:  refusedOnly("new-file", "session/new in a file", "new-after"),
	},
	{
		ID: "session-params", Title: "session/new without a directory is refused", Level: Manners,
		Quote:  `NewSessionRequest: "required": ["cwd", "mcpServers"]; an agent that makes up what is missing works where nobody expects it`,
		Source: schemaPlace + "NewSessionRequest",
		scenes: []string{"directories"},
		judge:  refusedOnly("new-without-cwd", "session/new without a cwd", "new-after"),
	},
	{
		ID: "session-after-refusal", Title: "after requests that were wrong a right one is answered", Level: Manners,
		Quote:  "A mistake in one request must not cost the client its connection, and the sessions in it.",
		scenes: []string{"directories"},
		judge: func(r *recording) outcome {
			for _, label := range []string{"new-relative", "new-missing", "new-file", "new-without-cwd"} {
				c := r.call(label)
				if c == nil {
					continue
				}
				if gone, shown := c.thenGone(); gone != "" {
					return brokenf(shown, "session/new with %s was the end of it: %s", short(string(c.request.Params), 200), gone)
				}
			}
			wrong, no := r.reply("new-without-cwd")
			switch {
			case wrong == nil:
				return *no
			case wrong.answered && wrong.answer.Error == nil:
				return untried("no request was refused before it")
			}
			if _, no := r.result("new-control"); no != nil {
				return untried("no second session was to be had before them: " + no.why)
			}
			return survived(r, "new-after", "it was answered with a session", true)
		},
	},
	{
		ID: "modes-shape", Title: "modes have a current one, and each an id and a name", Level: Must,
		Quote:  `SessionModeState: "required": ["currentModeId", "availableModes"]; SessionMode: "required": ["id", "name"]`,
		Source: schemaPlace + "SessionModeState",
		scenes: []string{"sessions"},
		judge: func(r *recording) outcome {
			c, no := r.result("new")
			if no != nil {
				return *no
			}
			modes := field(c.answer.Result, "modes")
			if modes == nil || isNull(modes) {
				return untried("the session has no modes")
			}
			if wrong := object(fields{"currentModeId": str, "availableModes": list(object(fields{"id": str, "name": str}, fields{"description": str}))}, nil).misfits("modes", modes); len(wrong) > 0 {
				return broken(say(wrong), c.entries()...)
			}
			return kept("they are complete", c.entries()...)
		},
	},
	{
		ID: "modes-current", Title: "the current mode is one of those available", Level: Manners,
		Quote:  "availableModes is \"The set of modes that the Agent can operate in\": a current mode that is none of them cannot be shown, nor returned to.",
		Source: modesPage + "#sessionmodestate",
		scenes: []string{"sessions"},
		judge: func(r *recording) outcome {
			c, no := r.result("new")
			if no != nil {
				return *no
			}
			current, ok := stringField(c.answer.Result, "modes", "currentModeId")
			available := elements(field(c.answer.Result, "modes", "availableModes"))
			if !ok || len(available) == 0 {
				return untried("the session has no modes")
			}
			for _, m := range available {
				if id, _ := stringField(m, "id"); id == current {
					return kept("it is", c.entries()...)
				}
			}
			return brokenf(c.entries(), "the current mode %q is none of those available", short(current, 60))
		},
	},
	{
		ID: "set-mode", Title: "the mode can be set to one of those available", Level: Manners,
		Quote:  "The current mode can be changed at any point during a session, whether the Agent is idle or generating a response.",
		Source: modesPage + "#setting-the-current-mode",
		scenes: []string{"sessions"},
		judge: func(r *recording) outcome {
			label := "set-mode"
			if r.call(label) == nil {
				label = "set-mode-back" // there is one mode only
			}
			if r.needless(label) {
				return untried("the session has no modes")
			}
			o := accepted(r, label)
			if _, no := r.result("set-mode-unknown"); no == nil && o.verdict == Pass {
				return untried("it was answered, as it is for a mode that there is none of: nothing shows that one was set")
			}
			return o
		},
	},
	{
		ID: "set-mode-unknown", Title: "a mode that there is none of is refused", Level: Manners,
		Quote:  `"Must be one of the modes listed in availableModes": a client that hears of a success shows a mode that the agent is not in`,
		Source: modesPage + "#from-the-client",
		scenes: []string{"sessions"},
		judge: func(r *recording) outcome {
			if r.needless("set-mode-unknown") {
				return untried("the session has no modes")
			}
			return refusedOnly("set-mode-unknown", "session/set_mode with a mode that there is none of", "set-mode-back")(r)
		},
	},
	{
		ID: "set-config", Title: "setting a config option is answered with all of them", Level: Must,
		Quote:  "The Agent MUST respond with the complete list of all configuration options and their current values",
		Source: configPage + "#from-the-client",
		scenes: []string{"sessions"},
		judge:  judgeSetConfig,
	},
	{
		ID: "set-config-values", Title: "a config option can be set to the values that it lists", Level: Manners,
		Quote:  "The current value of a config option can be changed at any point during a session, whether the Agent is idle or generating a response.",
		Source: configPage + "#setting-a-config-option",
		scenes: []string{"sessions"},
		judge:  judgeSetConfigValues,
	},
	{
		ID: "list-available", Title: "session/list works where it is advertised", Level: Must,
		Quote:  "The Agent MUST respond with a list of sessions and optional pagination metadata",
		Source: sessionListPage + "#listing-sessions",
		scenes: []string{"sessions"},
		judge: func(r *recording) outcome {
			c, no := r.advertised("list", "sessionCapabilities", "list")
			if no != nil {
				return *no
			}
			info := object(fields{"sessionId": str, "cwd": str}, fields{"title": str, "updatedAt": str})
			if wrong := object(fields{"sessions": list(info)}, fields{"nextCursor": str}).misfits("result", c.answer.Result); len(wrong) > 0 {
				return broken(say(wrong), c.entries()...)
			}
			if len(elements(field(c.answer.Result, "sessions"))) == 0 {
				return untried("the list is empty, and shows nothing")
			}
			return kept("it was answered with a list", c.entries()...)
		},
	},
	{
		ID: "list-empty", Title: "a list of no sessions is an empty one", Level: Must,
		Quote:  "When no sessions match the criteria, the Agent MUST return an empty sessions array.",
		Source: sessionListPage + "#listing-sessions",
		scenes: []string{"sessions"},
		judge: func(r *recording) outcome {
			if r.needless("list-nobody") {
				return untried("it does not advertise sessionCapabilities.list")
			}
			c, no := r.reply("list-nobody")
			switch {
			case c != nil && !c.answered:
				return broken(c.why, c.entries()...)
			case no != nil:
				return *no
			case c.answer.Error != nil:
				return brokenf(c.entries(), "for a directory without sessions it was answered with an error: %s", errorText(c.answer.Error))
			}
			sessions := field(c.answer.Result, "sessions")
			if !isArray(sessions) || len(elements(sessions)) > 0 {
				return broken("for a directory without sessions the list is not an empty array", c.entries()...)
			}
			all, no := r.result("list")
			if no != nil || len(elements(field(all.answer.Result, "sessions"))) == 0 {
				return untried("it is, and the list of all sessions is no other")
			}
			return kept("it is", append(all.entries(), c.entries()...)...)
		},
	},
	{
		ID: "list-cursor", Title: "a cursor that is none is refused", Level: Should,
		Quote:  "Agents SHOULD return an error if the cursor is invalid",
		Source: sessionListPage + "#pagination",
		scenes: []string{"sessions"},
		judge: func(r *recording) outcome {
			if r.needless("list-bad-cursor") {
				return untried("it does not advertise sessionCapabilities.list")
			}
			return refusedOnly("list-bad-cursor", "session/list with a cursor that is none", "list")(r)
		},
	},
	{
		ID: "close-available", Title: "session/close works where it is advertised", Level: Manners,
		Quote:  "On success, the Agent responds with an empty result object",
		Source: sessionSetupPage + "#closing-a-session",
		scenes: []string{"sessions"},
		judge: func(r *recording) outcome {
			c, no := r.advertised("close", "sessionCapabilities", "close")
			if no != nil {
				return *no
			}
			if !isObject(c.answer.Result) {
				return broken("the result is no object", c.entries()...)
			}
			// What shows it is the end of its turn, or a prompt that is refused as others are not.
			if t := r.turn("prompt-to-close"); t != nil && t.stop == "cancelled" && t.end > c.sentAt {
				return kept("the session was closed, and the turn in it ended", append(c.entries(), r.at(t.end)...)...)
			}
			after, no := r.reply("prompt-closed")
			if _, works := r.result("prompt"); no == nil && after.answer.Error != nil && works == nil {
				return kept("the session was closed, and a prompt in it refused", append(c.entries(), after.entries()...)...)
			}
			return untried("it was answered, and nothing shows that the session was closed")
		},
	},
	{
		ID: "close-cancels", Title: "closing a session ends the turn in it as cancelled", Level: Must,
		Quote:  "The Agent MUST cancel any ongoing work for that session as if session/cancel had been called",
		Source: sessionSetupPage + "#closing-a-session",
		scenes: []string{"sessions"},
		judge: func(r *recording) outcome {
			closing := r.call("close")
			switch _, speaking := r.mark("speaking"); {
			case r.needless("close"):
				return untried("it does not advertise sessionCapabilities.close")
			case closing == nil:
				_, no := r.reply("close")
				return *no
			case !speaking:
				return untried("no turn was going on; --prompt long=… says what makes the agent speak for a while")
			case closing.answered && closing.answer.Error != nil:
				return untried("session/close was answered with an error: " + errorText(closing.answer.Error))
			}
			t := r.turn("prompt-to-close")
			switch {
			case t == nil:
				return untried("there was no turn")
			case t.answered && t.end < closing.sentAt:
				return untried("the turn was over when the session was closed")
			}
			entries := append(closing.entries(), t.entries()...)
			switch {
			case !t.answered:
				return broken("the turn did not end: "+t.why, entries...)
			case t.answer.Error != nil:
				return brokenf(entries, "the turn ended with an error: %s", errorText(t.answer.Error))
			case t.stop != "cancelled" && r.since(closing.sentAt, t.end) < r.deaf("new-to-close") && !r.goesOn("close-control"):
				return untried("the turn may have been over by itself when the session was closed; --prompt long=… says what takes longer")
			case t.stop != "cancelled":
				return brokenf(entries, "the turn ended as %q", short(t.stop, 60))
			}
			return kept("it did", entries...)
		},
	},
	{
		ID: "load-available", Title: "session/load works where it is advertised, in a fresh process", Level: Must,
		Quote:  "When all the conversation entries have been streamed to the Client, the Agent MUST respond to the original session/load request.",
		Source: sessionSetupPage + "#loading-a-session",
		scenes: []string{"sessions"},
		judge: func(r *recording) outcome {
			return r.restored("load", "loadSession")
		},
	},
	{
		ID: "load-replay", Title: "session/load replays what was said", Level: Must,
		Quote:  "The Agent MUST replay the entire conversation to the Client in the form of session/update notifications",
		Source: sessionSetupPage + "#loading-a-session",
		scenes: []string{"sessions"},
		judge: func(r *recording) outcome {
			prompt, no := r.result("prompt")
			if no != nil {
				return *no
			}
			c, no := r.advertised("load", "loadSession")
			if no != nil {
				return untried("nothing was loaded: " + no.why)
			}
			session, _ := stringField(c.request.Params, "sessionId")
			spoken := r.words(session, prompt.sentAt, prompt.answerAt, "agent_message_chunk")
			if len(spoken) == 0 {
				return untried("nothing was said in the session")
			}
			settled, _ := r.mark("load-settled")
			asked := r.words(session, c.sentAt, settled.index, "user_message_chunk")
			answered := r.words(session, c.sentAt, settled.index, "agent_message_chunk")
			entries := append(r.at(prompt.sentAt), append(spoken[:1:1], c.entries()...)...)
			switch {
			case len(asked)+len(answered) == 0:
				return broken("a prompt and an answer were exchanged in the session, and nothing of them was replayed", entries...)
			case len(answered) == 0:
				return broken("of a prompt and its answer only the prompt was replayed", append(entries, asked[0])...)
			case len(asked) == 0:
				return broken("of a prompt and its answer only the answer was replayed", append(entries, answered[0])...)
			case !strings.Contains(textOf(asked), promptedText(prompt)):
				return broken("what was replayed as the user's is not what was asked", append(entries, asked...)...)
			}
			return kept("it did", append([]transcript.Entry{asked[0], answered[0]}, c.entries()...)...)
		},
	},
	{
		ID: "load-order", Title: "the replay is complete when session/load is answered", Level: Must,
		Quote:  "When all the conversation entries have been streamed to the Client, the Agent MUST respond to the original session/load request.",
		Source: sessionSetupPage + "#loading-a-session",
		scenes: []string{"sessions"},
		judge: func(r *recording) outcome {
			c, no := r.advertised("load", "loadSession")
			if no != nil {
				return untried("nothing was loaded: " + no.why)
			}
			settled, _ := r.mark("load-settled")
			session, _ := stringField(c.request.Params, "sessionId")
			late := r.words(session, c.answerAt, settled.index, "user_message_chunk", "agent_message_chunk")
			if len(late) > 0 {
				return broken("a part of the conversation came after the answer", append(c.entries(), late[0])...)
			}
			before := r.words(session, c.sentAt, c.answerAt, "user_message_chunk", "agent_message_chunk")
			if len(before) == 0 {
				return untried("nothing was replayed")
			}
			return kept("nothing came after the answer", append(before[:1:1], c.entries()...)...)
		},
	},
	{
		ID: "load-unknown", Title: "a session that there is none of is not loaded", Level: Manners,
		Quote:  "A user who hears of a success goes on in an empty conversation and believes that it is the old one.",
		scenes: []string{"sessions"},
		judge: func(r *recording) outcome {
			if r.needless("load-unknown") {
				return untried("it does not advertise loadSession")
			}
			return refusedOnly("load-unknown", "session/load of a session that there is none of", "load")(r)
		},
	},
	{
		ID: "resume-available", Title: "session/resume works where it is advertised, in a fresh process", Level: Manners,
		Quote:  "Instead, it restores the session context, reconnects to the requested MCP servers, and returns once the session is ready to continue.",
		Source: sessionSetupPage + "#resuming-a-session",
		scenes: []string{"sessions"},
		judge: func(r *recording) outcome {
			return r.restored("resume", "sessionCapabilities", "resume")
		},
	},
	{
		ID: "resume-no-replay", Title: "session/resume replays nothing", Level: Must,
		Quote:  "Unlike session/load, the Agent MUST NOT replay the conversation history via session/update notifications before responding.",
		Source: sessionSetupPage + "#resuming-a-session",
		scenes: []string{"sessions"},
		judge: func(r *recording) outcome {
			prompt, no := r.result("prompt")
			if no != nil {
				return *no
			}
			c, no := r.advertised("resume", "sessionCapabilities", "resume")
			if no != nil {
				return untried("nothing was resumed: " + no.why)
			}
			session, _ := stringField(c.request.Params, "sessionId")
			if len(r.words(session, prompt.sentAt, prompt.answerAt, "agent_message_chunk")) == 0 {
				return untried("nothing was said in the session")
			}
			for u := range r.updates(c.sentAt, c.answerAt) {
				// A plan may be said to be the session's present one.
				if u.kind == "user_message_chunk" || u.ofTurn() && u.kind != "plan" {
					return broken("the conversation was replayed before the answer", append(r.at(u.at), c.entries()...)...)
				}
			}
			return kept("nothing was replayed", c.entries()...)
		},
	},
}
