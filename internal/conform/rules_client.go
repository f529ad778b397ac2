package conform

import (
	"fmt"
	"strings"

	"github.com/errand-acp/errand/client/transcript"
)

var clientRules = []Rule{
	{
		ID: "client-fs-not-advertised", Title: "calls no fs method that the client does not offer", Level: Must,
		Quote:  "If readTextFile or writeTextFile is false or not present, the Agent MUST NOT attempt to call the corresponding filesystem method.",
		Source: "https://agentclientprotocol.com/protocol/file-system#checking-support",
		judge:  judgeNotOffered("fs/", "on a file", map[string][]string{"fs/read_text_file": {"fs", "readTextFile"}, "fs/write_text_file": {"fs", "writeTextFile"}}),
	},
	{
		ID: "client-terminal-not-advertised", Title: "calls no terminal method that the client does not offer", Level: Must,
		Quote:  "If terminal is false or not present, the Agent MUST NOT attempt to call any terminal methods.",
		Source: "https://agentclientprotocol.com/protocol/terminals#checking-support",
		judge: judgeNotOffered("terminal/", "of the kind execute", map[string][]string{
			"terminal/create": {"terminal"}, "terminal/output": {"terminal"}, "terminal/wait_for_exit": {"terminal"}, "terminal/kill": {"terminal"}, "terminal/release": {"terminal"},
		}),
	},
	{
		ID: "client-method-known", Title: "calls only methods that there are, or that begin with an underscore", Level: Manners,
		Quote: "\"implementations MAY expose and call custom JSON-RPC requests as long as their name starts with an underscore (_)\" (extensibility#custom-requests): any other name may mean something else in the next version.",
		judge: judgeMethods,
	},
	{
		ID: "client-fs-shape", Title: "fs calls have an id, a session, a path, and content to write", Level: Must,
		Quote:  `AgentRequest: "required": ["id", "method"]; ReadTextFileRequest: "required": ["sessionId", "path"]; WriteTextFileRequest: "required": ["sessionId", "path", "content"]`,
		Source: schemaPlace + "WriteTextFileRequest",
		judge:  eachCall("fs/", "the agent called no fs method", shapeOfCall),
	},
	{
		ID: "client-terminal-shape", Title: "terminal calls have an id, a session, and a command or a terminal", Level: Must,
		Quote:  `AgentRequest: "required": ["id", "method"]; CreateTerminalRequest: "required": ["sessionId", "command"]; TerminalOutputRequest: "required": ["sessionId", "terminalId"], and so the others`,
		Source: schemaPlace + "CreateTerminalRequest",
		judge:  eachCall("terminal/", "the agent called no terminal method", shapeOfCall),
	},
	{
		ID: "client-path", Title: "paths in fs and terminal calls are absolute", Level: Must,
		Quote:  "All file paths in the protocol MUST be absolute.",
		Source: "https://agentclientprotocol.com/protocol/overview#argument-requirements",
		judge: eachCall("", "the agent called no method with a path", func(_ *recording, _ int, m message) (string, bool) {
			member := "path"
			if m.Method == "terminal/create" {
				member = "cwd"
			}
			path, ok := stringField(m.Params, member)
			if !ok {
				return "", false
			}
			if !isAbsolute(path) {
				return fmt.Sprintf("%s: %s %q is not absolute", m.Method, member, short(path, 200)), true
			}
			return "", true
		}),
	},
	{
		ID: "client-line", Title: "lines in fs calls count from 1", Level: Manners,
		Quote: "\"Line numbers are 1-based\" (overview#argument-requirements), \"Optional line number to start reading from (1-based)\" (file-system): of line 0 a client makes the first one, or an error.",
		judge: eachCall("fs/read_text_file", "the agent read no file from a line", func(_ *recording, _ int, m message) (string, bool) {
			line := field(m.Params, "line")
			if !isNumber(line) {
				return "", false
			}
			if string(line) == "0" || line[0] == '-' {
				return "line " + short(string(line), 20), true
			}
			return "", true
		}),
	},
	{
		ID: "client-terminal-known", Title: "terminal calls are on terminals that the client has created, and not released", Level: Manners,
		Quote: "\"After release the terminal ID becomes invalid for all other terminal/* methods.\" (terminals#releasing-terminals): of any other id a client knows nothing.",
		judge: eachCall("terminal/", "the agent called no method on a terminal", judgeTerminalKnown),
	},
	{
		ID: "client-terminal-released", Title: "terminals are released", Level: Must,
		Quote:  "The Agent MUST release the terminal using terminal/release when it's no longer needed.",
		Source: "https://agentclientprotocol.com/protocol/terminals#executing-commands",
		scenes: []string{"client"}, judge: judgeReleased,
	},
}

// judgeNotOffered judges calls of methods that need a capability of the client.
func judgeNotOffered(prefix, what string, needs map[string][]string) func(*recording) outcome {
	return func(r *recording) outcome {
		for i, m := range r.agent() {
			if path := needs[m.Method]; path != nil && !r.offered(path...) {
				return broken(fmt.Sprintf("%s was called, and clientCapabilities.%s was not advertised", m.Method, strings.Join(path, ".")), append(r.sent("initialize"), r.at(i)...)...)
			}
		}
		all := true
		for _, path := range needs {
			all = all && r.offered(path...)
		}
		if all {
			return untried("it was advertised in the scene " + r.scene)
		}
		// That nothing was called shows only where there was something to do, and it was done.
		for _, c := range r.calls() {
			if (c.kind == "execute") == (prefix == "terminal/") && c.ended.status == "completed" {
				return kept("a tool that might have was carried out, and called no "+prefix+" method that was not advertised", append(r.sent("initialize"), r.at(c.announced.at, c.ended.at)...)...)
			}
		}
		return untried("no tool call " + what + " was carried out; --prompt tool=… and command=… say what makes the agent do it")
	}
}

// doneCall is a tool call with its kind, as it was said last, and its last status.
type doneCall struct {
	announced, ended update
	kind             string
}

// calls are the tool calls that were announced.
func (r *recording) calls() []doneCall {
	var all []doneCall
	at := map[callKey]int{}
	for u := range r.callUpdates() {
		i, known := at[u.key()]
		if !known {
			i, at[u.key()] = len(all), len(all)
			all = append(all, doneCall{announced: u})
		}
		if kind, ok := stringField(u.body, "kind"); ok {
			all[i].kind = kind
		}
		if u.status != "" {
			all[i].ended = u
		}
	}
	return all
}

// sent is the request with this label.
func (r *recording) sent(label string) []transcript.Entry {
	if c := r.call(label); c != nil {
		return r.at(c.sentAt)
	}
	return nil
}

func judgeMethods(r *recording) outcome {
	var shown []transcript.Entry
	for i, m := range r.agent() {
		if !m.isRequest() && !m.isNotification() || m.Method == "" {
			continue
		}
		known := clientMethods[m.Method] != nil || m.Method == "session/update" || strings.HasPrefix(m.Method, "$/")
		if !known && !strings.HasPrefix(m.Method, "_") {
			return broken(fmt.Sprintf("the protocol has no method %q of the client", short(m.Method, 80)), r.at(i)...)
		}
		shown = append(shown, r.entries[i])
	}
	if shown == nil {
		return untried("the agent called nothing")
	}
	return kept("all methods are known, or begin with an underscore", shown...)
}

// eachCall judges every call of the agent for a method of the client whose name begins
// so, permission requests apart; wrong says what is wrong with one, and whether the rule
// is about it at all.
func eachCall(prefix, none string, wrong func(r *recording, at int, m message) (why string, counts bool)) func(*recording) outcome {
	return func(r *recording) outcome {
		var shown []transcript.Entry
		for i, m := range r.agent() {
			if !strings.HasPrefix(m.Method, prefix) || clientMethods[m.Method] == nil || m.Method == "session/request_permission" {
				continue
			}
			why, counts := wrong(r, i, m)
			if why != "" {
				return broken(why, r.at(i)...)
			}
			if counts {
				shown = append(shown, r.entries[i])
			}
		}
		if shown == nil {
			return untried(none + "; --prompt tool=… and command=… say what makes it")
		}
		return kept("all of them", shown...)
	}
}

func shapeOfCall(_ *recording, _ int, m message) (string, bool) {
	if m.isNotification() {
		return m.Method + ": " + wordless, true
	}
	if found := clientMethods[m.Method].misfits("params", m.Params); len(found) > 0 {
		return m.Method + ": " + say(found), true
	}
	return "", true
}

func judgeTerminalKnown(r *recording, at int, m message) (string, bool) {
	id, ok := stringField(m.Params, "terminalId")
	if m.Method == "terminal/create" || !ok {
		return "", false
	}
	switch made, released := r.terminal(id, at); {
	case made < 0:
		return fmt.Sprintf("%s: terminal %q was not created with us", m.Method, short(id, 80)), true
	case released >= 0:
		return fmt.Sprintf("%s: terminal %q had been released before", m.Method, short(id, 80)), true
	}
	return "", true
}

// judgeReleased looks at terminals whose command has exited, as the agent knows: it has
// waited for that, or seen it in the terminal's output.
func judgeReleased(r *recording) outcome {
	t, no := r.regular("command")
	if no != nil {
		return *no
	}
	var shown []transcript.Entry
	for i, m := range r.agent() {
		id, ok := stringField(m.Params, "terminalId")
		if m.Method != "terminal/wait_for_exit" && m.Method != "terminal/output" || !ok {
			continue // our terminals have exited when they are looked at
		}
		made, released := r.terminal(id, len(r.entries))
		switch {
		case made < 0: // client-terminal-known says so
		case released < 0:
			return broken(fmt.Sprintf("its command has exited, the turn has ended, and terminal %q was not released", short(id, 80)), r.at(made, i, t.end)...)
		default:
			shown = append(shown, r.at(made, i, released)...)
		}
	}
	if shown == nil {
		return untried("the agent looked at no command in a terminal; --prompt command=… says what makes it run one")
	}
	return kept("they were", shown...)
}
