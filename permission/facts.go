package permission

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/coder/acp-go-sdk"
)

// Facts are what a tool call is about, drawn from everything the agent said of it:
// locations, raw input, diffs. They are what Rules go by, what a person is shown and
// what the record keeps. The agent may have lied in any of it; where two things it
// said do not agree, both are here.
type Facts struct {
	// Method is the request's, never empty.
	Method string `json:"method"`
	// Kinds are the kind the agent gave and those that follow from the rest: a call with
	// a command executes, one with a diff edits. Never empty: of a call that tells
	// nothing it is "other".
	Kinds []acp.ToolKind `json:"kinds"`
	// Tools are names of the tool, which ACP has no field for and agents put into
	// _meta or the raw input.
	Tools []string `json:"tools"`
	// Title is the agent's; it proves nothing.
	Title string `json:"title"`
	// Dir is the session's directory.
	Dir string `json:"dir"`
	// Paths are the files and directories the call names, without those that only a
	// command's arguments name.
	Paths []Path `json:"paths"`
	// Commands are the programs it runs.
	Commands []Command `json:"commands"`
	// Hosts are the network targets it names, in commands too.
	Hosts []Host `json:"hosts"`
	// Diffs are the edits it announces.
	Diffs []Diff `json:"diffs"`
	// Risks say in words why no standing grant is given for the call: a shell line, an
	// interpreter, a variable that is set for a command, a sensitive file, a path outside
	// the directory. Empty means that nothing of the kind was seen.
	Risks []string `json:"risks"`
	// Incomplete is set where the input was too deep or too large to be looked at
	// whole. No rule allows such a call.
	Incomplete bool `json:"incomplete"`
	// Digest is the same for two calls exactly if they ask for the same thing: a
	// SHA-256, in hex, over method, session, directory, kind, raw input, locations,
	// content and programs. Title and tool call id are not in it. Empty where the
	// input cannot be written as JSON.
	Digest string `json:"digest"`

	at    *place
	every []Path // what everyPath has found
}

// Path is a path that a call names.
type Path struct {
	// Told is what the agent wrote.
	Told string `json:"told"`
	// Abs is the path made absolute and clean; empty where Odd says why it cannot be.
	Abs string `json:"abs"`
	// Resolved is Abs with symbolic links resolved, and Abs itself without a
	// Request.Resolve.
	Resolved string `json:"resolved"`
	// Key says where it was found: "locations", "content", or the key in the raw input;
	// empty for the session's directory, of a search that names no path.
	Key string `json:"key"`
	// Odd says why the path may be another one than it seems: it holds control or
	// invisible characters, is of another system, cannot be resolved. Empty for an
	// ordinary path. An odd path is treated as a sensitive file.
	Odd string `json:"odd"`
}

// Command is a program with its arguments, or a line for a shell.
type Command struct {
	// Argv is the program and its arguments. Of a shell line it is empty: no program
	// can be told from a line that a shell reads.
	Argv []string `json:"argv"`
	// Env is what the call sets in the program's environment, as NAME=value.
	Env []string `json:"env"`
	// Dir is the directory it runs in, absolute.
	Dir string `json:"dir"`
	// Shell is set where a shell, or an interpreter we know nothing of, reads Line.
	Shell bool `json:"shell"`
	// Line is the shell line as the agent wrote it; empty where Argv says it all.
	Line string `json:"line"`
	// Program is the file that would run, where Request.LookPath knows it. It is empty
	// where it does not, and where the agent runs the command itself with a PATH of the
	// call's: that is not the one we look in.
	Program string `json:"program"`
}

// Host is a network target.
type Host struct {
	// Name is the host's name or address, in lower case without port; empty where the
	// URL cannot be read, and no rule allows it then.
	Name string `json:"name"`
	// Told is the URL or argument that it was found in.
	Told string `json:"told"`
	// Command is set where it was found in a command rather than beside it.
	Command bool `json:"command"`
}

// Diff is an edit as the agent announces it.
type Diff struct {
	// Path is absolute where that can be said.
	Path string `json:"path"`
	// Old is null for a new file.
	Old *string `json:"old"`
	// New is the text that takes its place.
	New string `json:"new"`
}

// drawn keeps the facts of a request, so that all who look at it see the same.
type drawn struct {
	mu    sync.Mutex // guards facts
	facts *Facts
}

// Facts draws the facts from the request. It may ask r.Resolve and r.LookPath about
// many paths. Within Decide it is done once, and of the request that Decide was given: a
// policy that wants other facts puts what it needs into a Request of its own.
func (r Request) Facts() Facts {
	if r.facts == nil {
		return r.drawFacts()
	}
	r.facts.mu.Lock()
	defer r.facts.mu.Unlock()
	if r.facts.facts == nil {
		f := r.drawFacts()
		r.facts.facts = &f
	}
	return *r.facts.facts
}

// keepFacts returns r with a place for its facts.
func (r Request) keepFacts() Request {
	if r.facts == nil {
		r.facts = &drawn{}
	}
	return r
}

// seenFacts returns the facts if anybody has looked at them.
func (r Request) seenFacts() *Facts {
	if r.facts == nil {
		return nil
	}
	r.facts.mu.Lock()
	defer r.facts.mu.Unlock()
	return r.facts.facts
}

func (r Request) drawFacts() Facts {
	f := Facts{
		Method: r.Method, Kinds: []acp.ToolKind{}, Tools: []string{}, Dir: r.Dir,
		Paths: []Path{}, Commands: []Command{}, Hosts: []Host{}, Diffs: []Diff{}, Risks: []string{},
		at: newPlace(r),
	}
	if f.Method == "" {
		f.Method = acp.ClientMethodSessionRequestPermission
	}
	x := extractor{facts: &f}
	if k := r.ToolCall.Kind; k != nil && *k != "" {
		f.kind(*k)
		x.told = *k
	}
	if r.ToolCall.Title != nil {
		f.Title = *r.ToolCall.Title
	}
	input, ok := plain(r.ToolCall.RawInput)
	x.incomplete(!ok)
	x.announced(r.ToolCall)
	x.rawInput(input)
	if x.told == acp.ToolKindSearch && len(f.Paths) == 0 && len(f.Commands) == 0 && f.Dir != "" {
		x.path(".", "") // that is where tools look
	}
	if len(f.Kinds) == 0 {
		f.kind(acp.ToolKindOther)
	}
	if f.Method != acp.ClientMethodTerminalCreate {
		for i := range f.Commands {
			if c := &f.Commands[i]; slices.ContainsFunc(c.Env, setsPath) {
				c.Program = ""
			}
		}
	}
	x.incomplete(len(f.everyPath()) > maxPaths || f.at.over())
	f.Risks = f.risks()
	x.incomplete(f.at.over())
	if ok {
		f.Digest = f.digest(r, input)
	}
	return f
}

// setsPath reports whether a variable says where programs are looked for.
func setsPath(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return strings.EqualFold(name, "PATH") // as on Windows; elsewhere it costs no more than a name
}

// kind adds what a call turned out to be to what it was said to be.
func (f *Facts) kind(k acp.ToolKind) {
	if !slices.Contains(f.Kinds, k) {
		f.Kinds = append(f.Kinds, k)
	}
}

func (f *Facts) is(k acp.ToolKind) bool { return slices.Contains(f.Kinds, k) }

// unseen reports whether the call runs something that it does not tell.
func (f *Facts) unseen() bool { return f.is(acp.ToolKindExecute) && len(f.Commands) == 0 }

func (f *Facts) risks() []string {
	var risks []string
	seen := map[string]bool{}
	add := func(text string) {
		if !seen[text] {
			risks = append(risks, text)
		}
		seen[text] = true
	}
	if f.Incomplete {
		add("too large to be looked at whole")
	}
	if f.unseen() {
		add("runs a command that it does not tell")
	}
	for _, k := range []acp.ToolKind{acp.ToolKindDelete, acp.ToolKindSwitchMode} {
		if f.is(k) {
			add("kind " + string(k))
		}
	}
	for _, c := range f.Commands {
		switch {
		case c.Shell:
			add("shell line")
		case f.launches(c):
			add("interpreter or launcher: " + c.Argv[0])
		}
		for _, variable := range c.Env {
			name, _, _ := strings.Cut(variable, "=")
			add("sets a variable: " + name)
		}
	}
	for _, h := range f.Hosts {
		if h.Name == "" {
			add("odd URL: " + h.Told)
		}
	}
	for _, p := range f.everyPath() {
		switch {
		case p.Odd != "":
			add("odd path: " + p.Told)
		case f.sensitive(p):
			add("sensitive file: " + p.Told)
		}
	}
	for _, p := range f.Paths {
		if p.Odd == "" && !f.at.inside(p) {
			add("outside the directory: " + p.Told)
		}
	}
	if risks == nil {
		return []string{}
	}
	return risks
}

// Equal reports whether f and g say the same, for tests that compare records with cmp.Diff.
func (f Facts) Equal(g Facts) bool {
	f.at, f.every, g.at, g.every = nil, nil, nil, nil
	return reflect.DeepEqual(f, g)
}

// Map returns the facts with every text in them changed by change, as for secrets that
// are not to be told. The digest stays.
func (f Facts) Map(change func(string) string) Facts {
	list := func(in []string) []string {
		out := make([]string, len(in))
		for i := range in {
			out[i] = change(in[i])
		}
		return out
	}
	f.at, f.every = nil, nil // they are for rules, and these are for people
	f.Kinds = slices.Clone(f.Kinds)
	for i := range f.Kinds {
		f.Kinds[i] = acp.ToolKind(change(string(f.Kinds[i])))
	}
	f.Tools, f.Title, f.Dir, f.Risks = list(f.Tools), change(f.Title), change(f.Dir), list(f.Risks)
	f.Paths, f.Commands, f.Hosts, f.Diffs = slices.Clone(f.Paths), slices.Clone(f.Commands), slices.Clone(f.Hosts), slices.Clone(f.Diffs)
	for i, p := range f.Paths {
		f.Paths[i] = Path{Told: change(p.Told), Abs: change(p.Abs), Resolved: change(p.Resolved), Key: change(p.Key), Odd: p.Odd}
	}
	for i, c := range f.Commands {
		f.Commands[i] = Command{Argv: list(c.Argv), Env: list(c.Env), Dir: change(c.Dir), Shell: c.Shell, Line: change(c.Line), Program: change(c.Program)}
	}
	for i, h := range f.Hosts {
		f.Hosts[i] = Host{Name: change(h.Name), Told: change(h.Told), Command: h.Command}
	}
	for i, d := range f.Diffs {
		f.Diffs[i] = Diff{Path: change(d.Path), New: change(d.New)}
		if d.Old != nil {
			old := change(*d.Old)
			f.Diffs[i].Old = &old
		}
	}
	return f
}

// everyPath returns the paths, and the arguments of commands that may be some.
func (f *Facts) everyPath() []Path {
	if f.every == nil {
		f.every = slices.Clone(f.Paths)
		for _, c := range f.Commands {
			rest, left := c.parted()
			for i, part := range []Command{rest, left} {
				for _, word := range part.words() {
					if len(f.every) > maxPaths || f.at.over() {
						return f.every
					}
					for _, p := range f.at.argument(word, c.Dir) {
						if i > 0 {
							p.Key = leftOut
						}
						f.every = append(f.every, p)
					}
				}
			}
			f.every = append(f.every, f.elsewhere(c)...)
		}
	}
	return f.every
}
