package permission

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"maps"
	"slices"

	"github.com/coder/acp-go-sdk"
)

func (f *Facts) digest(r Request, input any) string {
	parts := []any{f.Method, r.SessionID, r.Dir, r.ToolCall.Kind, input, r.ToolCall.Locations, len(r.ToolCall.Content)}
	for _, c := range r.ToolCall.Content {
		if d := c.Diff; d != nil {
			parts = append(parts, "diff", d.Path, d.OldText, d.NewText, d.Meta)
			continue
		}
		text, err := json.Marshal(c)
		if err != nil {
			text = nil // of an unknown type: nothing of it is known
		}
		parts = append(parts, string(text))
	}
	for _, c := range f.Commands {
		parts = append(parts, c.Program)
	}
	return digestOf(append(parts, r.ToolCall.Meta)...)
}

// digestOf is the SHA-256, in hex, of the parts. It is empty where they are no JSON.
func digestOf(parts ...any) string {
	s := sum{Hash: sha256.New()}
	s.add(parts)
	if s.bad {
		return ""
	}
	return hex.EncodeToString(s.Sum(nil))
}

// sum takes values, each with its type and length before it: none can be read as a part
// of its neighbour. Texts are not copied, they may be whole files.
type sum struct {
	hash.Hash
	bad bool // there was something that is no JSON
}

func (s *sum) add(v any) {
	switch v := v.(type) {
	case string:
		s.text('s', v)
	case *string:
		if v == nil {
			s.add(nil)
		} else {
			s.text('s', *v)
		}
	case []any:
		s.head('l', len(v))
		for _, e := range v {
			s.add(e)
		}
	case map[string]any:
		s.head('m', len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			s.text('k', k)
			s.add(v[k])
		}
	default:
		text, err := json.Marshal(v)
		s.bad = s.bad || err != nil
		s.text('j', string(text))
	}
}

func (s *sum) head(kind byte, n int) { fmt.Fprintf(s, "%c%d:", kind, n) }

func (s *sum) text(kind byte, t string) {
	s.head(kind, len(t))
	var piece [4096]byte
	for len(t) > 0 {
		n := copy(piece[:], t)
		s.Write(piece[:n])
		t = t[n:]
	}
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
