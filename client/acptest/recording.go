package acptest

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/client/transcript"
)

// recording is the conversation of an agent under test, as its transcript.
type recording struct {
	writer *transcript.Writer
	theirs *transcript.Writer // of Options.Client.Transcript; nil without one

	mu      sync.Mutex // guards what is below it
	text    []byte
	changed chan struct{} // closed, and replaced, when there is more
}

func newRecording(theirs *transcript.Writer) *recording {
	r := &recording{theirs: theirs, changed: make(chan struct{})}
	r.writer = transcript.NewWriter(r)
	return r
}

// Write takes a line of the transcript.
func (r *recording) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = append(r.text, line...)
	close(r.changed)
	r.changed = make(chan struct{})
	if r.theirs == nil {
		return len(line), nil
	}
	var h transcript.Header
	if err := json.Unmarshal(line, &h); err == nil && h.Version != 0 {
		r.theirs.Begin(h)
		return len(line), r.theirs.Err()
	}
	var e transcript.Entry
	if err := json.Unmarshal(line, &e); err != nil {
		return 0, err
	}
	r.theirs.Add(e)
	return len(line), r.theirs.Err()
}

// settle bounds the wait for what was said and is not recorded yet: a moment, but for what
// is never recorded as a frame.
const settle = 2 * time.Second

// sofar is the conversation up to now, nil if there was none. agent is nil where it did not
// start.
func (r *recording) sofar(agent *client.Agent) *transcript.Transcript {
	var frames int64
	if agent != nil {
		stats := agent.Conn().Stats()
		frames = stats.Received + stats.Sent
	}
	timer := time.NewTimer(settle)
	defer timer.Stop()
	for late := false; ; {
		r.mu.Lock()
		text, changed := slices.Clone(r.text), r.changed
		r.mu.Unlock()
		if talks, _ := transcript.Read(bytes.NewReader(text)); len(talks) > 0 {
			if t := talks[0]; late || t.End() != nil || messages(t) >= frames {
				return t
			}
		} else if late || agent == nil {
			return nil
		}
		select {
		case <-changed:
		case <-timer.C:
			late = true
		}
	}
}

func messages(t *transcript.Transcript) (n int64) {
	for _, e := range t.Entries {
		n += int64(len(e.Messages()))
	}
	return n
}

// Transcript returns the conversation with the agent so far, and all of it, with its end,
// after [Agent.Close]. Secrets are replaced in it.
func (a *Agent) Transcript() *transcript.Transcript {
	a.t.Helper()
	t := a.talk.sofar(a.agent)
	if t == nil {
		a.t.Fatal("acptest: Transcript: nothing was recorded")
	}
	return t
}
