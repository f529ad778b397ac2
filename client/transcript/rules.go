package transcript

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// Times takes the times away: of the header, of each entry, and where a string has a date
// with a time of day in it, as in an RFC 3339 timestamp, "$time" takes its place.
func Times() Rule {
	return Rule{name: ruleName("Times"), puts: []string{"times"}, apply: func(d *draft) {
		d.header.StartedAt = time.Time{}
		for _, e := range d.entries {
			e.At = 0
		}
		d.strings(func(s string) string { return timestamp.ReplaceAllLiteralString(s, "$time") })
	}}
}

var timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?`)

// Versions takes away which version the client and the agent are of: "$version" takes its
// place, in the header, in clientInfo and in agentInfo.
func Versions() Rule {
	return Rule{name: ruleName("Versions"), puts: []string{"versions"}, apply: func(d *draft) {
		d.header.Client.Version = "$version"
		d.fields("initialize", "params.clientInfo.version", text("$version"))
		d.fields("initialize", "result.agentInfo.version", text("$version"))
	}}
}

// Command replaces the header's command, which has the place where the agent is installed.
func Command(words ...string) Rule {
	return Rule{name: ruleName("Command", slices.Clone(words)...), apply: func(d *draft) {
		d.header.Command = slices.Clone(words)
	}}
}

// Path replaces a path, also in longer strings and where it begins a longer path, but not
// where it only begins or ends a name; and how it is written in a URL; in names of members, too.
// A name that holds the path itself stays where it is. Several paths of which
// one begins another are to be named from the longest to the shortest.
func Path(path, name string) Rule {
	forms := []string{strings.TrimRight(path, `/\`)}
	if escaped := escapePath(forms[0]); escaped != forms[0] {
		forms = append(forms, escaped)
	}
	if forms[0] == "" {
		return Rule{name: ruleName("Path", path, name)}
	}
	return Rule{name: ruleName("Path", path, name), puts: []string{name}, apply: func(d *draft) {
		for _, form := range forms {
			d.strings(func(s string) string { return replaceWhole(s, form, name, pathEnds) })
		}
	}}
}

// Field puts value, a string, wherever a member is. The member is one of the request or
// notification of that method (its path begins with "params"), or of the answer to it
// ("result" or "error"); a method "*" is any. path has names and, for each element of an array
// or each member, "*", with a dot between them: "params.update._meta", "result.modes.*.name".
func Field(method, path, value string) Rule {
	return Rule{name: ruleName("Field", method, path, value), puts: []string{value}, apply: func(d *draft) { d.fields(method, path, text(value)) }}
}

// NoField removes a member, which is named as for [Field].
func NoField(method, path string) Rule {
	return Rule{name: ruleName("NoField", method, path), apply: func(d *draft) { d.fields(method, path, nil) }}
}

func (d *draft) fields(method, path string, value *node) {
	names := strings.Split(path, ".")
	about := calls{}
	d.messages(func(from From, m *node) {
		if is := about.method(from, m); method == "*" || is == method {
			m.at(names, func(*node) *node {
				if value == nil {
					return nil
				}
				put := *value
				return &put
			})
		}
	})
}

// Without removes what one of them wrote. Lines of stderr come by a way of their own, and
// not always at the same place among the frames.
func Without(from From) Rule {
	return Rule{name: ruleName("Without", string(from)), apply: func(d *draft) {
		d.entries = slices.DeleteFunc(d.entries, func(e *draftEntry) bool { return e.From == from && e.End == nil })
	}}
}

// Merge puts chunks of a message or thought together that follow each other, all the text in
// the first of them: an agent cuts its text where it happens to be.
// See https://agentclientprotocol.com/protocol/prompt-turn#3-agent-reports-output.
func Merge() Rule {
	return Rule{name: ruleName("Merge"), apply: func(d *draft) {
		var kept []*draftEntry
		var open *node    // the text of the last entry, if that is a chunk
		var alike string  // the chunk without its text
		var said []string // the texts of those that are put into it
		closed := func() {
			if len(said) > 1 {
				open.text = strings.Join(said, "")
			}
			said = said[:0]
		}
		for _, e := range d.entries {
			chunk, rest := chunkText(e)
			if chunk == nil || open == nil || rest != alike {
				closed()
				kept, open, alike = append(kept, e), chunk, rest
			}
			if chunk != nil {
				said = append(said, chunk.text)
			}
		}
		closed()
		d.entries = kept
	}}
}

// chunkText returns the text of a chunk, and the frame without it; nil for any other entry.
func chunkText(e *draftEntry) (chunk *node, rest string) {
	if e.frame == nil || e.From != FromAgent {
		return nil, ""
	}
	update := e.frame.member("params", "update")
	if update == nil {
		return nil, ""
	}
	kind, content := update.member("sessionUpdate"), update.member("content")
	if kind == nil || !strings.HasSuffix(kind.text, "_chunk") || content == nil {
		return nil, ""
	}
	as := content.member("type")
	chunk = content.member("text")
	if as == nil || as.text != "text" || chunk == nil || chunk.kind != '"' {
		return nil, ""
	}
	said := chunk.text
	chunk.text = ""
	rest = string(e.frame.append(nil))
	chunk.text = said
	return chunk, rest
}
