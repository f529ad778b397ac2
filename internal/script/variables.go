package script

import (
	"encoding/json"
	"os"
	"strings"
)

// variable is a name that every script has. Those without a function are set by what
// happens: a request, an answer, a loop.
type variable struct {
	doc string
	get func(t *task, path []string) json.RawMessage
}

var variables = map[string]variable{
	"prompt":  {doc: "the text of the prompt", get: func(t *task, _ []string) json.RawMessage { return quote(t.message.text) }},
	"id":      {doc: "the request's id, as JSON", get: func(t *task, _ []string) json.RawMessage { return t.message.ID }},
	"method":  {doc: "the request's method", get: func(t *task, _ []string) json.RawMessage { return quote(t.message.Method) }},
	"params":  {doc: "the request's params, as JSON; `$params.clientInfo.name` is a field", get: func(t *task, path []string) json.RawMessage { return dig(t.message.Params, path) }},
	"n":       {doc: "how often this method has come"},
	"i":       {doc: "the count of the innermost repeat or burst"},
	"option":  {doc: "the id of the option that was selected"},
	"outcome": {doc: "the answer to a permission: selected, cancelled, or error"},
	"answer":  {doc: "the result of the last request, the content of the file read, or the line typed"},
	"error":   {doc: "the error of the last request (`$error.code`, `$error.message`, `$error.data`), or of tty"},
	"child":   {doc: "the pid of the process spawned last", get: func(t *task, _ []string) json.RawMessage { return t.variable("child") }},
	"session": {doc: "the session's id", get: func(t *task, _ []string) json.RawMessage { return marshal(t.currentSession().id) }},
	"cwd":     {doc: "the session's directory, or the process's if there is no session yet", get: func(t *task, _ []string) json.RawMessage { return marshal(t.directory()) }},
	"pwd":     {doc: "the process's directory", get: constant(func() any { return workingDirectory() })},
	"args":    {doc: "the process's arguments, a JSON array", get: constant(func() any { return os.Args })},
	"pid":     {doc: "the process's id", get: constant(func() any { return os.Getpid() })},
	"ppid":    {doc: "its parent's", get: constant(func() any { return os.Getppid() })},
	"pgid":    {doc: "its group's", get: constant(func() any { return processGroup() })},
	"sid":     {doc: "its session leader's", get: constant(func() any { return processSession() })},
	"fds":     {doc: "the descriptors it was started with and what they refer to, one a line (Linux)", get: constant(func() any { return openDescriptors() })},
	"environ": {doc: "its environment, one variable a line", get: constant(func() any { return strings.Join(os.Environ(), "\n") })},
	"env": {doc: "`$env.NAME` is one of its environment", get: func(_ *task, path []string) json.RawMessage {
		return marshal(os.Getenv(strings.Join(path, ".")))
	}},
}

func constant(get func() any) func(*task, []string) json.RawMessage {
	return func(*task, []string) json.RawMessage { return marshal(get()) }
}

func isVariable(name string) bool {
	_, ok := variables[name]
	return ok
}
