package conform

import (
	"fmt"
	"slices"

	"github.com/errand-acp/errand/client/transcript"
)

const (
	promptTurnPage = "https://agentclientprotocol.com/protocol/prompt-turn"
	schemaPlace    = "schema.json $defs/"
)

var updateRules = []Rule{
	{
		ID: "update-shape", Title: "an update has a session and a kind, and no id", Level: Must,
		Quote:  `AgentNotification has "method" and "params"; SessionNotification: "required": ["sessionId", "update"]; each SessionUpdate: "required": ["sessionUpdate"]`,
		Source: schemaPlace + "SessionNotification", judge: judgeEnvelope,
	},
	{
		ID: "update-session", Title: "updates and calls name a session that there is, and the one whose turn it is", Level: Manners,
		Quote: "\"The ID of the session this update pertains to.\" (schema.json $defs/SessionNotification): a client drops what belongs to no session of its own, and shows what belongs to another one where nobody looks.",
		judge: judgeUpdateSession,
	},
	{
		ID: "update-message", Title: "a chunk of a message has a content block", Level: Must,
		Quote:  `ContentChunk: "required": ["content"], and what each ContentBlock requires`,
		Source: schemaPlace + "ContentChunk",
		judge:  shaped("user_message_chunk", "agent_message_chunk", "agent_thought_chunk"),
	},
	{
		ID: "update-plan", Title: "a plan's entries have content, priority and status", Level: Must,
		Quote:  `PlanEntry: "required": ["content", "priority", "status"]`,
		Source: schemaPlace + "PlanEntry", judge: shapedWith([]string{"entries"}, "plan"),
	},
	{
		ID: "update-tool-call", Title: "a tool call has an id and a title, and content of a known form", Level: Must,
		Quote:  `ToolCall: "required": ["toolCallId", "title"]; ToolCallUpdate: "required": ["toolCallId"]; and what each ToolCallContent and ToolCallLocation requires`,
		Source: schemaPlace + "ToolCall", judge: shaped("tool_call", "tool_call_update"),
	},
	{
		ID: "update-commands", Title: "commands have a name and a description", Level: Must,
		Quote:  `AvailableCommandsUpdate: "required": ["availableCommands"]; AvailableCommand: "required": ["name", "description"]`,
		Source: schemaPlace + "AvailableCommand", judge: shapedWith([]string{"availableCommands"}, "available_commands_update"),
	},
	{
		ID: "update-mode", Title: "a change of the mode names the mode", Level: Must,
		Quote:  `CurrentModeUpdate: "required": ["currentModeId"]`,
		Source: schemaPlace + "CurrentModeUpdate", judge: shaped("current_mode_update"),
	},
	{
		ID: "update-config", Title: "config options have an id, a name, values and a current one", Level: Must,
		Quote:  `ConfigOptionUpdate: "required": ["configOptions"]; SessionConfigOption: "required": ["id", "name"]; SessionConfigSelect: "required": ["currentValue", "options"]`,
		Source: schemaPlace + "SessionConfigOption", judge: judgeConfig,
	},
	{
		ID: "update-session-info", Title: "a session's title and time are texts", Level: Must,
		Quote:  `SessionInfoUpdate: "title": {"type": ["string", "null"]}, "updatedAt": {"type": ["string", "null"]}`,
		Source: schemaPlace + "SessionInfoUpdate", judge: shapedWith([]string{"title", "updatedAt"}, "session_info_update"),
	},
	{
		ID: "update-usage", Title: "usage has the tokens used and the size of the context", Level: Must,
		Quote:  "used and size are required and non-null token counts for the current session context. cost is optional and, if present, amount and currency are required.",
		Source: promptTurnPage + "#session-usage-updates", judge: shaped("usage_update"),
	},
	{
		ID: "update-kind", Title: "updates are of kinds that the schema lists", Level: Manners,
		Quote: "A client shows nothing of a kind that it does not know, and one that is strict refuses it; what is an agent's own goes into _meta, or into a notification whose name begins with an underscore (extensibility).",
		judge: judgeKinds,
	},
	{
		ID: "update-values", Title: "statuses, kinds and priorities are those that the schema lists", Level: Manners,
		Quote: "A client chooses icons and order by them; one that decodes strictly loses the whole update over a status that it does not know. The lists grow without a new version of the protocol, and so this is no MUST.",
		judge: judgeValues,
	},
	{
		ID: "update-after-turn", Title: "what belongs to a turn comes before its answer", Level: Manners,
		Quote:  "\"Turn ends and the Agent sends the session/prompt response\" (overview#message-flow): a client that shows or keeps a turn's text takes the answer for its end; later text is lost, or stands in the next turn.",
		scenes: []string{"content", "permission", "tools", "client"}, judge: judgeAfterTurn,
	},
}

// misfitsOf are the places where updates of some kinds are not of their shape; unknown
// chooses values that the schema does not list, or everything else.
func (u update) misfitsOf(unknown bool) []misfit {
	s := updateShapes[u.kind]
	if s == nil {
		return nil
	}
	return slices.DeleteFunc(s.misfits("params.update", u.body), func(m misfit) bool { return m.unknown != unknown })
}

// shaped judges the shapes of updates of some kinds.
func shaped(kinds ...string) func(*recording) outcome { return shapedWith(nil, kinds...) }

// shapedWith is shaped for updates that may say nothing: only those that have something in
// one of the members show anything.
func shapedWith(members []string, kinds ...string) func(*recording) outcome {
	return func(r *recording) outcome {
		var shown []transcript.Entry
		empty := false
		for u := range r.allUpdates() {
			if !slices.Contains(kinds, u.kind) {
				continue
			}
			if found := u.misfitsOf(false); len(found) > 0 {
				return broken(u.kind+": "+say(found), r.at(u.at)...)
			}
			if members != nil && !slices.ContainsFunc(members, func(name string) bool { return hasSomething(field(u.body, name)) }) {
				empty = true
				continue
			}
			shown = append(shown, r.entries[u.at])
		}
		switch {
		case shown == nil && empty:
			return untried("there was nothing in any " + join(kinds))
		case shown == nil:
			return untried("the agent sent no " + join(kinds))
		}
		return kept("all of them are of their shape", shown...)
	}
}

func judgeEnvelope(r *recording) outcome {
	var shown []transcript.Entry
	for u := range r.allUpdates() {
		if m := r.message(u.at); m.isRequest() && !isNull(m.ID) {
			return broken("it has an id: it wants an answer, and is no notification", r.at(u.at)...)
		}
		if found := updateEnvelope.misfits("params", u.params); len(found) > 0 {
			return broken(say(found), r.at(u.at)...)
		}
		shown = append(shown, r.entries[u.at])
	}
	if shown == nil {
		return untried("the agent sent no update")
	}
	return kept("all updates are of that shape", shown...)
}

func judgeUpdateSession(r *recording) outcome {
	ids := r.sessions()
	var shown []transcript.Entry
	for i, m := range r.agent() {
		if m.Method != "session/update" && clientMethods[m.Method] == nil {
			continue // an extension's sessions may be others
		}
		switch id, _ := stringField(m.Params, "sessionId"); {
		case id == "": // the rules about shapes say so
		case !slices.Contains(ids, id):
			return broken(fmt.Sprintf("there is no session %q", short(id, 80)), r.at(i)...)
		default:
			shown = append(shown, r.entries[i])
		}
	}
	if shown == nil {
		return untried("the agent sent no update, and called nothing of a session")
	}
	turns := r.turns()
	for _, t := range turns {
		if at := r.misled(t, turns); at >= 0 {
			id, _ := stringField(r.message(at).Params, "sessionId")
			return broken(fmt.Sprintf("it is of session %q, in which there was no turn, in the turn of session %q", short(id, 80), short(t.session, 80)), r.at(t.sentAt, at, t.end)...)
		}
	}
	return kept("all of them name a session of ours", shown...)
}

// misled returns where, in a turn, permission was asked for in a session without one, or, where
// the turn itself had nothing to show, such a session had; -1: nowhere. What comes late, of the
// turn before, is for other rules.
func (r *recording) misled(t *turn, turns []*turn) int {
	for _, q := range r.asksOf(t) {
		if q.session != t.session && !atWork(turns, q.session, q.at) {
			return q.at
		}
	}
	first, before := -1, ""
	for _, other := range turns {
		if other.end < t.sentAt {
			before = other.session
		}
	}
	for u := range r.updates(t.sentAt, t.end) {
		switch {
		case !u.ofTurn() || u.session == before && before != t.session:
		case u.session == t.session:
			return -1
		case first < 0 && !atWork(turns, u.session, u.at):
			first = u.at
		}
	}
	return first
}

// atWork reports whether a session had one of the turns at an index.
func atWork(turns []*turn, session string, at int) bool {
	return slices.ContainsFunc(turns, func(t *turn) bool { return t.session == session && t.sentAt < at && at < t.end })
}

func judgeKinds(r *recording) outcome {
	var shown []transcript.Entry
	for u := range r.allUpdates() {
		switch {
		case u.kind == "":
		case updateShapes[u.kind] == nil:
			return broken(fmt.Sprintf("the schema lists no update %q", short(u.kind, 80)), r.at(u.at)...)
		default:
			shown = append(shown, r.entries[u.at])
		}
	}
	if shown == nil {
		return untried("the agent sent no update")
	}
	return kept("all updates are of a known kind", shown...)
}

func judgeValues(r *recording) outcome {
	var shown []transcript.Entry
	for u := range r.allUpdates() {
		if found := u.misfitsOf(true); len(found) > 0 {
			return broken(say(found), r.at(u.at)...)
		}
		if u.isCall() && (hasSomething(field(u.body, "status")) || hasSomething(field(u.body, "kind"))) || u.kind == "plan" && hasSomething(field(u.body, "entries")) {
			shown = append(shown, r.entries[u.at])
		}
	}
	if shown == nil {
		return untried("the agent sent no tool call with a kind or a status, and no plan")
	}
	return kept("all of them are known", shown...)
}

// judgeAfterTurn looks at what came after turns that nobody had cancelled.
func judgeAfterTurn(r *recording) outcome {
	var shown []transcript.Entry
	for _, t := range r.turns() {
		if !t.answered || t.cancelAt >= 0 {
			continue
		}
		for u := range r.updates(t.end+1, r.nextOf(t)) {
			if u.session == t.session && u.ofTurn() {
				return broken(u.kind+" came after the turn's answer", r.at(t.end, u.at)...)
			}
		}
		for u := range r.updates(t.sentAt, t.end) {
			if u.session == t.session && u.ofTurn() {
				shown = append(shown, r.entries[u.at], r.entries[t.end])
				break
			}
		}
	}
	if shown == nil {
		return untried("no turn brought anything forth")
	}
	return kept("everything came before the answer", shown...)
}

// nextOf is where what is after a turn ends: at the next request that has its session speak.
func (r *recording) nextOf(t *turn) int {
	for i, m := range r.from(transcript.FromClient, t.end+1, len(r.entries)) {
		id, _ := stringField(m.Params, "sessionId")
		if id == t.session && (m.Method == "session/prompt" || m.Method == "session/load" || m.Method == "session/resume") {
			return i
		}
	}
	return len(r.entries)
}
