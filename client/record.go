package client

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/internal/redact"
	"github.com/errand-acp/errand/internal/wire"
)

// How much waits to be recorded before the agent is held back, in bytes; how long it is for
// one write, and in one conversation; and how long the end of that waits for the rest.
const (
	maxRecordQueue = 4 << 20
	recordStall    = 5 * time.Second
	recordPatience = 2 * time.Minute
	recordGrace    = 10 * time.Second
)

// recordCost is what an entry costs the queue beside its text.
const recordCost = 128

var errRecordSlow = errors.New("it takes too long to write it")

// recorder records a conversation for Options.Transcript. Whoever has something to record
// hands it over and goes on: the writer is user code, or a disk. Its methods are for any
// goroutine; those of a nil one do nothing.
type recorder struct {
	w       *transcript.Writer
	redact  *redact.Redactor
	started time.Time

	mu       sync.Mutex // guards what follows
	changed  sync.Cond  // with mu: there is room, or hurry has changed
	queue    []record
	bytes    int           // queued or being written
	begun    time.Time     // when the one was begun that is being written
	writing  chan struct{} // closed when its goroutine ends; nil when there is none
	patience time.Duration // what is left of it
	hurry    bool          // nobody is held back any more
	over     bool          // there is an end
}

// record is what has been handed over.
type record struct {
	header *transcript.Header
	entry  transcript.Entry // without what is in line

	// line, if not nil, is what was written, frames or not: all of it or, where entry.Bytes
	// is not 0, its beginning. open says that the writer was gone before its end.
	line []byte
	open bool
}

// record begins to record, if that is asked for.
func (l *launch) record() *recorder {
	if l.opts.Transcript == nil {
		return nil
	}
	self := Self()
	r := &recorder{w: l.opts.Transcript, redact: l.redact, started: time.Now(), patience: recordPatience}
	r.changed.L = &r.mu
	r.add(record{header: &transcript.Header{
		StartedAt: r.started, RunID: l.spec.RunID, Client: transcript.Peer(self),
		Command: slices.Clone(l.command), Dir: l.redact.String(l.dir),
	}})
	return r
}

// end records how the agent ended, and waits until everything is written or it has taken
// too long.
func (r *recorder) end(e transcript.End) {
	if r == nil {
		return
	}
	r.add(record{entry: transcript.Entry{End: &e}})
	r.mu.Lock()
	r.over = true
	writing := r.writing
	r.mu.Unlock()
	if writing == nil || r.w.Err() != nil {
		return
	}
	for over := time.Now().Add(recordGrace); ; {
		r.mu.Lock()
		left := min(recordStall-time.Since(r.begun), time.Until(over))
		r.mu.Unlock()
		if left <= 0 {
			r.w.Fail(errRecordSlow)
			return
		}
		timer := time.NewTimer(left)
		select {
		case <-writing:
			timer.Stop()
			return
		case <-timer.C: // though it may have gone on
		}
	}
}

// release holds nobody back from now on: no more can come than pipes hold.
func (r *recorder) release() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hurry = true
	r.changed.Broadcast()
}

// add queues what is to be recorded, as soon as there is room.
func (r *recorder) add(rec record) {
	cost := len(rec.line) + recordCost
	r.mu.Lock()
	defer r.mu.Unlock()
	r.await(cost)
	if r.over || r.w.Err() != nil {
		return
	}
	rec.entry.At = time.Since(r.started)
	r.queue = append(r.queue, rec)
	r.bytes += cost
	if r.writing == nil {
		r.writing, r.begun = make(chan struct{}), time.Now()
		// It belongs to r, and ends when nothing is queued or the writer fails.
		go r.write()
	}
}

// await waits until cost more bytes can be queued, or that has taken too long; with mu
// held. A machine that is busy takes long as well: what counts is that it goes on.
func (r *recorder) await(cost int) {
	if r.bytes == 0 || r.bytes+cost <= maxRecordQueue {
		return
	}
	since := time.Now()
	defer func() { r.patience -= time.Since(since) }()
	for r.bytes > maxRecordQueue/2 && !r.hurry && !r.over && r.w.Err() == nil {
		left := min(recordStall-time.Since(r.begun), r.patience-time.Since(since))
		if left <= 0 {
			r.w.Fail(errRecordSlow)
			return
		}
		timer := time.AfterFunc(left, r.changed.Broadcast)
		r.changed.Wait()
		timer.Stop()
	}
}

// write writes what is queued.
func (r *recorder) write() {
	returned := false
	defer func() {
		if !returned { // the writer ended the goroutine, as a test's FailNow does
			r.mu.Lock()
			defer r.mu.Unlock()
			r.queue, r.bytes = nil, 0
			r.idle()
		}
	}()
	cost := 0 // of what was written
	for {
		rec, ok := r.next(cost)
		if !ok {
			break
		}
		cost = len(rec.line) + recordCost
		r.put(rec)
	}
	returned = true
}

// next takes the cost of the last record off the account and returns the next one. Without
// one nobody is writing any more.
func (r *recorder) next(cost int) (record, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes -= cost
	if len(r.queue) == 0 {
		r.queue = nil
		r.idle()
		return record{}, false
	}
	if r.bytes <= maxRecordQueue/2 {
		r.changed.Broadcast()
	}
	r.begun = time.Now()
	rec := r.queue[0]
	r.queue[0] = record{}
	r.queue = r.queue[1:]
	return rec, true
}

// idle says that nobody writes; with mu held.
func (r *recorder) idle() {
	close(r.writing)
	r.writing = nil
	r.changed.Broadcast()
}

// put writes one record, without the secrets in it.
func (r *recorder) put(rec record) {
	e := rec.entry
	switch {
	case rec.header != nil:
		r.w.Begin(*rec.header)
		return
	case rec.line == nil:
		r.w.Add(e)
		return
	}
	var frames [][]byte
	text := rec.line
	if rec.open || e.Bytes > 0 {
		text = []byte(r.redact.Cut(string(text)))
	} else {
		text = r.redact.Bytes(text)
	}
	if e.Bytes == 0 && e.From != transcript.FromStderr {
		frames = wire.Split(text)
	}
	for _, frame := range frames {
		e.Frame = frame
		r.w.Add(e)
	}
	if frames == nil {
		e.Text = strings.TrimSuffix(string(text), "\r")
		r.w.Add(e)
	}
}
