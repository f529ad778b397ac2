package conform

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Things that there are none of.
const (
	noSuchSession = "errand-no-such-session"
	noSuchMode    = "errand-no-such-mode"
	noSuchCursor  = "errand-no-such-cursor"
)

// sceneSessions is what becomes of a session: modes and options, a turn, lists, closing it,
// and having it back in another process.
var sceneSessions = scene{
	name:  "sessions",
	about: "modes, config options, a turn, and where they are advertised session/list, close, load and resume, the last two in a fresh process, with a turn after each",
	play: func(a *actor) {
		result, ok := a.login()
		if !ok {
			return
		}
		session, ok := a.newSession("new", a.dir)
		if !ok {
			return
		}
		caps := field(result, "agentCapabilities")
		a.modes(session)
		a.configOptions(session)
		a.call("prompt", "session/prompt", promptText(session, a.prompt(PromptText)))
		if isObject(field(caps, "sessionCapabilities", "list")) {
			a.ask("list", "session/list", map[string]any{})
			a.ask("list-nobody", "session/list", map[string]any{"cwd": a.mkdir("nobody-was-here")})
			a.ask("list-bad-cursor", "session/list", map[string]any{"cursor": noSuchCursor})
		}
		if isObject(field(caps, "sessionCapabilities", "close")) {
			a.closing()
		}
		if flag(caps, "loadSession") {
			a.again(func() {
				answer, ok := a.call("load", "session/load", sessionParams(session, a.dir))
				a.settle(a.opts.ExitTimeout/20, a.opts.ExitTimeout/4) // what should have come before the answer
				a.mark("load-settled")
				if ok && answer.Error == nil {
					a.goOn("load-prompt", session)
				}
				a.ask("load-unknown", "session/load", sessionParams(noSuchSession, a.dir))
			})
		}
		if isObject(field(caps, "sessionCapabilities", "resume")) {
			a.again(func() {
				if answer, ok := a.call("resume", "session/resume", sessionParams(session, a.dir)); ok && answer.Error == nil {
					a.goOn("resume-prompt", session)
				}
			})
		}
	},
}

// again ends the agent, and goes on with a fresh one.
func (a *actor) again(play func()) {
	a.end()
	if _, ok := a.login(); ok {
		play()
	}
}

// goOn prompts again where the first prompt was answered.
func (a *actor) goOn(label, session string) {
	if a.resultOf("prompt") != nil {
		a.call(label, "session/prompt", promptText(session, a.prompt(PromptText)))
	}
}

func sessionParams(session, dir string) map[string]any {
	return map[string]any{"sessionId": session, "cwd": dir, "mcpServers": []any{}}
}

// modes sets the session's mode to another one and back, and to one that there is not.
func (a *actor) modes(session string) {
	modes := field(a.resultOf("new"), "modes")
	current, _ := stringField(modes, "currentModeId")
	other := ""
	for _, mode := range elements(field(modes, "availableModes")) {
		if id, _ := stringField(mode, "id"); id != "" && id != current && other == "" {
			other = id
		}
	}
	if current == "" {
		return
	}
	if other != "" {
		a.ask("set-mode", "session/set_mode", map[string]any{"sessionId": session, "modeId": other})
	}
	a.ask("set-mode-back", "session/set_mode", map[string]any{"sessionId": session, "modeId": current})
	a.ask("set-mode-unknown", "session/set_mode", map[string]any{"sessionId": session, "modeId": noSuchMode})
}

// configOptions sets the options in their order to the value that they have and to another
// one, until one takes that, and is set back.
func (a *actor) configOptions(session string) {
	sets := 0
	set := func(id, value string) (taken, answered bool) {
		sets++
		answer, ok := a.ask(setConfig(sets), "session/set_config_option", map[string]any{"sessionId": session, "configId": id, "value": value})
		return ok && answer.Error == nil, ok
	}
	for _, option := range elements(field(a.resultOf("new"), "configOptions")) {
		id, _ := stringField(option, "id")
		current, _ := stringField(option, "currentValue")
		if id == "" || current == "" {
			continue
		}
		values := optionValues(option)
		listed := slices.Contains(values, current)
		if listed {
			if _, answered := set(id, current); !answered {
				return
			}
		}
		other := slices.IndexFunc(values, func(value string) bool { return value != current })
		if other < 0 {
			continue
		}
		taken, answered := set(id, values[other])
		if taken && listed {
			set(id, current)
		}
		if taken || !answered {
			return
		}
	}
}

// setConfig labels the requests of configOptions, by their number.
func setConfig(n int) string { return fmt.Sprintf("set-config-%d", n) }

// optionValues are the values that a config option lists, also in groups.
func optionValues(option json.RawMessage) (values []string) {
	for _, o := range elements(field(option, "options")) {
		if value, _ := stringField(o, "value"); value != "" {
			values = append(values, value)
		}
		values = append(values, optionValues(o)...)
	}
	return values
}

// closing closes a session in which a turn is going on.
func (a *actor) closing() {
	session, ok := a.newSession("new-to-close", a.mkdir("close"))
	if !ok {
		return
	}
	p := a.send("prompt-to-close", "session/prompt", promptText(session, a.prompt(PromptLong)))
	_, m, ok := a.waitFor(p.sent+1, a.opts.Timeout, func(m message) bool {
		return m.Method == "session/update" && isSpeech(m) || m.isResponse() && sameJSON(m.ID, p.id)
	})
	if ok && !m.isResponse() {
		a.mark("speaking")
	}
	a.ask("close", "session/close", map[string]any{"sessionId": session})
	answer, ok := a.awaitFor(p, a.opts.ExitTimeout)
	a.settle(afterTurn, time.Second) // what should have come before the answer
	if stop, _ := stringField(answer.Result, "stopReason"); !ok || answer.Error != nil || stop == "cancelled" {
		return
	}
	a.ask("prompt-closed", "session/prompt", promptText(session, a.prompt(PromptText)))
	if session, ok = a.newSession("new-close-control", a.mkdir("control")); ok {
		a.control("close-control", session, "prompt-to-close")
	}
}

// resultOf is the result of the request with that label; nil where there is none.
func (a *actor) resultOf(label string) json.RawMessage {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.r.call(label); c != nil {
		return c.answer.Result
	}
	return nil
}
