package conform

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// sceneClient offers the agent our files and terminals, allows what it asks for, and sees
// what it makes of them.
var sceneClient = scene{
	name:  "client",
	about: "a tool call and a command, with the client's file system and terminals on offer",
	play: func(a *actor) {
		a.caps = map[string]any{"fs": map[string]bool{"readTextFile": true, "writeTextFile": true}, "terminal": true}
		a.answer("session/request_permission", allowPermission)
		a.answer("fs/read_text_file", a.readFile)
		a.answer("fs/write_text_file", a.writeFile)
		var terminals terminals
		for method, how := range map[string]answerer{
			"create": terminals.create, "output": terminals.output, "wait_for_exit": terminals.exit,
			"kill": terminals.kill, "release": terminals.release,
		} {
			a.answer("terminal/"+method, how)
		}
		session, ok := a.session()
		for _, turn := range []struct {
			label string
			kind  PromptKind
		}{{"files", PromptTool}, {"command", PromptCommand}} {
			if !ok || !a.converse(turn.label, session, a.prompt(turn.kind)) {
				return
			}
			a.settle(afterTurn, time.Second) // what should have come before the answer
		}
	},
}

// The answers of a client that means well. It serves only what is in the scratch
// directory, and its terminals run nothing: the agent says what would be run.

const (
	invalidParams    = -32602
	resourceNotFound = -32002
)

func (a *actor) readFile(params json.RawMessage) reply {
	name, ok := a.scratchFile(params)
	if !ok {
		return refuse(invalidParams, "path is no absolute path in the session's directory")
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return refuse(resourceNotFound, "Resource not found")
	}
	return give(map[string]string{"content": string(content)})
}

func (a *actor) writeFile(params json.RawMessage) reply {
	name, ok := a.scratchFile(params)
	content, isText := stringField(params, "content")
	if !ok || !isText {
		return refuse(invalidParams, "it takes an absolute path in the session's directory, and content")
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return refuse(-32603, "it cannot be written")
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		return refuse(-32603, "it cannot be written")
	}
	return give(map[string]any{})
}

func (a *actor) scratchFile(params json.RawMessage) (name string, ok bool) {
	name, _ = stringField(params, "path")
	if !filepath.IsAbs(name) {
		return "", false
	}
	in, err := filepath.Rel(a.dir, name)
	return name, err == nil && filepath.IsLocal(in)
}

// terminals are the terminals of a client that runs nothing in them: each command has
// exited well, with one line of output. They belong to the goroutine that answers.
type terminals struct {
	made int
	open map[string]bool
}

func (t *terminals) create(json.RawMessage) reply {
	t.made++
	id := fmt.Sprintf("terminal-%d", t.made)
	if t.open == nil {
		t.open = map[string]bool{}
	}
	t.open[id] = true
	return give(map[string]string{"terminalId": id})
}

// on answers a call on a terminal that is there.
func (t *terminals) on(params json.RawMessage, result any) reply {
	if id, _ := stringField(params, "terminalId"); !t.open[id] {
		return refuse(resourceNotFound, "Resource not found")
	}
	return give(result)
}

var wellExited = map[string]any{"exitCode": 0, "signal": nil}

func (t *terminals) output(params json.RawMessage) reply {
	return t.on(params, map[string]any{"output": "errand was here\n", "truncated": false, "exitStatus": wellExited})
}

func (t *terminals) exit(params json.RawMessage) reply { return t.on(params, wellExited) }
func (t *terminals) kill(params json.RawMessage) reply { return t.on(params, map[string]any{}) }

func (t *terminals) release(params json.RawMessage) reply {
	answer := t.on(params, map[string]any{})
	id, _ := stringField(params, "terminalId")
	delete(t.open, id)
	return answer
}

// isAbsolute reports whether a path is absolute on some system: the agent may run on
// another one than we do.
func isAbsolute(path string) bool {
	if strings.HasPrefix(path, "/") || strings.HasPrefix(path, `\\`) {
		return true
	}
	drive := len(path) >= 3 && path[1] == ':' && (path[2] == '\\' || path[2] == '/')
	return drive && strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", rune(path[0]))
}
