package permission

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/coder/acp-go-sdk"
)

func (f *Facts) digest(r Request, input any) string {
	programs := make([]string, len(f.Commands))
	for i, c := range f.Commands {
		programs[i] = c.Program
	}
	if _, ok := plain(r.ToolCall.RawInput); !ok {
		return ""
	}
	content := make([]json.RawMessage, len(r.ToolCall.Content))
	for i, c := range r.ToolCall.Content {
		content[i], _ = json.Marshal(c) // null for one of an unknown type: nothing of it is known
	}
	return digestOf(f.Method, r.SessionID, r.Dir, r.ToolCall.Kind, input, r.ToolCall.Locations, content, r.ToolCall.Meta, programs)
}

// digestOf is the SHA-256, in hex, of the parts as one JSON array: no part can be read
// as belonging to its neighbour. It is empty where they are no JSON.
func digestOf(parts ...any) string {
	text, err := json.Marshal(parts)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// acts returns a digest for each thing that a call does and that we could be asked to
// do for it: make that text of this file, run this command there. Symbolic links, those
// in arguments too, and the program's file are in it, so that a changed one is another
// act; so is the old text, because a part of a file, or a lie about it, was shown to
// somebody as if it were all. There is none of a command in a world of paths that is not
// ours: it was judged by what its arguments mean there, and would run here.
func (f *Facts) acts() []string {
	var acts []string
	for _, d := range f.Diffs {
		for _, p := range f.at.paths(d.Path, f.Dir, "") {
			if p.Odd == "" {
				acts = append(acts, digestOf("write", p.Abs, p.Resolved, d.Old, d.New))
			}
		}
	}
	if f.at.local != nil {
		return acts
	}
	for _, c := range f.Commands {
		var leads []string
		for _, word := range c.words() {
			for _, p := range f.at.argument(word, c.Dir) {
				leads = append(leads, p.Abs, p.Resolved)
			}
		}
		acts = append(acts, digestOf("run", c.Argv, c.Env, c.Dir, c.Shell, c.Line, c.Program, leads))
	}
	return acts
}

// hosted is what the agent wants of us in a request that we made up ourselves.
func (f *Facts) hosted() (act string, ok bool) {
	acts := f.acts()
	switch f.Method {
	case acp.ClientMethodFsWriteTextFile, acp.ClientMethodTerminalCreate:
		if len(acts) == 1 {
			return acts[0], acts[0] != ""
		}
	}
	return "", false
}
