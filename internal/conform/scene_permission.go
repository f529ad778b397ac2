package conform

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// scenePermission has the agent call a tool and answers what it asks: allowed, rejected,
// and with an error, each in a session and a directory of its own.
var scenePermission = scene{
	name:  "permission",
	about: "a tool call that is allowed, one that is rejected, one whose permission request is answered with an error",
	play: func(a *actor) {
		a.answer("session/request_permission", always(ignore())) // the scene answers itself
		if _, ok := a.login(); !ok {
			return
		}
		for _, turn := range []struct {
			label string
			say   func(params json.RawMessage) reply
		}{
			{"allow", answerOfKind("allow")},
			{"reject", answerOfKind("reject")},
			{"error", always(refuse(-32603, "the permission could not be asked for"))},
		} {
			dir := a.mkdir(turn.label)
			session, ok := a.newSession("new-"+turn.label, dir)
			if !ok || !a.toolTurn(turn.label, session, dir, turn.say) {
				return
			}
			if turn.label == "error" {
				a.answer("session/request_permission", refusePermission) // some ask for whatever they are told
				a.converse("error-after", session, a.prompt(PromptText))
			}
		}
	},
}

// held is how long a permission request waits for its answer: an agent that does not wait
// has gone on by then.
const held = 150 * time.Millisecond

// toolTurn prompts for a tool call and answers each permission request after a while. A
// mark label+"/held" notes, before each answer, which files there are that were not there
// before, and label+"/files" the same after the turn. Not ok: the turn did not end.
func (a *actor) toolTurn(label, session, dir string, say answerer) bool {
	before := filesIn(dir)
	p := a.send(label, "session/prompt", promptOf(session, a.prompt(PromptTool)))
	ended := a.answering(p, func(params json.RawMessage) reply {
		a.pause(held)
		a.note(label+"/held", 0, newFiles(before, dir))
		return say(params)
	})
	if ended {
		a.settle(afterTurn, time.Second)
	}
	a.note(label+"/files", 0, newFiles(before, dir))
	if !ended {
		a.stop("the prompt %q was not answered", label)
	}
	return ended
}

// answering waits for the end of a turn and answers the permission requests in it.
func (a *actor) answering(p pending, say answerer) bool {
	over := time.Now().Add(a.opts.Timeout)
	for at := p.sent + 1; ; at++ {
		i, m, ok := a.waitFor(at, time.Until(over), func(m message) bool { return isAsk(m) || p.isAnswer(m) })
		switch {
		case !ok, isAsk(m) && time.Now().After(over): // what has come is found however late it is
			return a.gaveUp(p, a.opts.Timeout)
		case !isAsk(m):
			return true
		}
		at = i
		a.respond(m, say(m.Params))
	}
}

// isAnswer reports whether m answers the request.
func (p pending) isAnswer(m message) bool { return m.isResponse() && sameJSON(m.ID, p.id) }

// answered returns the answer to a request if it has come.
func (a *actor) answered(p pending) (message, bool) {
	_, m, ok := a.waitFor(p.sent+1, 0, p.isAnswer)
	return m, ok
}

// gaveUp notes that a request was not answered in time. It returns false, which is what
// there is to say of it.
func (a *actor) gaveUp(p pending, limit time.Duration) bool {
	note := fmt.Sprintf("nothing came within %v", limit)
	if a.isOver() {
		note = noteGone
	}
	a.note(p.label+unanswered, limit, note)
	return false
}

func isAsk(m message) bool { return m.Method == "session/request_permission" && m.isRequest() }

// answerOfKind selects the option of a kind that says yes or no once, or else always. An
// agent that offers neither is told, as the protocol has no other word, that the turn was
// cancelled.
func answerOfKind(kind string) answerer {
	return func(params json.RawMessage) reply {
		for _, want := range []string{kind + "_once", kind + "_always"} {
			for _, o := range elements(field(params, "options")) {
				id, named := stringField(o, "optionId")
				if has, _ := stringField(o, "kind"); named && has == want {
					return give(map[string]any{"outcome": map[string]string{"outcome": "selected", "optionId": id}})
				}
			}
		}
		return sayCancelled(params)
	}
}

var (
	allowPermission  = answerOfKind("allow")
	refusePermission = answerOfKind("reject")
	sayCancelled     = always(give(map[string]any{"outcome": map[string]string{"outcome": "cancelled"}}))
)

// filesIn lists the files in a directory and below it, but for what begins with a dot:
// agents keep what is their own there.
func filesIn(dir string) (names []string) {
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || path == dir:
		case strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
		case !d.IsDir():
			names = append(names, strings.TrimPrefix(path[len(dir):], string(filepath.Separator)))
		}
		return nil
	})
	return names
}

// newFiles lists, one a line, what is in dir and was not.
func newFiles(before []string, dir string) string {
	return strings.Join(slices.DeleteFunc(filesIn(dir), func(name string) bool { return slices.Contains(before, name) }), "\n")
}
