package acptest

import (
	"bytes"
	"cmp"
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
	// overflow is called, not with mu held, when there is no room for an entry, and why.
	overflow func(why string)

	mu      sync.Mutex             // guards what is below it
	talk    *transcript.Transcript // nil before it has begun
	frames  frames                 // those of it
	room    room                   // for its entries; beyond it only their end is kept
	changed chan struct{}          // closed, and replaced, when there is more
}

// frames counts the messages of a conversation, and with them the lines of the agent that
// are none.
type frames struct{ sent, heard int64 }

func newRecording(theirs *transcript.Writer, overflow func(why string)) *recording {
	r := &recording{theirs: theirs, overflow: overflow, room: newRoom(), changed: make(chan struct{})}
	r.writer = transcript.NewWriter(r)
	return r
}

// Write takes a line of the transcript. Where the test's own Writer fails the kit's goes on:
// see lost.
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
		full := ""
		r.change(func() { full = r.add(e, len(line)) })
		if full != "" {
			r.overflow(full)
		}
		if r.theirs != nil {
			r.theirs.Add(e)
		}
	}
	return len(line), nil
}

// lost is why the transcript of the test's own is not whole, nil if it is or there is none.
func (r *recording) lost() error {
	if r.theirs == nil {
		return nil
	}
	return cmp.Or(r.theirs.Err(), r.writer.Err())
}

func (r *recording) change(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	close(r.changed)
	r.changed = make(chan struct{})
}

// add adds an entry, a line of so many bytes, and says why there is no room for it; with mu
// held.
func (r *recording) add(e transcript.Entry, bytes int) (full string) {
	n := int64(len(e.Messages()))
	switch e.From {
	case transcript.FromClient:
		r.frames.sent += n
	case transcript.FromAgent:
		r.frames.heard += max(n, 1)
	}
	if e.End != nil {
		r.talk.Cut = false
	} else if full = r.room.take(bytes); full != "" {
		return full
	}
	r.talk.Entries = append(r.talk.Entries, e)
	return ""
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

// known is how far the conversation is as the connection has seen it.
func (a *Agent) known() frames {
	if a.agent == nil {
		return frames{}
	}
	// The connection counts an answer a moment after it is known here.
	stats := a.agent.Conn().Stats()
	a.mu.Lock()
	defer a.mu.Unlock()
	return frames{stats.Sent, max(stats.Received, a.heard) + stats.Noise.Lines}
}

// sofar is the conversation up to now, nil if there was none: at least all that the test
// knows of.
func (a *Agent) sofar() *transcript.Transcript {
	known := a.known()
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
