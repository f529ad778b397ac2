package conform

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/errand-acp/errand/client/transcript"
)

const toolCallsPage = "https://agentclientprotocol.com/protocol/tool-calls"

var toolCallRules = []Rule{
	{
		ID: "tool-call-announced", Title: "a tool call is announced before it is updated", Level: Should,
		Quote:  "When the language model requests a tool invocation, the Agent SHOULD report it to the Client",
		Source: toolCallsPage + "#creating", judge: judgeAnnounced,
	},
	{
		ID: "tool-call-id", Title: "each tool call has an id of its own", Level: Manners,
		Quote: "\"A unique identifier for this tool call within the session\" (tool-calls#creating): a second call of the same id replaces the first on the user's screen and in the record of what was done.",
		judge: judgeCallIDs,
	},
	{
		ID: "tool-call-status", Title: "a tool call's status goes forward only, and ends once", Level: Manners,
		Quote: "\"Tool calls progress through different statuses during their lifecycle\" (tool-calls#status): a client lets go of a call that is completed or failed, and does not expect it to run again.",
		judge: judgeStatusOrder,
	},
	{
		ID: "tool-call-ended", Title: "no tool call is left open at the end of a turn", Level: Manners,
		Quote: "\"If there are no pending tool calls, the turn ends\" and \"When the tool completes, the Agent sends another update with the final status and any content\" (prompt-turn): a call without an end spins on the user's screen for ever.",
		judge: judgeCallsEnded,
	},
	{
		ID: "tool-call-path", Title: "paths in locations and diffs are absolute", Level: Must,
		Quote:  "All file paths in the protocol MUST be absolute.",
		Source: "https://agentclientprotocol.com/protocol/overview#argument-requirements", judge: judgeCallPaths,
	},
	{
		ID: "tool-call-line", Title: "lines of locations count from 1", Level: Manners,
		Quote: "\"Line numbers are 1-based\" (overview#argument-requirements): an editor has no line 0 to go to.",
		judge: judgeCallLines,
	},
	{
		ID: "tool-call-terminal", Title: "terminals in tool calls are those of the client", Level: Manners,
		Quote: "\"The ID of a terminal created with terminal/create\" (tool-calls#terminals), and \"The terminal must be added before calling terminal/release\" (schema.json $defs/ToolCallContent): of any other id a client has nothing to show.",
		judge: judgeCallTerminals,
	},
}

// callKey is a tool call in a session.
type callKey struct{ session, call string }

func (u update) key() callKey { return callKey{u.session, u.call} }

// telling is a session as it was told from where it began to the next time: session/load
// tells all of its tool calls again, and a fresh process may use the ids of the last.
type telling struct {
	session string
	begun   int
}

func (r *recording) telling(u update) telling {
	begun, _ := slices.BinarySearch(r.index().begun[u.session], u.at)
	return telling{u.session, begun}
}

// toldCall is a tool call in a telling.
type toldCall struct {
	telling
	call string
}

// callUpdates yields the updates of tool calls that have an id.
func (r *recording) callUpdates() func(func(update) bool) {
	return func(yield func(update) bool) {
		for u := range r.allUpdates() {
			if u.isCall() && u.call != "" && !yield(u) {
				return
			}
		}
	}
}

const noCalls = "the agent reported no tool call; --prompt tool=… says what makes it call one"

func judgeAnnounced(r *recording) outcome {
	announced := map[callKey]int{}
	var shown []transcript.Entry
	for u := range r.callUpdates() {
		at, known := announced[u.key()]
		switch {
		case u.kind == "tool_call" && !known:
			announced[u.key()] = u.at
		case u.kind == "tool_call_update" && !known:
			return broken(fmt.Sprintf("there was no tool_call %q before this", short(u.call, 80)), r.at(u.at)...)
		case u.kind == "tool_call_update":
			shown = append(shown, r.at(at, u.at)...)
		}
	}
	if shown == nil {
		return untried("the agent sent no tool_call_update; --prompt tool=… says what makes it call a tool")
	}
	return kept("each update follows its tool_call", shown...)
}

func judgeCallIDs(r *recording) outcome {
	announced := map[toldCall]int{}
	last := map[telling]int{}
	var shown []transcript.Entry
	for u := range r.callUpdates() {
		if u.kind != "tool_call" {
			continue
		}
		session := r.telling(u)
		key := toldCall{session, u.call}
		if at, known := announced[key]; known {
			return broken(fmt.Sprintf("there was a tool_call %q before", short(u.call, 80)), r.at(at, u.at)...)
		}
		announced[key] = u.at
		if before, second := last[session]; second {
			shown = append(shown, r.at(before, u.at)...)
		}
		last[session] = u.at
	}
	switch {
	case len(announced) == 0:
		return untried(noCalls)
	case shown == nil:
		return untried("no session had two tool calls, and of one alone nothing can be said; --prompt tool=… says what makes the agent call one")
	}
	return kept("no id was used twice", shown...)
}

// rank orders the statuses that there are; 0 for any other.
func rank(status string) int {
	return map[string]int{"pending": 1, "in_progress": 2, "completed": 3, "failed": 3}[status]
}

func isFinal(status string) bool { return rank(status) == 3 }

func judgeStatusOrder(r *recording) outcome {
	last := map[toldCall]update{}
	var shown []transcript.Entry
	for u := range r.callUpdates() {
		if rank(u.status) == 0 {
			continue
		}
		key := toldCall{r.telling(u), u.call}
		before, known := last[key]
		last[key] = u
		switch {
		case !known:
		case isFinal(before.status) && before.status != u.status, rank(u.status) < rank(before.status):
			return broken(fmt.Sprintf("it was %s, and is %s now", before.status, u.status), r.at(before.at, u.at)...)
		default:
			shown = append(shown, r.at(before.at, u.at)...)
		}
	}
	if shown == nil {
		return untried("no tool call changed its status; --prompt tool=… says what makes it call one")
	}
	return kept("each goes forward", shown...)
}

func judgeCallsEnded(r *recording) outcome {
	var shown []transcript.Entry
	for _, t := range r.turns() {
		// The calls of a turn that was cancelled are marked by the client; one that has
		// failed, or was stopped, says nothing of what was left.
		if t.stop != "end_turn" || t.cancelAt >= 0 {
			continue
		}
		last := map[string]update{}
		for u := range r.updates(t.sentAt, t.end) {
			if u.session == t.session && u.isCall() && u.call != "" {
				if u.status == "" {
					u.status = last[u.call].status
				}
				last[u.call] = u
			}
		}
		for u := range r.updates(t.sentAt, t.end) {
			at, ok := last[u.call]
			if !ok || at.at != u.at {
				continue
			}
			if !isFinal(at.status) {
				status := at.status
				if status == "" {
					status = "pending" // the default
				}
				return broken(fmt.Sprintf("the turn has ended, and tool call %q is %s", short(u.call, 80), status), r.at(u.at, t.end)...)
			}
			shown = append(shown, r.at(u.at, t.end)...)
		}
	}
	if shown == nil {
		return untried("no turn that ended by itself had a tool call; --prompt tool=… says what makes it call one")
	}
	return kept("all calls were completed or failed before the turn ended", shown...)
}

// each calls f with each of some things in the tool calls that the agent shows, also in
// its permission requests.
func (r *recording) eachInCalls(member string, f func(at int, element json.RawMessage) bool) {
	for i, m := range r.agent() {
		var body json.RawMessage
		switch m.Method {
		case "session/update":
			u := r.update(i, m)
			if !u.isCall() {
				continue
			}
			body = u.body
		case "session/request_permission":
			body = field(m.Params, "toolCall")
		default:
			continue
		}
		for _, element := range elements(field(body, member)) {
			if !f(i, element) {
				return
			}
		}
	}
}

func judgeCallPaths(r *recording) outcome {
	var shown []transcript.Entry
	var bad *outcome
	look := func(what string) func(int, json.RawMessage) bool {
		return func(at int, element json.RawMessage) bool {
			path, ok := stringField(element, "path")
			switch {
			case bad != nil:
				return false
			case !ok:
			case !isAbsolute(path):
				o := broken(fmt.Sprintf("the %s %q is not absolute", what, short(path, 200)), r.at(at)...)
				bad = &o
			default:
				shown = append(shown, r.entries[at])
			}
			return true
		}
	}
	r.eachInCalls("locations", look("location"))
	r.eachInCalls("content", look("diff"))
	switch {
	case bad != nil:
		return *bad
	case shown == nil:
		return untried("no tool call had a location or a diff; --prompt tool=… says what makes it call one")
	}
	return kept("all of them are absolute", shown...)
}

func judgeCallLines(r *recording) outcome {
	var shown []transcript.Entry
	var bad *outcome
	r.eachInCalls("locations", func(at int, element json.RawMessage) bool {
		line := field(element, "line")
		if !isNumber(line) {
			return true
		}
		if string(line) == "0" || line[0] == '-' {
			o := broken("line "+short(string(line), 20), r.at(at)...)
			bad = &o
			return false
		}
		shown = append(shown, r.entries[at])
		return true
	})
	switch {
	case bad != nil:
		return *bad
	case shown == nil:
		return untried("no tool call had a location with a line")
	}
	return kept("all lines are 1 or more", shown...)
}

func judgeCallTerminals(r *recording) outcome {
	var shown []transcript.Entry
	var bad *outcome
	r.eachInCalls("content", func(at int, element json.RawMessage) bool {
		id, ok := stringField(element, "terminalId")
		if kind, _ := stringField(element, "type"); !ok || kind != "terminal" {
			return true
		}
		made, released := r.terminal(id, at)
		switch {
		case made < 0:
			o := broken(fmt.Sprintf("terminal %q was not created with us", short(id, 80)), r.at(at)...)
			bad = &o
			return false
		case released >= 0 && !r.shownBefore(id, released):
			o := broken(fmt.Sprintf("terminal %q had been released before", short(id, 80)), r.at(released, at)...)
			bad = &o
			return false
		}
		shown = append(shown, r.at(made, at)...)
		return true
	})
	switch {
	case bad != nil:
		return *bad
	case shown == nil:
		return untried("no tool call had a terminal; --prompt command=… says what makes it run a command")
	}
	return kept("all of them are terminals of ours", shown...)
}

// terminal returns where a terminal was given to the agent, before the entry at, and
// where it was released; -1: it was not.
func (r *recording) terminal(id string, at int) (made, released int) {
	return before(r.index().made, id, at), before(r.index().released, id, at)
}

// shownBefore reports whether a tool call had the terminal before the entry at.
func (r *recording) shownBefore(id string, at int) (shown bool) {
	r.eachInCalls("content", func(i int, element json.RawMessage) bool {
		which, _ := stringField(element, "terminalId")
		shown = shown || which == id && i < at
		return i < at
	})
	return shown
}
