package acptest

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
)

// expect waits for the first event of the turn, from the one with index i on, that fits,
// and moves the turn's place behind it. fits is called once for each event, in order, with
// the journal's mutex held; it may say why there is no more hope.
func (t *Turn) expect(what string, i int, fits func(i int, e *event) (ok bool, why string), instead func() string) {
	t.a.t.Helper()
	t.a.wait(what, "it did not come", func() (bool, string) {
		for ; i < len(t.a.events); i++ {
			e := t.a.events[i]
			switch {
			case e.end == t:
				if !t.over {
					return false, "" // it will be in a moment
				}
				return false, t.outcome()
			case !t.concerns(e):
				continue
			}
			ok, why := fits(i, e)
			switch {
			case ok:
				if i >= t.at {
					t.at, t.off = i+1, 0
				}
				return true, ""
			case why != "":
				return false, why
			case t.unexpected(e):
				return false, t.a.surprise(e.ask)
			}
		}
		return false, ""
	}, instead)
}

// Text waits until the agent has said part: until the text of its message, since the last
// expectation was met, contains it. What comes after it in the text is for the next
// expectation.
//
// See https://agentclientprotocol.com/protocol/prompt-turn#3-agent-reports-output.
func (t *Turn) Text(part string) {
	t.a.t.Helper()
	t.says(fmt.Sprintf("Text(%q)", part), part, "said", func(u *client.Update) *acp.ContentBlock {
		if c := u.Value.AgentMessageChunk; c != nil {
			return &c.Content
		}
		return nil
	})
}

// Thought is Text for what the agent says of its thoughts.
func (t *Turn) Thought(part string) {
	t.a.t.Helper()
	t.says(fmt.Sprintf("Thought(%q)", part), part, "thought", func(u *client.Update) *acp.ContentBlock {
		if c := u.Value.AgentThoughtChunk; c != nil {
			return &c.Content
		}
		return nil
	})
}

func (t *Turn) says(what, part, verb string, content func(*client.Update) *acp.ContentBlock) {
	t.a.t.Helper()
	start, off := t.at, t.off
	var said []byte
	var last, size, rest int // the event that has the end of the part, its text, and how much of that is behind it
	t.expect(what, start, func(i int, e *event) (bool, string) {
		if e.update == nil {
			return false, ""
		}
		block := content(e.update)
		if block == nil || block.Text == nil {
			return false, ""
		}
		chunk := block.Text.Text
		if i == start {
			chunk = chunk[off:]
		}
		from := max(0, len(said)-len(part)+1)
		said = append(said, chunk...)
		k := bytes.Index(said[from:], []byte(part))
		if k < 0 {
			return false, ""
		}
		last, size, rest = i, len(block.Text.Text), len(said)-(from+k+len(part))
		return true, ""
	}, func() string {
		if len(said) == 0 {
			return "; the agent has " + verb + " nothing since the last expectation"
		}
		return "; since the last expectation the agent has " + verb + " " + t.a.quoted(string(said))
	})
	if rest > 0 {
		t.at, t.off = last, size-rest
	}
}

// Update waits for an update, by its kind, such as "plan" or "current_mode_update". Those
// for which there is a method of their own are of a kind too, and those that the protocol
// does not have.
func (t *Turn) Update(kind string) client.Update {
	t.a.t.Helper()
	var u client.Update
	t.expect(fmt.Sprintf("Update(%q)", kind), t.at, func(_ int, e *event) (bool, string) {
		if e.update == nil || e.update.Kind != kind {
			return false, ""
		}
		u = e.update.Clone()
		return true, ""
	}, nil)
	return u
}

// File waits until the agent has read or written a file through us (Options.Client.Files),
// or wanted to and was refused; which of them is in the record. A relative path is
// relative to the session's directory.
//
// See https://agentclientprotocol.com/protocol/file-system.
func (t *Turn) File(op client.FileOp, path string) client.FileRecord {
	t.a.t.Helper()
	var r client.FileRecord
	t.expect(fmt.Sprintf("File(%q, %q)", string(op), path), t.at, func(_ int, e *event) (bool, string) {
		if e.file == nil || e.file.Op != op || !t.same(e.file.Path, path) {
			return false, ""
		}
		r = *e.file
		return true, ""
	}, func() string {
		if t.a.offers.Files == client.FilesNone {
			return "; the agent was offered no files (Options.Client.Files)"
		}
		return ""
	})
	return r
}

// Command waits until a command that the agent ran through us (Options.Client.Terminals) has
// ended, or was refused, which is in the record. The command is one whose words, with
// blanks between them, contain part.
//
// See https://agentclientprotocol.com/protocol/terminals.
func (t *Turn) Command(part string) client.CommandRecord {
	t.a.t.Helper()
	var r client.CommandRecord
	t.expect(fmt.Sprintf("Command(%q)", part), t.at, func(_ int, e *event) (bool, string) {
		if e.command == nil || !strings.Contains(strings.Join(e.command.Command, " "), part) {
			return false, ""
		}
		r = *e.command
		return true, ""
	}, func() string {
		if !t.a.offers.Terminals {
			return "; the agent was offered no terminals (Options.Client.Terminals)"
		}
		return ""
	})
	return r
}

// same reports whether path, as the agent told it, is the file that the test means.
func (t *Turn) same(told, path string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(t.s.session.Dir(), path)
	}
	if !filepath.IsAbs(told) {
		told = filepath.Join(t.s.session.Dir(), told)
	}
	return filepath.Clean(told) == filepath.Clean(path) || real(told) == real(path)
}

// real is path with its links resolved, as far as it exists.
func real(path string) string {
	dir, base := filepath.Split(filepath.Clean(path))
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		return filepath.Join(resolved, base)
	}
	return path
}

var toolKinds = []acp.ToolKind{
	acp.ToolKindRead, acp.ToolKindEdit, acp.ToolKindDelete, acp.ToolKindMove, acp.ToolKindSearch, acp.ToolKindExecute,
	acp.ToolKindThink, acp.ToolKindFetch, acp.ToolKindSwitchMode, acp.ToolKindOther,
}

// means reports whether what names the call: one of the protocol's kinds by its kind;
// anything else by its id, an unknown kind, or a part of its title.
func means(what string, call *acp.ToolCallUpdate) bool {
	kind := acp.ToolKind(what)
	switch {
	case call == nil:
		return false
	case what == "":
		return true
	case slices.Contains(toolKinds, kind):
		return deref(call.Kind) == kind
	}
	return string(call.ToolCallId) == what || deref(call.Kind) == kind || strings.Contains(deref(call.Title), what)
}
