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

	mu      sync.Mutex             // guards what is below it
	talk    *transcript.Transcript // nil before it has begun
	frames  frames                 // those of it
	changed chan struct{}          // closed, and replaced, when there is more
}

// frames counts the messages of a conversation.
type frames struct{ sent, heard int64 }

func newRecording(theirs *transcript.Writer) *recording {
	r := &recording{theirs: theirs, changed: make(chan struct{})}
	r.writer = transcript.NewWriter(r)
	return r
}

// Write takes a line of the transcript.
func (r *recording) Write(line []byte) (int, error) {
	var e transcript.Entry
	if err := json.Unmarshal(line, &e); err != nil {
		var h transcript.Header
		if err := json.Unmarshal(line, &h); err != nil {
			return 0, err
		}
		r.change(func() { r.talk = &transcript.Transcript{Header: h, Cut: true} })
		if r.theirs != nil {
			r.theirs.Begin(h)
		}
	} else {
		r.change(func() { r.add(e) })
		if r.theirs != nil {
			r.theirs.Add(e)
		}
	}
	if r.theirs == nil {
		return len(line), nil
	}
	return len(line), r.theirs.Err()
}

func (r *recording) change(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	close(r.changed)
	r.changed = make(chan struct{})
}

// add adds an entry; with mu held.
func (r *recording) add(e transcript.Entry) {
	n := int64(len(e.Messages()))
	switch e.From {
	case transcript.FromClient:
		r.frames.sent += n
	case transcript.FromAgent:
		r.frames.heard += n
	}
	r.talk.Entries = append(r.talk.Entries, e)
	r.talk.Cut = r.talk.Cut && e.End == nil
}

// state says how far the conversation is, in no more time for a long one than for a short
// one, and what is told when there is more.
func (r *recording) state() (begun, over bool, n frames, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.talk != nil, r.talk != nil && !r.talk.Cut, r.frames, r.changed
}

// copy is what has been recorded, for somebody who may do with it what he likes.
func (r *recording) copy() *transcript.Transcript {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := *r.talk
	t.Header.Command = slices.Clone(t.Header.Command)
	t.Entries = slices.Clone(t.Entries)
	for i := range t.Entries {
		e := &t.Entries[i]
		e.Frame = bytes.Clone(e.Frame)
		if e.End != nil {
			end := *e.End
			e.End = &end
		}
	}
	return &t
}

// settle bounds the wait for what was said and is not recorded yet: a moment, but for what
// is never recorded as a frame.
const settle = 2 * time.Second

// sofar is the conversation up to now, nil if there was none: at least all that the test
// knows of.
func (a *Agent) sofar() *transcript.Transcript {
	var known frames
	if a.agent != nil {
		// The connection counts an answer a moment after it is known here.
		stats := a.agent.Conn().Stats()
		a.mu.Lock()
		known = frames{stats.Sent, max(stats.Received, a.heard)}
		a.mu.Unlock()
	}
	timer := time.NewTimer(settle)
	defer timer.Stop()
	for late := false; ; {
		begun, over, n, changed := a.talk.state()
		switch {
		case begun && (late || over || n.sent >= known.sent && n.heard >= known.heard):
			return a.talk.copy()
		case !begun && (late || a.agent == nil):
			return nil
		}
		select {
		case <-changed:
		case <-timer.C:
			late = true
		}
	}
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
