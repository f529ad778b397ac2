package transcript

import (
	"bytes"
	"encoding/json"
	"io"
	"time"
)

// Version is the version of the format that this package reads and writes.
const Version = 1

// Header is the first line of a conversation.
type Header struct {
	// Version is that of the format. A Writer fills in [Version] for 0.
	Version int
	// StartedAt is when the agent was started, and what Entry.At counts from. The zero
	// time means that it is not known.
	StartedAt time.Time
	// RunID is that of the run, as in its result.
	RunID string
	// Client is who speaks to the agent.
	Client Peer
	// Command is the agent's program and its arguments, without secrets; nil if not known.
	Command []string
	// Dir is the directory of the agent's process.
	Dir string
	// Normalized says which names stand in the conversation for what was said, since the
	// rules of Normalize put them there: "ids", "times" and "versions" for those of the
	// rules of these names, and what Path and Field were given; nil where nothing has
	// been normalized. Whoever replays a conversation knows by it that "$HOME" is what
	// was said.
	Normalized []string
}

// Peer is a program that speaks ACP.
type Peer struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// From says who wrote what an Entry holds.
type From string

// The writers of what a transcript records. The entry that has the end is from nobody.
const (
	FromClient From = "client" // to the agent's stdin
	FromAgent  From = "agent"  // the agent's stdout
	FromStderr From = "stderr" // the agent's stderr
)

func (f From) known() bool { return f == FromClient || f == FromAgent || f == FromStderr }

// Entry is a line after the header. It has one of Frame, Text and End; without any of
// them it is a Text that is empty.
type Entry struct {
	// At is when it happened, since Header.StartedAt; recorded to the microsecond.
	At time.Duration
	// From is who wrote Frame or Text; empty for End.
	From From
	// Frame is a JSON-RPC frame, or an array of them, byte for byte as it was on the
	// wire; only secrets are replaced in it, and bytes that are not UTF-8. It is any JSON
	// object or array: whether it makes sense as a frame is up to who reads it.
	Frame json.RawMessage
	// Text is a line, without its end, that is no frame: of stderr, or noise on stdout.
	Text string
	// Bytes, if not 0, is how long the line was of which Text has only the beginning.
	Bytes int64
	// End is how the agent's process ended.
	End *End
}

// End is how a recorded agent ended, as in the exit of a result. The zero End is that of
// one that could not be started.
type End struct {
	// Code is the exit status, nil for a signal and where it is not known.
	Code *int `json:"code"`
	// Signal is the name of the signal that ended it, such as SIGKILL, nil for an exit.
	Signal *string `json:"signal"`
	// Rung is the last rung of the shutdown ladder that was taken before it was gone;
	// see client.Rung.
	Rung string `json:"rung"`
}

// Transcript is one conversation.
type Transcript struct {
	Header Header
	// Entries are in the order in which they were recorded, the end as one of them.
	Entries []Entry
	// Cut is set where there is no end: the recording was cut off.
	Cut bool
}

// End returns how the agent ended, nil where that was not recorded.
func (t *Transcript) End() *End {
	for i := len(t.Entries) - 1; i >= 0; i-- {
		if end := t.Entries[i].End; end != nil {
			return end
		}
	}
	return nil
}

// WriteTo writes t as [Writer] does, or nothing of it if that has an error. It implements
// io.WriterTo.
func (t *Transcript) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	out := NewWriter(&b)
	out.Begin(t.Header)
	for _, e := range t.Entries {
		out.Add(e)
	}
	if err := out.Err(); err != nil {
		return 0, err
	}
	return b.WriteTo(w)
}
