package subagent

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/errand-acp/errand/client"
)

// hosted gathers what an agent does through us.
type hosted struct {
	files, commands bool // which of them the run has

	mu    sync.Mutex // guards what is below it; held for moments only
	read  []client.FileRecord
	ran   []client.CommandRecord
	index map[string]int // of the terminals in ran
	bytes int            // what read and ran hold, as JSON; at most maxCardBytes beside bare records
	full  bool           // there was more than is kept
}

func newHosted(files, commands bool) *hosted {
	return &hosted{files: files, commands: commands, index: map[string]int{}}
}

// file takes a file that was read or written, or refused.
func (h *hosted) file(rec client.FileRecord) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if rec, ok := room(h, len(h.read), rec, bareFile); ok {
		h.read = append(h.read, rec)
	}
}

// command takes a command that was started, has ended, or was refused.
func (h *hosted) command(rec client.CommandRecord) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if rec.TerminalID != nil {
		if i, ok := h.index[*rec.TerminalID]; ok {
			rec.Command, rec.Dir = h.ran[i].Command, h.ran[i].Dir // as much as is kept of them
			h.ran[i] = rec
			return
		}
	}
	rec, ok := room(h, len(h.ran), rec, bareCommand)
	if !ok {
		return
	}
	if rec.TerminalID != nil {
		h.index[*rec.TerminalID] = len(h.ran)
	}
	h.ran = append(h.ran, rec)
}

// room returns what is kept of a record that comes to n others: all of it or, where there
// is no room for that, its bare self. False means that it is not kept.
func room[T any](h *hosted, n int, rec T, bare func(T) T) (T, bool) {
	if n >= maxCards {
		h.full = true
		return rec, false
	}
	text, err := json.Marshal(rec)
	if err == nil && h.bytes+len(text) <= maxCardBytes {
		h.bytes += len(text)
		return rec, true
	}
	h.full = true
	rec = bare(rec)
	text, err = json.Marshal(rec)
	return rec, err == nil && len(text) <= maxBareRecord
}

// keptText is how much of a text is kept in a bare record, in bytes.
const keptText = 200

func bareFile(rec client.FileRecord) client.FileRecord {
	rec.Path = ellipsis(rec.Path, keptText)
	rec.Error = bareText(rec.Error)
	return rec
}

func bareCommand(rec client.CommandRecord) client.CommandRecord {
	rec.Command = slices.Clone(rec.Command[:min(len(rec.Command), 1)])
	for i, word := range rec.Command {
		rec.Command[i] = ellipsis(word, keptText)
	}
	rec.Dir, rec.Error = ellipsis(rec.Dir, keptText), bareText(rec.Error)
	return rec
}

func bareText(text *string) *string {
	if text == nil {
		return nil
	}
	return nonEmpty(ellipsis(*text, keptText))
}

// fill puts what is known by now into res.
func (h *hosted) fill(res *Result) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.files {
		res.Files = append([]client.FileRecord{}, h.read...)
	}
	if h.commands {
		res.Commands = append([]client.CommandRecord{}, h.ran...)
	}
	const more = "the agent read, wrote or ran more through us than is kept"
	if h.full && !slices.Contains(res.Warnings, more) {
		res.Warnings = append(res.Warnings, more)
	}
}
