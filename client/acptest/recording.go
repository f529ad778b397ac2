package acptest

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"time"

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

// sofar is the conversation up to now, nil if there was none: at least all that the test
// knows of.
func (a *Agent) sofar() *transcript.Transcript {
	var sent, heard int64
	if a.agent != nil {
		// The connection counts an answer a moment after it is known here.
		stats := a.agent.Conn().Stats()
		a.mu.Lock()
		sent, heard = stats.Sent, max(stats.Received, a.heard)
		a.mu.Unlock()
	}
	timer := time.NewTimer(settle)
	defer timer.Stop()
	for late := false; ; {
		t, changed := a.talk.now()
		switch {
		case t != nil && (late || t.End() != nil || messages(t, transcript.FromClient) >= sent && messages(t, transcript.FromAgent) >= heard):
			return t
		case t == nil && (late || a.agent == nil):
			return nil
		}
		select {
		case <-changed:
		case <-timer.C:
			late = true
		}
	}
}

// now is what has been recorded, nil if nothing, and is told when there is more.
func (r *recording) now() (*transcript.Transcript, <-chan struct{}) {
	r.mu.Lock()
	text, changed := slices.Clone(r.text), r.changed
	r.mu.Unlock()
	talks, _ := transcript.Read(bytes.NewReader(text)) // written by a Writer, whole lines
	if len(talks) == 0 {
		return nil, changed
	}
	return talks[0], changed
}

func messages(t *transcript.Transcript, from transcript.From) (n int64) {
	for _, e := range t.Entries {
		if e.From == from {
			n += int64(len(e.Messages()))
		}
	}
	return n
}

// Transcript returns the conversation with the agent so far, and all of it, with its end,
// after [Agent.Close]. Secrets are replaced in it.
func (a *Agent) Transcript() *transcript.Transcript {
	a.t.Helper()
	t := a.sofar()
	if t == nil {
		a.t.Fatal("acptest: Transcript: nothing was recorded")
	}
	return t
}
