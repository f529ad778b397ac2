package permission

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"
)

// editorVerbs are what one family of file tools has under "command" beside a path.
var editorVerbs = []string{"view", "create", "str_replace", "insert", "undo_edit"}

// runs takes the commands that m is about and returns the keys it has dealt with.
func (x *extractor) runs(m map[string]any, cwd []string) map[string]bool {
	used := map[string]bool{}
	dir, env := x.facts.Dir, environment(m)
	if len(cwd) > 0 {
		dir = cwd[len(cwd)-1]
	}
	args, argsKey := arguments(m)
	shell := usesShell(m)
	add := func(c Command) {
		if shell && !c.Shell {
			c = Command{Shell: true, Line: c.text()}
		}
		c.Dir, c.Env = dir, append(slices.Clone(env), c.Env...)
		x.command(x.lookedUp(c))
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		isProgram := keyNamed(key, programKeys)
		switch v := m[key].(type) {
		case string:
			switch {
			case strings.TrimSpace(v) == "":
			case keyNamed(key, commandKeys) && !x.editorVerb(m, v), isProgram && argsKey != "":
				add(withArgs(v, args))
				used[key], used[argsKey] = true, true
			case keyNamed(key, linesKeys):
				add(splitLine(v))
				used[key] = true
			case keyNamed(key, codeKeys) && (x.told == acp.ToolKindExecute || !hasPathKey(m)):
				add(Command{Shell: true, Line: v})
				used[key] = true
			}
		case []any:
			switch list, ok := stringList(v); {
			case !ok || len(list) == 0:
			case keyNamed(key, linesKeys):
				for _, line := range list {
					add(splitLine(line))
				}
				used[key] = true
			case keyNamed(key, commandKeys) && key != argsKey, isProgram:
				more, _ := args.([]string)
				add(Command{Argv: append(list, more...)})
				used[key], used[argsKey] = true, true
			}
		}
	}
	return used
}

// line is a command that stands for itself.
func (x *extractor) line(line string, env []string, dir string) Command {
	c := splitLine(line)
	c.Env, c.Dir = append(slices.Clone(env), c.Env...), dir
	return x.lookedUp(c)
}

func (x *extractor) lookedUp(c Command) Command {
	if look := x.facts.at.lookPath; look != nil && len(c.Argv) > 0 {
		if file, err := look(c.Argv[0]); err == nil {
			c.Program = file
		}
	}
	return c
}

func (x *extractor) editorVerb(m map[string]any, v string) bool {
	return x.told != acp.ToolKindExecute && hasPathKey(m) && slices.Contains(editorVerbs, v)
}

func hasPathKey(m map[string]any) bool {
	for k := range m {
		if isPathKey(k) && !keyNamed(k, cwdKeys) {
			return true
		}
	}
	return false
}

// arguments returns the arguments beside a command, a []string or a string, and their
// key; an object under such a name is not what a program gets.
func arguments(m map[string]any) (args any, key string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !keyNamed(k, argsKeys) {
			continue
		}
		switch v := m[k].(type) {
		case string:
			return v, k
		case []any:
			if list, ok := stringList(v); ok {
				return list, k
			}
		}
	}
	return nil, ""
}

func stringList(v []any) ([]string, bool) {
	list := make([]string, 0, len(v))
	for _, e := range v {
		s, ok := e.(string)
		if !ok {
			return nil, false
		}
		list = append(list, s)
	}
	return list, true
}

// withArgs is the command of a program's name with arguments beside it. A name that a
// shell would take apart is a shell line: nobody can say whether one reads it.
func withArgs(name string, args any) Command {
	switch args := args.(type) {
	case string:
		return splitLine(name + " " + args)
	case []string:
		if len(args) == 0 {
			return splitLine(name)
		}
		if c := splitLine(name); len(c.Argv) != 1 || c.Argv[0] != name {
			return Command{Shell: true, Line: name + " " + strings.Join(args, " ")}
		}
		return Command{Argv: append([]string{name}, args...)}
	}
	return splitLine(name)
}

// environment returns what m sets for a command: {"NAME": "value"}, ["NAME=value"] or
// [{"name": …, "value": …}].
func environment(m map[string]any) []string {
	var env []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if !keyNamed(key, envKeys) {
			continue
		}
		switch v := m[key].(type) {
		case string:
			if v != "" {
				env = append(env, v)
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				env = append(env, name+"="+jsonText(v[name]))
			}
		case []any:
			for _, e := range v {
				if pair, ok := e.(map[string]any); ok {
					env = append(env, jsonText(pair["name"])+"="+jsonText(pair["value"]))
				} else {
					env = append(env, jsonText(e))
				}
			}
		}
	}
	return env
}

func jsonText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	text, _ := json.Marshal(v)
	return string(text)
}

// usesShell reports whether m asks for a shell of its own: {"shell": true} or its name.
func usesShell(m map[string]any) bool {
	for k, v := range m {
		if keyNamed(k, shellKeys) {
			switch v := v.(type) {
			case bool:
				return v
			case string:
				return v != "" && v != "false"
			}
		}
	}
	return false
}

// text is the command on one line, for those who search it.
func (c Command) text() string {
	if c.Line != "" {
		return c.Line
	}
	return strings.Join(c.Argv, " ")
}
