package conform

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/errand-acp/errand/client/transcript"
)

var permissionRules = []Rule{
	{
		ID: "permission-shape", Title: "a permission request has an id, a session, a tool call with an id, and options", Level: Must,
		Quote:  `AgentRequest: "required": ["id", "method"]; RequestPermissionRequest: "required": ["sessionId", "toolCall", "options"]; ToolCallUpdate: "required": ["toolCallId"]; PermissionOption: "required": ["optionId", "name", "kind"]`,
		Source: schemaPlace + "RequestPermissionRequest", judge: judgePermissionShape,
	},
	{
		ID: "permission-options", Title: "there is something to choose from", Level: Manners,
		Quote: "\"Available permission options for the user to choose from\" (tool-calls#requesting-permission): without one the only answer that is left is that the turn was cancelled.",
		judge: judgeOptions,
	},
	{
		ID: "permission-option-ids", Title: "each option has an id of its own", Level: Manners,
		Quote: "\"Unique identifier for this option\" (tool-calls#permission-options): of two with one id nobody can tell which was selected.",
		judge: judgeOptionIDs,
	},
	{
		ID: "permission-option-kinds", Title: "options are of kinds that the schema lists", Level: Manners,
		Quote: "Clients that decide by policy choose by kind; an option of an unknown kind is never chosen.",
		judge: judgeOptionKinds,
	},
	{
		ID: "permission-announced", Title: "the call that permission is asked for was announced", Level: Manners,
		Quote: "\"When the language model requests a tool invocation, the Agent SHOULD report it to the Client\" (tool-calls#creating): a client that shows the question at its call has no place for it otherwise.",
		judge: judgePermissionAnnounced,
	},
	{
		ID: "permission-awaited", Title: "nothing is done before the permission is given", Level: Manners,
		Quote:  "\"Sent when the agent needs authorization before performing a sensitive operation.\" (schema.json $defs/RequestPermissionRequest): who is asked thinks that it matters what he says.",
		scenes: []string{"permission"}, judge: judgeAwaited,
	},
	{
		ID: "permission-allowed", Title: "what was allowed is done", Level: Should,
		Quote:  "Once permission is granted (if required), the Agent SHOULD invoke the tool and report a status update marking the tool as in_progress",
		Source: promptTurnPage + "#5-tool-invocation-and-status-reporting",
		scenes: []string{"permission"}, judge: judgeAllowed,
	},
	{
		ID: "permission-in-progress", Title: "a tool that was allowed is reported as in progress", Level: Should,
		Quote:  "Once permission is granted (if required), the Agent SHOULD invoke the tool and report a status update marking the tool as in_progress",
		Source: promptTurnPage + "#5-tool-invocation-and-status-reporting",
		scenes: []string{"permission"}, judge: judgeInProgress,
	},
	{
		ID: "permission-rejected", Title: "what was rejected, or cancelled before it was allowed, is not done", Level: Manners,
		Quote:  "\"reject_once - Reject this operation only this time\" (tool-calls#permission-options): an agent that does what its user has rejected, or has cancelled instead, cannot be trusted with anything.",
		scenes: []string{"permission", "cancel-permission"}, judge: judgeRejected,
	},
	{
		ID: "permission-rejected-ends", Title: "after a rejection the turn ends like any other", Level: Manners,
		Quote:  "To reject is no failure: the agent goes on without, or ends the turn and says so. An error, or silence, looks to the client like a broken agent.",
		scenes: []string{"permission"}, judge: judgeRejectedEnds,
	},
	{
		ID: "permission-error", Title: "a permission request that fails is taken for a no, and ends neither the agent nor the turn", Level: Manners,
		Quote:  "A client may be unable to ask, or not know how. An agent that goes on all the same does what nobody has allowed; one that waits for ever, or is of no use afterwards, loses the session over it.",
		scenes: []string{"permission"}, judge: judgePermissionError,
	},
}

// noPermission is why nothing is known of an agent that has not asked.
const noPermission = "the agent asked for no permission; --prompt tool=… says what makes it ask"

// allAsks returns every permission request.
func (r *recording) allAsks() []ask { return r.asks(0, len(r.entries)) }

// eachAsk judges every permission request alike: wrong says what is wrong with one, and
// whether the rule is about it at all; none is why it may be about none of them.
func eachAsk(good, none string, wrong func(r *recording, q ask) (why string, counts bool)) func(*recording) outcome {
	return func(r *recording) outcome {
		var shown []transcript.Entry
		all := r.allAsks()
		for _, q := range all {
			why, counts := wrong(r, q)
			switch {
			case why != "":
				return broken(why, r.at(q.at)...)
			case counts:
				shown = append(shown, r.entries[q.at])
			}
		}
		switch {
		case len(all) == 0:
			return untried(noPermission)
		case shown == nil:
			return untried(none)
		}
		return kept(good, shown...)
	}
}

// options are what a permission request offers.
func (q ask) options() []json.RawMessage { return elements(field(q.request.Params, "options")) }

// wordless is what is wrong with a request that has no id.
const wordless = "it has no id: nobody can answer it"

func judgePermissionShape(r *recording) outcome {
	for i, m := range r.agent() {
		if m.Method == "session/request_permission" && m.isNotification() {
			return broken(wordless, r.at(i)...)
		}
	}
	return shapeOfAsks(r)
}

var (
	shapeOfAsks = eachAsk("all requests are of their shape", "", func(_ *recording, q ask) (string, bool) {
		found := permissionRequest.misfits("params", q.request.Params)
		return say(slices.DeleteFunc(found, func(m misfit) bool { return m.unknown })), true
	})

	judgeOptions = eachAsk("there are options in all requests", "no request had a list of options", func(_ *recording, q ask) (string, bool) {
		if isArray(field(q.request.Params, "options")) && len(q.options()) == 0 {
			return "there are no options", true
		}
		return "", len(q.options()) > 0 // else permission-shape says so
	})

	judgeOptionIDs = eachAsk("no id stands twice in a request", "no request had two options", func(_ *recording, q ask) (string, bool) {
		var ids []string
		for _, o := range q.options() {
			id, ok := stringField(o, "optionId")
			if ok && slices.Contains(ids, id) {
				return fmt.Sprintf("two options have the id %q", short(id, 80)), true
			}
			if ok {
				ids = append(ids, id)
			}
		}
		return "", len(ids) > 1
	})

	judgeOptionKinds = eachAsk("all kinds are known", "no request had an option with a kind", func(_ *recording, q ask) (string, bool) {
		some := false
		for _, o := range q.options() {
			kind, ok := stringField(o, "kind")
			if ok && !slices.Contains(optionKinds.known, kind) {
				return fmt.Sprintf("the schema lists no option of the kind %q", short(kind, 80)), true
			}
			some = some || ok
		}
		return "", some
	})

	judgePermissionAnnounced = eachAsk("each was asked for a call that was known", "no request was for a call with an id", func(r *recording, q ask) (string, bool) {
		if q.call == "" {
			return "", false // permission-shape says so
		}
		if before(r.index().announced, callKey{q.session, q.call}, q.at) >= 0 {
			return "", true
		}
		return fmt.Sprintf("there was no tool_call %q before this", short(q.call, 80)), true
	})
)

// asked returns the turn of the scene permission with a label, and what was asked in it.
// no says why there is nothing to judge.
func (r *recording) asked(label string) (t *turn, asks []ask, no *outcome) {
	if t = r.turn(label); t == nil {
		_, no = r.reply(label)
		return nil, nil, no
	}
	if asks = r.asksOf(t); len(asks) == 0 {
		o := untried(noPermission)
		return t, nil, &o
	}
	return t, asks, nil
}

// kindAnswered is asked, and the last request that was answered with an option of a kind;
// an agent without such an option cannot be tried.
func (r *recording) kindAnswered(label, kind string) (t *turn, q ask, no *outcome) {
	t, asks, no := r.asked(label)
	if no != nil {
		return t, q, no
	}
	for _, one := range slices.Backward(asks) {
		if strings.HasPrefix(one.option, kind) {
			return t, one, nil
		}
	}
	o := untried("the agent offered no option of the kind " + kind)
	return t, q, &o
}

// statusesAfter lists what became of a call after the answer to a permission request.
func (r *recording) statusesAfter(t *turn, q ask) (list []update) {
	for u := range r.updates(q.answerAt+1, t.end) {
		if u.key() == (callKey{q.session, q.call}) && u.status != "" {
			list = append(list, u)
		}
	}
	return list
}

// filesAfter are the files that were there after the turn with this label, and not before.
func (r *recording) filesAfter(label string) string {
	m, _ := r.mark(label + "/files")
	return m.note
}

// invisible says why it cannot be seen of an agent whether it does something or not: what
// it did when it was allowed to could not be seen either. Nil: it can.
func (r *recording) invisible() *outcome {
	t, q, no := r.kindAnswered("allow", "allow")
	if no != nil {
		return no
	}
	if r.filesAfter("allow") != "" || slices.ContainsFunc(r.statusesAfter(t, q), func(u update) bool { return u.status == "completed" }) {
		return nil
	}
	o := untried("it does not show when something is done: of what was allowed, there was no file, and no call that was completed")
	return &o
}

func listed(files string) string { return short(strings.ReplaceAll(files, "\n", ", "), 200) }

func judgeAwaited(r *recording) outcome {
	t, asks, no := r.asked("allow")
	if no != nil {
		return *no
	}
	// Only the first is looked at for files: what is there later may have been allowed.
	if m, ok := r.mark("allow/held"); ok && m.note != "" {
		return broken("before the answer there was "+listed(m.note), r.at(asks[0].at, asks[0].answerAt)...)
	}
	var shown []transcript.Entry
	for _, q := range asks {
		if q.answerAt < 0 {
			if t.answered {
				return broken("the turn ended without an answer to the permission request", r.at(q.at, t.end)...)
			}
			continue
		}
		if t.end < q.answerAt {
			return broken("the turn ended before the answer to the permission request", r.at(q.at, t.end)...)
		}
		for u := range r.updates(q.at+1, q.answerAt) {
			if u.key() == (callKey{q.session, q.call}) && u.status == "completed" {
				return broken("the call was completed before the answer to its permission request", r.at(q.at, u.at, q.answerAt)...)
			}
		}
		shown = append(shown, r.at(q.at, q.answerAt)...)
	}
	if shown == nil {
		return untried("no permission request was answered")
	}
	if no := r.invisible(); no != nil {
		return *no
	}
	return kept(fmt.Sprintf("nothing was done in the %v until the answer", held), shown...)
}

func judgeAllowed(r *recording) outcome {
	t, q, no := r.kindAnswered("allow", "allow")
	if no != nil {
		return *no
	}
	shown := append(r.at(q.at, q.answerAt), t.entries()...)
	switch after := r.statusesAfter(t, q); {
	case !t.answered:
		return broken("the turn did not end after that: "+t.why, shown...)
	case t.answer.Error != nil:
		return broken("the turn ended with an error after that: "+errorText(t.answer.Error), shown...)
	case len(after) == 0 && r.filesAfter("allow") == "":
		return broken("nothing was heard of the call after it was allowed, and nothing was done in the session's directory", shown...)
	case len(after) > 0 && after[len(after)-1].status == "failed" && r.filesAfter("allow") == "":
		// It was invoked: what failed is another matter.
		return kept("the tool was invoked, and failed", append(r.at(q.at, q.answerAt, after[len(after)-1].at), t.entries()...)...)
	}
	return kept("the tool was invoked, and the turn ended", shown...)
}

func judgeInProgress(r *recording) outcome {
	t, q, no := r.kindAnswered("allow", "allow")
	if no != nil {
		return *no
	}
	after := r.statusesAfter(t, q)
	if len(after) == 0 {
		return untried("the agent reported no status of the call after it was allowed")
	}
	shown := r.at(q.at, q.answerAt, after[0].at)
	for _, u := range after {
		if u.status == "in_progress" {
			return kept("it was", r.at(q.at, q.answerAt, u.at)...)
		}
	}
	return broken(fmt.Sprintf("the first status after it was allowed is %s", after[0].status), shown...)
}

func judgeRejected(r *recording) outcome {
	if o := r.doneAnyway(); o != nil {
		return *o
	}
	t, q, no := r.kindAnswered("reject", "reject")
	if no != nil {
		return *no
	}
	if !t.answered {
		return untried(t.why)
	}
	if files := r.filesAfter("reject"); files != "" {
		return broken("after it was rejected there was "+listed(files), append(r.at(q.at, q.answerAt), t.entries()...)...)
	}
	for _, u := range r.statusesAfter(t, q) {
		if u.status == "completed" {
			return broken("the call was completed after it was rejected", r.at(q.at, q.answerAt, u.at)...)
		}
	}
	if no := r.invisible(); no != nil {
		return *no
	}
	return kept("the call was not completed, and nothing has changed in the session's directory", append(r.at(q.at, q.answerAt), t.entries()...)...)
}

// doneAnyway says what an agent has done that was cancelled when it had asked for permission;
// nil: nothing that can be seen.
func (r *recording) doneAnyway() *outcome {
	for _, label := range cancelledAsking {
		t, no := r.cancelled(label)
		if no != nil {
			continue
		}
		if files := r.filesAfter(label); files != "" {
			o := broken("after it was cancelled there was "+listed(files), r.exchange(t)...)
			return &o
		}
		for _, q := range r.asksOf(t) {
			for u := range r.updates(t.cancelAt+1, t.end) {
				if u.key() == (callKey{q.session, q.call}) && u.status == "completed" {
					o := broken("the call was completed after it was cancelled", r.at(q.at, t.cancelAt, u.at)...)
					return &o
				}
			}
		}
	}
	return nil
}

func judgeRejectedEnds(r *recording) outcome {
	t, q, no := r.kindAnswered("reject", "reject")
	if no != nil {
		return *no
	}
	shown := append(r.at(q.at, q.answerAt), t.entries()...)
	switch {
	case !t.answered:
		return broken(t.why, shown...)
	case t.answer.Error != nil:
		return broken("the turn ended with an error: "+errorText(t.answer.Error), shown...)
	}
	return kept("it ended with "+t.stop, shown...)
}

func judgePermissionError(r *recording) outcome {
	t, asks, no := r.asked("error")
	if no != nil {
		return *no
	}
	q := asks[0]
	shown := append(r.at(q.at, q.answerAt), t.entries()...)
	if !t.answered {
		return broken(t.why, shown...)
	}
	if files := r.filesAfter("error"); files != "" {
		return broken("the request had failed, and then there was "+listed(files), shown...)
	}
	for _, u := range r.statusesAfter(t, q) {
		if u.status == "completed" {
			return broken("the request had failed, and the call was completed", r.at(q.at, q.answerAt, u.at)...)
		}
	}
	after := r.call("error-after")
	switch {
	case t.answer.Error != nil:
		return broken("the turn ended with an error: "+errorText(t.answer.Error), shown...)
	case after == nil || !after.answered:
		return broken("the next prompt was not answered", shown...)
	case after.answer.Error != nil:
		return broken("the next prompt was answered with an error: "+errorText(after.answer.Error), append(shown, after.entries()...)...)
	}
	if no := r.invisible(); no != nil {
		return *no
	}
	return kept("the call was not completed, the turn ended, and the next prompt was answered", append(shown, after.entries()...)...)
}
