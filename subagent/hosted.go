package subagent

import (
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
	full  bool           // there was more than is kept
}

func newHosted(files, commands bool) *hosted {
	return &hosted{files: files, commands: commands, index: map[string]int{}}
}

// file takes a file that was read or written, or refused.
func (h *hosted) file(rec client.FileRecord) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.read) >= maxCards {
		h.full = true
		return
	}
	h.read = append(h.read, rec)
}

// command takes a command that was started, has ended, or was refused.
func (h *hosted) command(rec client.CommandRecord) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i, ok := h.index[rec.TerminalID]; ok && rec.TerminalID != "" {
		h.ran[i] = rec
		return
	}
	if len(h.ran) >= maxCards {
		h.full = true
		return
	}
	h.index[rec.TerminalID] = len(h.ran)
	h.ran = append(h.ran, rec)
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
