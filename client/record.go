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

// How much waits to be recorded before the agent is held back, and before the recording is
// given up where it is not, in bytes.
const (
	maxRecordQueue   = 4 << 20
	maxRecordBacklog = 64 << 20
)

// How long an agent is held back for one write, and in one conversation; and how long the
// end of that waits for the rest. Nothing but a test changes them, whose verdict is not to
// depend on the speed of the machine.
var (
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
	changed  sync.Cond  // with mu: there is room, lifted has changed, or somebody has waited long enough
	queue    []record
	bytes    int           // queued or being written
	putting  int           // of that what is being written
	begun    time.Time     // when the one was begun that is being written
	writing  chan struct{} // closed when its goroutine ends; nil when there is none
	patience time.Duration // what was left of it when waiting was 0
	waiting  int           // how many are held back
	since    time.Time     // when the first of those was
	lifted   int           // how often lift was called and not undone: nobody is held back
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

// cost is what it takes of the queue.
func (r record) cost() int { return len(r.line) + recordCost }

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
	}}, false)
	return r
}

// end records how the agent ended, and waits until everything is written or it has taken
// too long.
func (r *recorder) end(e transcript.End) {
	if r == nil {
		return
	}
	r.add(record{entry: transcript.Entry{End: &e}}, false)
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

// lift holds nobody back until restore is called, once.
func (r *recorder) lift() (restore func()) {
	if r == nil {
		return func() {}
	}
	add := func(n int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.lifted += n
		r.changed.Broadcast()
	}
	add(1)
	return func() { add(-1) }
}

// add queues what is to be recorded; with hold as soon as there is room.
func (r *recorder) add(rec record, hold bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if hold && r.bytes > 0 && r.bytes+rec.cost() > maxRecordQueue {
		r.await()
	}
	if r.bytes-r.putting > maxRecordBacklog {
		r.w.Fail(errRecordSlow)
	}
	if r.over || r.w.Err() != nil {
		return
	}
	rec.entry.At = time.Since(r.started)
	r.queue = append(r.queue, rec)
	r.bytes += rec.cost()
	if r.writing == nil {
		r.writing, r.begun = make(chan struct{}), time.Now()
		// It belongs to r, and ends when nothing is queued or the writer fails.
		go r.write()
	}
}

// await waits until there is room again, or that has taken too long; with mu held. A
// machine that is busy takes long as well: what counts is that it goes on.
func (r *recorder) await() {
	if r.waiting++; r.waiting == 1 {
		r.since = time.Now()
	}
	defer func() {
		if r.waiting--; r.waiting == 0 {
			r.patience -= time.Since(r.since)
		}
	}()
	for r.bytes > maxRecordQueue/2 && r.lifted == 0 && !r.over && r.w.Err() == nil {
		left := min(recordStall-time.Since(r.begun), r.patience-time.Since(r.since))
		if left <= 0 {
			r.w.Fail(errRecordSlow)
			return
		}
		timer := time.AfterFunc(left, func() {
			r.mu.Lock() // or it could come before the Wait
			defer r.mu.Unlock()
			r.changed.Broadcast()
		})
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
			r.queue, r.bytes, r.putting = nil, 0, 0
			r.idle()
		}
	}()
	for {
		rec, ok := r.next()
		if !ok {
			break
		}
		r.put(rec)
	}
	returned = true
}

// next takes the last record off the account and returns the next one. Without one nobody
// is writing any more.
func (r *recorder) next() (record, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes -= r.putting
	r.putting = 0
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
	r.putting = rec.cost()
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
