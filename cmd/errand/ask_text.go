package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/permission"
)

// maxRows is how many of the paths, commands, … of a call are shown.
const maxRows = 8

// questionText is a question as it is shown, but for the line that asks for the answer, and
// whether that is all of it. agent is the agent's name, width the terminal's.
func questionText(q permission.Question, replies []reply, agent string, redact func(string) string, width int) (text string, whole bool) {
	f := q.Facts
	s := &sheet{redact: redact, width: width}
	s.line("")
	if f.Method == acp.ClientMethodSessionRequestPermission {
		s.line("errand: " + agent + " asks for permission. What is right of a bar may be in its words.")
		s.row("", "title", f.Title, shortText)
	} else {
		s.line("errand: " + agent + " wants errand to do it: " + f.Method + ". What is right of a bar may be in its words.")
	}
	for _, tool := range some(s, "tools", f.Tools) {
		s.row("", "tool", tool, shortText)
	}
	kinds := make([]string, len(f.Kinds))
	for i := range f.Kinds {
		kinds[i] = string(f.Kinds[i])
	}
	s.row("", "kind", strings.Join(kinds, ", "), shortText)
	if f.Dir != "" {
		s.row("", "directory", f.Dir, shortText)
	} else {
		s.row("!", "directory", "not known: a session of the agent's own", shortText)
	}
	for _, c := range some(s, "commands", f.Commands) {
		s.command(c, f.Dir)
	}
	s.paths(f)
	for _, h := range some(s, "hosts", f.Hosts) {
		s.host(h)
	}
	if input := q.Request.ToolCall.RawInput; input != nil && f.Method == acp.ClientMethodSessionRequestPermission {
		s.row("", "arguments", strings.TrimSpace(encode(input)), longText)
	}
	s.diffs(f.Diffs)
	for _, risk := range some(s, "risks", f.Risks) {
		s.row("!", "risk", risk, shortText)
	}
	whole = !s.partial
	s.line("")
	for _, r := range replies {
		if r.option == "" && r.label == "" {
			s.line(fmt.Sprintf("  %s  %s", r.key, r.what))
			continue
		}
		mark := ""
		if r.why != "" {
			mark = "-"
		}
		s.row(mark, strings.TrimSpace(r.key+"  "+r.what), r.label, shortText)
		if r.why != "" {
			s.row("", "  not offered", r.why, shortText)
		}
	}
	s.line("once: for this call; always: for as long as the agent remembers it")
	if !whole {
		s.line("Not all of it is shown. What errand is to do of it, it asks about again.")
	}
	return s.b.String(), whole
}

// some returns the first of a list, and says how many are left out.
func some[T any](s *sheet, what string, list []T) []T {
	if n := len(list) - maxRows; n > 0 {
		s.leftOut(strconv.Itoa(n) + " more " + what)
		return list[:maxRows]
	}
	return list
}

func (s *sheet) command(c permission.Command, dir string) {
	switch {
	case c.Shell:
		s.row("!", "shell line", c.Line, longText)
	default:
		words := make([]string, len(c.Argv))
		for i, word := range c.Argv {
			words[i] = quoted(s.redact(word))
		}
		s.row("", "command", strings.Join(words, " "), longText)
	}
	for _, variable := range some(s, "variables", c.Env) {
		s.row("!", "  with", variable, shortText)
	}
	if c.Program != "" && len(c.Argv) > 0 && c.Program != c.Argv[0] {
		s.row("", "  runs", c.Program, shortText)
	}
	if c.Dir != dir {
		s.row("!", "  in", c.Dir, shortText)
	}
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=@%+,-]+$`)

// quoted shows where a word of a command begins and ends.
func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return strconv.Quote(word)
}

// shownPath is a path with what there is to say of it.
type shownPath struct{ mark, label, told, leads string }

// paths shows first those that are not as others are.
func (s *sheet) paths(f permission.Facts) {
	var paths []shownPath
	for _, p := range f.Paths {
		if shown := showPath(p, f); !slices.Contains(paths, shown) {
			paths = append(paths, shown)
		}
	}
	slices.SortStableFunc(paths, func(a, b shownPath) int { return strings.Compare(b.mark, a.mark) })
	for _, p := range some(s, "paths", paths) {
		s.row(p.mark, p.label, p.told, shortText)
		if p.leads != "" {
			s.row(p.mark, "  leads to", p.leads, shortText)
		}
	}
}

func showPath(p permission.Path, f permission.Facts) shownPath {
	shown := shownPath{label: "path", told: p.Told}
	for risk, label := range map[string]string{"outside the directory: ": "path outside", "sensitive file: ": "sensitive path"} {
		// The rules have found it to be one; they may have found both.
		if slices.Contains(f.Risks, risk+p.Told) && (shown.mark == "" || label == "sensitive path") {
			shown.mark, shown.label = "!", label
		}
	}
	if p.Odd != "" {
		shown.mark, shown.label = "!", "odd path"
	}
	if p.Resolved != p.Told && !(filepath.IsLocal(p.Told) && p.Resolved == filepath.Join(f.Dir, p.Told)) {
		shown.leads = p.Resolved
	}
	return shown
}

func (s *sheet) host(h permission.Host) {
	if h.Name == "" {
		s.row("!", "network", h.Told, shortText)
		return
	}
	s.row("", "network", h.Name, shortText)
	if h.Told != h.Name {
		s.row("", "  told as", h.Told, shortText)
	}
}
