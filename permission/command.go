package permission

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"
)

// editorVerbs are what one family of file tools has under "command" beside a path.
var editorVerbs = []string{"view", "create", "str_replace", "insert", "undo_edit"}

// scope is what an object says of the commands in it, and in the objects it holds.
type scope struct {
	cwd   []string // what the directory may be; none means the session's
	env   []string
	shell bool
}

func (x *extractor) scope(m map[string]any, outer scope) scope {
	in := scope{cwd: outer.cwd, env: slices.Concat(outer.env, environment(m)), shell: outer.shell || usesShell(m)}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if dir, ok := m[k].(string); ok && keyNamed(k, cwdKeys) {
			for _, p := range x.facts.at.paths(dir, x.facts.Dir, k) {
				in.cwd = append(slices.Clip(in.cwd), p.Abs) // "" makes what is relative to it odd
			}
		}
	}
	return in
}

// runs takes the commands that m is about and returns the keys it has dealt with.
func (x *extractor) runs(m map[string]any, in scope) map[string]bool {
	used := map[string]bool{}
	dir := x.facts.Dir
	if len(in.cwd) > 0 {
		dir = in.cwd[len(in.cwd)-1]
	}
	args, argsKeys := arguments(m)
	add := func(c Command, keys ...string) {
		if in.shell && !c.Shell {
			c = Command{Shell: true, Line: c.text(), Env: c.Env}
		}
		c.Dir, c.Env = dir, slices.Concat(in.env, c.Env)
		x.command(x.lookedUp(c))
		for _, key := range keys {
			used[key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if x.done() {
			break
		}
		switch v := m[key].(type) {
		case string:
			switch {
			case strings.TrimSpace(v) == "":
			case isCommandKey(key) && !x.editorVerb(m, v), keyNamed(key, programKeys):
				add(withArgs(v, args), append(argsKeys, key)...)
			case keyNamed(key, linesKeys):
				add(splitLine(v), key)
			case keyNamed(key, codeKeys) && (x.told == acp.ToolKindExecute || !hasPathKey(m)):
				add(Command{Shell: true, Line: v}, key)
			}
		case []any:
			list, ok := stringList(v)
			switch {
			case len(v) == 0 || !isCommandKey(key) && !keyNamed(key, linesKeys):
			case ok && isCommandKey(key):
				add(withMore(list, args), append(argsKeys, key)...)
			default:
				for _, e := range v { // a line, a list of words, or an object that is walked later
					if x.done() {
						break
					}
					if line, ok := e.(string); ok {
						add(splitLine(line))
					} else if words, ok := e.([]any); ok {
						argv, plain := stringList(words)
						add(Command{Argv: argv, Shell: !plain, Line: unlessPlain(plain, words)})
					}
				}
			}
		}
	}
	if argv, ok := args.([]string); ok && len(used) == 0 && len(argv) > 0 && slices.ContainsFunc(argsKeys, func(k string) bool { return keyNamed(k, []string{"argv"}) }) {
		add(Command{Argv: argv}, argsKeys...)
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
		name := c.Argv[0]
		if strings.ContainsAny(name, `/\`) && !filepath.IsAbs(name) && c.Dir != "" {
			name = filepath.Join(c.Dir, name) // it is run there
		}
		if file, err := look(name); err == nil {
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

// arguments returns the arguments beside a command and their keys: a []string, or a
// string for a shell to read. An object under such a name is not what a program gets.
func arguments(m map[string]any) (args any, keys []string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !keyNamed(k, argsKeys) {
			continue
		}
		var here any
		switch v := m[k].(type) {
		case string:
			here = v
		case []any:
			list, ok := stringList(v)
			if here = list; !ok {
				here = "; " + jsonText(v) // no list of words: whatever it is, not plain
			}
		default:
			continue
		}
		keys, args = append(keys, k), here
	}
	if len(keys) > 1 {
		args = "; " + jsonText(m) // nobody can say which of them the program gets
	}
	return args, keys
}

// stringList returns the words of a list, and false where it holds anything that is
// none.
func stringList(v []any) ([]string, bool) {
	list := make([]string, 0, len(v))
	for _, e := range v {
		switch e := e.(type) {
		case string:
			list = append(list, e)
		case json.Number, bool:
			list = append(list, jsonText(e))
		default:
			return nil, false
		}
	}
	return list, true
}

func unlessPlain(plain bool, v any) string {
	if plain {
		return ""
	}
	return jsonText(v)
}

// withArgs is the command of a program's name with arguments beside it. A name that a
// shell would take apart is a shell line: nobody can say whether one reads it.
func withArgs(name string, args any) Command {
	switch args := args.(type) {
	case string:
		return splitLine(name + " " + args)
	case []string:
		if len(args) == 0 {
			break
		}
		if c := splitLine(name); len(c.Argv) != 1 || c.Argv[0] != name {
			return Command{Shell: true, Line: name + " " + strings.Join(args, " ")}
		}
		return Command{Argv: append([]string{name}, args...)}
	}
	return splitLine(name)
}

func withMore(argv []string, args any) Command {
	switch args := args.(type) {
	case string:
		return Command{Shell: true, Line: strings.Join(argv, " ") + " " + args}
	case []string:
		return Command{Argv: slices.Concat(argv, args)}
	}
	return Command{Argv: argv}
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
