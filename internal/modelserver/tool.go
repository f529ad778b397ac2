package modelserver

import (
	"encoding/json"
	"slices"
	"strings"
)

// tool is a tool on offer: its name and the JSON Schema of its arguments.
type tool struct {
	name   string
	schema schema
	// free is a tool that takes a text in place of an object.
	free bool
}

// schema is as much of a JSON Schema as it takes to fill in an object.
type schema struct {
	Type       any               `json:"type"` // a name or a list of them, in Gemini's API in capitals
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Enum       []any             `json:"enum"`
	Items      *schema           `json:"items"`
}

// call is a call of a tool.
type call struct {
	tool string
	args map[string]any
	// text is the argument of a tool that takes a text.
	text string
	free bool
}

// arguments is the arguments' object as JSON.
func (c *call) arguments() string {
	text, err := json.Marshal(c.args)
	if err != nil {
		panic(err) // they are strings, numbers and such
	}
	return string(text)
}

// The names that agents give to their tools and parameters, those that say it best
// first; compared without case, "_" and "-".
var (
	writers    = []string{"write", "writefile", "writetofile", "createfile", "create", "editor", "edit"}
	runners    = []string{"bash", "shell", "runshellcommand", "shellcommand", "execcommand", "executecommand", "runcommand", "runcommands", "exec", "terminal"}
	pathNames  = []string{"filepath", "absolutepath", "path", "filename", "targetfile", "file"}
	textNames  = []string{"content", "contents", "filetext", "newtext", "newstring", "text"}
	lineNames  = []string{"command", "cmd", "commands", "script"}
	patchTools = []string{"applypatch"}
)

// writeCall is a call that writes a file, with the tool for it or else with a shell;
// nil where neither is on offer.
func writeCall(tools []tool, path, text string) *call {
	for _, t := range named(tools, writers) {
		pathName, textName := t.parameter(pathNames), t.parameter(textNames)
		if pathName != "" && textName != "" {
			return t.call(map[string]any{pathName: path, textName: text})
		}
	}
	for _, t := range named(tools, patchTools) {
		if t.free {
			return &call{tool: t.name, free: true, text: "*** Begin Patch\n*** Add File: " + path + "\n+" + text + "\n*** End Patch\n"}
		}
	}
	return runCall(tools, "printf '%s' '"+text+"' > '"+path+"'")
}

// runCall is a call that runs a line of shell, nil where no tool does that.
func runCall(tools []tool, line string) *call {
	for _, t := range named(tools, runners) {
		name := t.parameter(lineNames)
		switch {
		case name == "":
		case !t.schema.Properties[name].is("array"):
			return t.call(map[string]any{name: line})
		case plain(name) == "commands": // a list of lines
			return t.call(map[string]any{name: []string{line}})
		default: // the words of one command
			return t.call(map[string]any{name: []string{"sh", "-c", line}})
		}
	}
	return nil
}

// named returns the tools that have one of the names, in the order of the names.
func named(tools []tool, names []string) []tool {
	var list []tool
	for _, name := range names {
		for _, t := range tools {
			if plain(t.name) == name {
				list = append(list, t)
			}
		}
	}
	return list
}

// parameter returns the first of the names that the tool has, as the tool spells it.
func (t tool) parameter(names []string) string {
	for _, name := range names {
		for property := range t.schema.Properties {
			if plain(property) == name {
				return property
			}
		}
	}
	return ""
}

// call fills in what the tool requires beside args.
func (t tool) call(args map[string]any) *call {
	for _, name := range t.schema.Required {
		if _, given := args[name]; !given {
			args[name] = t.schema.Properties[name].fill()
		}
	}
	return &call{tool: t.name, args: args}
}

// fill is a value that fits a schema.
func (s schema) fill() any {
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.is("boolean"):
		return false
	case s.is("integer"), s.is("number"):
		return 1000 // of what agents require it is a timeout or a limit
	case s.is("array"):
		return []any{}
	case s.is("object"):
		return map[string]any{}
	}
	return "as the prompt asked"
}

// is says whether the schema allows the type.
func (s schema) is(name string) bool {
	switch t := s.Type.(type) {
	case string:
		return strings.EqualFold(t, name)
	case []any:
		return slices.Contains(t, any(name))
	}
	return false
}

// plain is a name as names are compared.
func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}
