package subagent

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// auditGrace is how long the end of a run waits for its lines to be written.
	auditGrace = 5 * time.Second
	// maxAuditQueue bounds the lines that wait for the writer, in bytes.
	maxAuditQueue = 16 << 20
)

// Audit writes what runs do, as they do it: a line for each thing, a JSON object that is
// an AuditRecord. Any number of providers and runs may share one. Neither field may be
// changed once a run has been started.
//
// The lines of a run are in the order in which things happened; those of runs at the same
// time are mixed. Each says which run it belongs to.
//
// A run does not wait for W. Up to 16 MiB of lines wait in its place, and the end of a run
// waits for its own, but no longer than five seconds. Lines that come to nothing because W
// fails, panics or blocks are counted, and a warning in the result says so.
type Audit struct {
	// W gets each line in one Write, with its newline, one Write at a time and on a
	// goroutine of the Audit. Of a line that W takes a part of, it gets the rest with the
	// next one. It must not be nil.
	W io.Writer
	// Content adds what is no metadata: the raw input of tool calls and the text of their
	// diffs. Secrets of the agent's environment are replaced in them; what else an agent
	// and its files hold is there in clear.
	Content bool

	mu      sync.Mutex // guards what is below, and the auditTally of each run; held for moments only
	queue   []auditLine
	bytes   int  // of the lines that are not written yet
	writing bool // drain is at work
	stuck   bool // a run has waited in vain for the Write that is under way

	rest []byte // of a line of which W took a part; drain's own
}

// auditLine is a line of a run.
type auditLine struct {
	text []byte
	of   *auditTally
}

// auditTally is what became of a run's lines; guarded by Audit.mu.
type auditTally struct {
	pending int // lines that are not written yet
	lost    int // lines that never will be
	why     error
	flushed chan struct{} // closed when pending comes to 0; nil while nobody waits
}

func (t *auditTally) lose(why error) {
	t.lost++
	if t.why == nil {
		t.why = why
	}
}

// push queues a line.
func (a *Audit) push(line auditLine) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.bytes+len(line.text) > maxAuditQueue {
		line.of.lose(errors.New("too many lines wait for the writer"))
		return
	}
	a.queue = append(a.queue, line)
	a.bytes += len(line.text)
	line.of.pending++
	if !a.writing {
		a.writing = true
		go a.drain()
	}
}

// lose counts a line that cannot be written.
func (a *Audit) lose(of *auditTally, why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	of.lose(why)
}

// drain writes the lines there are. Its goroutine is the Audit's and ends when there are
// none; the next line starts another.
func (a *Audit) drain() {
	returned := false
	defer func() {
		if !returned {
			go a.drain() // W has ended the goroutine, as a test's FailNow does
		}
	}()
	for {
		line, ok := a.next()
		if !ok {
			break
		}
		a.write(line)
	}
	returned = true
}

func (a *Audit) next() (line auditLine, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) == 0 {
		a.queue, a.writing = nil, false
		return auditLine{}, false
	}
	line = a.queue[0]
	a.queue = a.queue[1:]
	return line, true
}

// write writes a line, after what is left of the one before.
func (a *Audit) write(line auditLine) {
	text := line.text
	if len(a.rest) > 0 {
		text = append(a.rest[:len(a.rest):len(a.rest)], text...)
	}
	err := errors.New("the writer ended its goroutine")
	defer func() {
		if recover() != nil {
			err = errors.New("the writer panicked")
		}
		a.wrote(line, err)
	}()
	n, writeErr := a.W.Write(text)
	n = max(0, min(n, len(text)))
	switch err = writeErr; {
	case n == len(text):
		a.rest = nil
	case n == 0 || n < len(a.rest):
		a.rest = a.rest[n:]
	default:
		a.rest = text[n:]
	}
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
}

// wrote notes what became of a line.
func (a *Audit) wrote(line auditLine, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stuck = false
	a.bytes -= len(line.text)
	t := line.of
	if err != nil {
		t.lose(err)
	}
	if t.pending--; t.pending == 0 && t.flushed != nil {
		close(t.flushed)
		t.flushed = nil
	}
}

// flush waits until the lines of a run are written, for auditGrace at most, and says what
// is missing; nothing where nothing is.
func (a *Audit) flush(t *auditTally) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.pending > 0 && !a.stuck {
		flushed := make(chan struct{})
		t.flushed = flushed
		a.mu.Unlock()
		timer := time.NewTimer(auditGrace)
		select {
		case <-flushed:
		case <-timer.C:
		}
		timer.Stop()
		a.mu.Lock()
		// Until that Write has returned there is nothing more to be waited for.
		a.stuck = t.pending > 0
	}
	switch {
	case t.pending > 0:
		return fmt.Sprintf("the audit is not complete: %d lines of this run still wait for its writer, and %d are lost", t.pending, t.lost)
	case t.lost > 0:
		return fmt.Sprintf("the audit is not complete: %d lines of this run are lost: %v", t.lost, t.why)
	}
	return ""
}
