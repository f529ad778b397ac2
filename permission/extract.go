package permission

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/coder/acp-go-sdk"
)

// What is looked at in one call. No agent comes near; an input beyond it is there to
// tire whoever reads it.
const (
	maxDepth    = 32
	maxFindings = 1024
	maxPaths    = 4 * maxFindings // what words of commands may name
)

// plain returns v as encoding/json decodes it, whatever Go types it is made of; false
// where it is not JSON. It may share v's texts: they can be whole files.
func plain(v any) (any, bool) {
	if asDecoded(v, 0) {
		return v, true
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, false
	}
	return decodeJSON(text)
}

// asDecoded reports whether v is already as plain returns it.
func asDecoded(v any, depth int) bool {
	if depth > maxDepth {
		return false
	}
	switch v := v.(type) {
	case nil, bool:
		return true
	case string:
		return utf8.ValidString(v)
	case []any:
		return v != nil && !slices.ContainsFunc(v, func(e any) bool { return !asDecoded(e, depth+1) })
	case map[string]any:
		for k, e := range v {
			if !utf8.ValidString(k) || !asDecoded(e, depth+1) {
				return false
			}
		}
		return v != nil
	}
	return false
}

func decodeJSON(text []byte) (any, bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return nil, false
	}
	return v, true
}

// extractor fills in facts.
type extractor struct {
	facts *Facts
	told  acp.ToolKind // the kind the agent gave; empty for none
	found int

	written bool // there is a text to write
}

// done reports whether there is more than is looked at.
func (x *extractor) done() bool { return x.found > maxFindings || x.facts.at.over() }

func (x *extractor) incomplete(yes bool) { x.facts.Incomplete = x.facts.Incomplete || yes }

// full counts a finding and reports whether it is one too many.
func (x *extractor) full() bool {
	x.found++
	x.incomplete(x.found > maxFindings)
	return x.found > maxFindings
}

func (x *extractor) path(told, key string, bases ...string) {
	f := x.facts
	for _, base := range append(bases, f.Dir) {
		if x.done() {
			return
		}
		for _, p := range f.at.paths(told, base, key) {
			if !slices.ContainsFunc(f.Paths, func(q Path) bool { return p.Told == q.Told && p.Abs == q.Abs && p.Odd == q.Odd }) && !x.full() {
				f.Paths = append(f.Paths, p)
			}
		}
	}
}

func (x *extractor) command(c Command) {
	f := x.facts
	size := 256
	for _, text := range append(slices.Concat(c.Argv, c.Env), c.Line) {
		size += len(text)
	}
	if x.full() || !f.at.spend(size) {
		return
	}
	f.kind(acp.ToolKindExecute)
	if c.Argv == nil {
		c.Argv = []string{}
	}
	if c.Env == nil {
		c.Env = []string{}
	}
	f.Commands = append(f.Commands, c)
	x.found += len(c.words())
	x.incomplete(x.found > maxFindings)
	for _, h := range c.hosts() {
		x.host(h)
	}
}

func (x *extractor) host(h Host) {
	if !x.done() && !slices.Contains(x.facts.Hosts, h) && !x.full() {
		x.facts.Hosts = append(x.facts.Hosts, h)
	}
}

func (x *extractor) tool(name string) {
	if name != "" && !x.done() && !slices.Contains(x.facts.Tools, name) && !x.full() {
		x.facts.Tools = append(x.facts.Tools, name)
	}
}

// announced takes what the agent says in the protocol's own fields.
func (x *extractor) announced(call acp.ToolCallUpdate) {
	for _, l := range call.Locations {
		x.path(l.Path, "locations")
	}
	for _, c := range call.Content {
		if d := c.Diff; d != nil {
			x.path(d.Path, "content")
			diff := Diff{Path: d.Path, Old: d.OldText, New: d.NewText}
			if at := x.facts.at.paths(d.Path, x.facts.Dir, "content"); at[0].Abs != "" {
				diff.Path = at[0].Abs
			}
			x.facts.Diffs = append(x.facts.Diffs, diff)
			x.facts.kind(acp.ToolKindEdit)
		}
	}
	if meta, ok := plain(call.Meta); ok {
		x.meta(meta, 0)
	}
}

// meta looks for the tool's name in what agents put into _meta.
func (x *extractor) meta(v any, depth int) {
	m, _ := v.(map[string]any)
	if depth > maxDepth {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if name, ok := m[key].(string); ok && keyNamed(key, toolKeys) {
			x.tool(name)
		}
		x.meta(m[key], depth+1)
	}
}

// rawInput takes what the tool itself will get. There is no schema: every agent has
// names of its own for the same things.
func (x *extractor) rawInput(v any) {
	if line, ok := v.(string); ok && x.told == acp.ToolKindExecute && !looksJSON(line) {
		x.command(x.line(line, nil, x.facts.Dir))
		return
	}
	x.value("rawInput", v, scope{}, 0)
	if x.written && len(x.facts.Paths) > 0 {
		x.facts.kind(acp.ToolKindEdit)
	}
}

// value takes a value that has key in an object of that scope.
func (x *extractor) value(key string, v any, in scope, depth int) {
	if depth > maxDepth {
		x.incomplete(true)
		return
	}
	if x.done() {
		x.incomplete(true)
		return
	}
	switch v := v.(type) {
	case string:
		x.text(key, v, in, depth)
	case []any:
		for _, e := range v {
			x.value(key, e, in, depth+1)
		}
	case map[string]any:
		x.object(key, v, in, depth)
	}
}

func (x *extractor) object(key string, m map[string]any, in scope, depth int) {
	size := len(in.env) + len(in.cwd)
	for k := range m {
		size += 64 + 8*len(k)
	}
	if !x.facts.at.spend(size) {
		return
	}
	in = x.scope(m, in)
	used := x.runs(m, in)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if used[k] {
			continue
		}
		if text, ok := m[k].(string); ok {
			x.written = x.written || keyNamed(k, writtenKeys)
			if keyNamed(k, toolKeys) {
				x.tool(text)
			}
		}
		if strings.ContainsAny(k, `/\`) || keyNamed(key, changesKeys) && strings.Contains(k, ".") || x.facts.at.namesSensitive(k) {
			x.path(k, key, in.cwd...)
		}
		x.value(k, m[k], in, depth+1)
	}
}

// text takes a string. What is under a key for paths is one; what is under a key for
// content is none, unless it is a patch; of the rest, what looks like one.
func (x *extractor) text(key, s string, in scope, depth int) {
	for _, path := range patched(s) {
		if x.done() {
			break
		}
		x.path(path, key, in.cwd...)
		x.facts.kind(acp.ToolKindEdit)
	}
	isPath := isPathKey(key)
	if !isPath && isContentKey(key) {
		return
	}
	if looksJSON(s) {
		if v, ok := decodeJSON([]byte(s)); ok {
			x.value(key, v, in, depth+1)
			return
		}
		x.incomplete(keyNamed(key, inputKeys)) // somebody else may read it more kindly
	}
	x.facts.at.spend(len(s))
	if hosts := urlHosts(s, hostWords[lastWord(key)]); len(hosts) > 0 {
		for _, h := range hosts {
			x.host(h)
		}
		x.facts.kind(acp.ToolKindFetch)
		return
	}
	if isPath || looksPath(s) || x.facts.at.namesSensitive(s) {
		x.path(s, key, in.cwd...)
	}
}

func looksJSON(s string) bool {
	s = strings.TrimSpace(s)
	return strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[")
}

// looksPath reports whether s can hardly be anything but a path.
func looksPath(s string) bool {
	if strings.ContainsAny(s, "\n\r") || len(s) > 4096 {
		return false
	}
	for _, prefix := range []string{"/", `\\`, "./", "../", `.\`, `..\`, "~/", "file:"} {
		if strings.HasPrefix(s, prefix) {
			return true
		}
	}
	return s == ".." || s == "~" || drivePath.MatchString(s) || strings.Contains(s, "/../") || strings.Contains(s, `\..\`)
}

// patched returns the files that a patch in s changes.
func patched(s string) []string {
	if !strings.Contains(s, "*** ") && !strings.Contains(s, "+++ ") {
		return nil
	}
	var paths []string
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\r\n")
		for _, mark := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ", "+++ ", "--- ", "rename from ", "rename to ", "copy from ", "copy to "} {
			path, ok := strings.CutPrefix(line, mark)
			if !ok {
				continue
			}
			path, _, _ = strings.Cut(path, "\t")
			if strings.HasSuffix(mark, "+ ") || strings.HasSuffix(mark, "- ") {
				path = strings.TrimPrefix(strings.TrimPrefix(path, "a/"), "b/")
			}
			if path = strings.TrimSpace(path); path != "" && path != "/dev/null" {
				paths = append(paths, path)
			}
		}
	}
	return paths
}
