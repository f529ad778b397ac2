package conform

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/internal/proc"
)

// process is an agent that a scene has started.
type process struct {
	*proc.Process
	stdin   proc.Input
	writing sync.Mutex // held while a line is written
	stderr  *lineWriter
	done    chan struct{} // closed when the reader and the answerer have ended
	// asking is told when there is a question, and closed when there are no more.
	asking chan struct{}
}

// question is a request of the agent.
type question struct {
	m message
	p *process
}

// start starts the agent. Not ok: the scene is over.
func (a *actor) start() (ok bool) {
	if a.isHalted() {
		return false
	}
	spec := a.cmd.spec
	spec.Dir = cmp.Or(spec.Dir, a.dir)
	spec.RunID = rand.Text()
	stderr := &lineWriter{line: func(s string, whole int) {
		a.lock(func() {
			a.said = append(a.said[max(0, len(a.said)-tailLines+1):], a.stamped(transcript.Entry{From: transcript.FromStderr, Text: s, Bytes: cutBytes(s, whole)}))
		})
	}}
	spec.Stderr = stderr
	p, err := proc.Start(a.ctx, spec)
	if err != nil {
		a.bar("the agent could not be started: %v", err)
		return false
	}
	child := &process{Process: p, stdin: p.Stdin(), stderr: stderr, done: make(chan struct{}), asking: make(chan struct{}, 1)}
	a.given = false
	a.lock(func() { a.p, a.ended, a.asked = child, false, nil })
	go a.serve(child)
	return true
}

// serve reads what the agent writes and sees to it that its requests are answered. It
// belongs to the process and ends with its stdout.
func (a *actor) serve(p *process) {
	defer close(p.done)
	var answering sync.WaitGroup
	answering.Go(func() { a.answerAll(p) })
	readLines(p.Stdout(), maxLine, func(line []byte, whole int) bool {
		if a.isHalted() {
			return true // it is not to break on what nobody reads
		}
		e := a.lineEntry(line, whole)
		a.lock(func() {
			i := a.recordLocked(e)
			if a.halted {
				// nobody answers it
			} else if m := a.r.message(i); m.isRequest() {
				a.asked = append(a.asked, question{m, p})
			}
		})
		select {
		case p.asking <- struct{}{}:
		default: // it knows
		}
		return true
	})
	p.Stdout().Close()
	a.lock(func() {
		a.ended = true
		a.r.marks = append(a.r.marks, mark{label: markOver, index: len(a.r.entries)})
	})
	close(p.asking)
	answering.Wait()
}

const (
	maxLine   = 64 << 20 // bytes; of a longer line the beginning is kept
	shownLine = 4 << 10  // bytes of a line that is no frame
)

// What is kept of a scene: an agent that writes more is flooding it. Tests have less.
var (
	maxRecording int64 = 64 << 20 // bytes
	maxEntries         = 50_000   // lines
)

// redacted is a line without secrets, however its JSON is written: who escapes what need not
// be hides it from those who look for it, and from nobody who reads the value.
func (a *actor) redacted(line []byte) []byte {
	line = a.cmd.redact(line)
	if plain := unescape(line); plain != nil {
		if clean := a.cmd.redact(plain); !bytes.Equal(clean, plain) {
			return clean
		}
	}
	return line
}

// unescape returns a line of JSON with all characters as they are that need no escape by a
// number; nil where there is none.
func unescape(line []byte) []byte {
	if !bytes.Contains(line, []byte(`\u00`)) {
		return nil
	}
	plain := make([]byte, 0, len(line))
	for i := 0; i < len(line); i++ {
		if line[i] != '\\' || i+1 == len(line) {
			plain = append(plain, line[i])
			continue
		}
		if line[i+1] == 'u' && i+6 <= len(line) {
			c, err := strconv.ParseUint(string(line[i+2:i+6]), 16, 16)
			if err == nil && c >= ' ' && c < 0x7f {
				if c == '"' || c == '\\' {
					plain = append(plain, '\\')
				}
				plain = append(plain, byte(c))
				i += 5
				continue
			}
		}
		plain = append(plain, line[i], line[i+1])
		i++
	}
	return plain
}

// lineEntry is a line of the agent's stdout.
func (a *actor) lineEntry(line []byte, whole int) transcript.Entry {
	line = a.redacted(line)
	if len(line) == whole || whole <= maxLine {
		if transcript.IsFrame(line) {
			return transcript.Entry{From: transcript.FromAgent, Frame: bytes.Clone(line)}
		}
	}
	text := short(string(line), shownLine)
	return transcript.Entry{From: transcript.FromAgent, Text: text, Bytes: cutBytes(text, whole)}
}

// cutBytes is how long a line was of which text is only the beginning.
func cutBytes(text string, whole int) int64 {
	if whole > len(text) {
		return int64(whole)
	}
	return 0
}

// answerAll answers the agent's requests, one after the other. It belongs to the process
// and ends with its stdout.
func (a *actor) answerAll(p *process) {
	for range p.asking {
		for {
			var q question
			var how answerer
			a.lock(func() {
				if len(a.asked) == 0 {
					return
				}
				q, a.asked = a.asked[0], a.asked[1:]
				how = a.answers[q.m.Method]
			})
			if q.p == nil {
				break
			}
			if how == nil {
				how = methodNotFound
			}
			a.respond(q.m, how(q.m.Params))
		}
	}
}

// respond writes the answer to a request of the agent.
func (a *actor) respond(m message, r reply) {
	if r.silent {
		return
	}
	answer := map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": r.result}
	if r.err != nil {
		delete(answer, "result")
		answer["error"] = r.err
	}
	a.write("", frame(answer))
}

// The labels of what an agent is to exit on.
const (
	markEOF    = "eof"
	markSignal = "sigterm"
)

// lull gives the agent a moment to end in for what it has done before: that is not to be
// taken for what comes of that which we do next.
func (a *actor) lull() {
	a.find(a.now(), midTurn, func(int) bool { return false }) // no longer than its stdout is open
}

// alive reports whether the agent is there and listens, after a lull.
func (a *actor) alive() bool {
	if a.p == nil {
		return false
	}
	a.lull()
	return !a.dead() && !a.isOver() && a.p.Running()
}

// closeStdin ends the agent's stdin. Not ok: it is nobody's any more.
func (a *actor) closeStdin() (ok bool) {
	if !a.alive() {
		return false
	}
	a.had()
	a.mark(markEOF)
	a.p.stdin.Close()
	return true
}

// dead reports whether the agent's process has ended. One that has closed its stdout is
// about to: it gets a moment, so that what ended it is not taken for what we do next.
func (a *actor) dead() bool {
	if a.isOver() {
		select {
		case <-a.p.Exited():
		case <-time.After(a.opts.ExitTimeout / 4):
		case <-a.ctx.Done():
		}
	}
	select {
	case <-a.p.Exited():
		return true
	default:
		return false
	}
}

// signal sends SIGTERM to the agent's process. Not ok: it cannot be sent here, or to nobody.
func (a *actor) signal() (ok bool) {
	if !a.alive() {
		return false
	}
	a.had()
	a.lock(func() { // whose end can then only be recorded after the mark
		if ok = a.p.Terminate(); ok {
			a.noteLocked(markSignal, 0, "")
		}
	})
	return ok
}

// awaitExit waits for the agent's process to end by itself, as long as limit. The label
// marks the end of the wait, with the note "exited" or "alive".
func (a *actor) awaitExit(label string, limit time.Duration) bool {
	if a.p == nil {
		return false
	}
	begun := time.Now()
	exited := false
	select {
	case <-a.p.Exited():
		exited = true
	case <-time.After(limit):
	case <-a.ctx.Done():
		return false
	}
	note := noteAlive
	if exited {
		note = noteExited
	}
	a.note(label, time.Since(begun), note)
	return exited
}

// The notes of awaitExit and of left.
const (
	noteAlive   = "alive"
	noteExited  = "exited"
	noteNobody  = "nobody"
	noteUnknown = "unknown"
	noteGone    = "gone" // of an answer that was waited for: nothing could come any more
)

// had marks what other processes the agent has, as left does: what it could leave.
func (a *actor) had() {
	note := noteNobody
	if list, _ := survivors(a.p.Process); len(list) > 0 {
		note = strings.Join(list, "\n")
	}
	a.note("had", 0, note)
}

// left waits, as long as limit, for whatever the agent has started to go, and marks what
// is left: the note is [noteNobody], [noteUnknown], or the processes, one a line.
func (a *actor) left(label string, limit time.Duration) {
	if a.p == nil {
		return
	}
	begun := time.Now()
	for {
		list, known := survivors(a.p.Process)
		waited := time.Since(begun)
		switch {
		case !known:
			a.note(label, waited, noteUnknown)
			return
		case len(list) == 0:
			a.note(label, waited, noteNobody)
			return
		case waited >= limit || a.ctx.Err() != nil:
			a.note(label, waited, strings.Join(list, "\n"))
			return
		}
		a.pause(10 * time.Millisecond)
	}
}

// end ends the agent, if there is one, with all that it started, and records how it ended.
func (a *actor) end() {
	p := a.p
	if p == nil {
		return
	}
	graces := proc.Graces{EOF: a.opts.ExitTimeout / 4, Term: a.opts.ExitTimeout / 4, Kill: 5 * time.Second}
	if a.run.Err() != nil {
		graces = proc.Graces{Kill: graces.Kill}
	}
	if !a.isHalted() { // so that it is seen to have ended by itself
		a.lull()
		a.dead()
	}
	report := p.Shutdown(graces)
	p.Stdout().Close()
	<-p.done
	p.stderr.Close()
	end := &transcript.End{Rung: string(report.Rung)}
	switch {
	case report.Rung == "":
		end.Rung = "none"
	case report.Exit.Signal != "":
		end.Signal = &report.Exit.Signal
	case report.Exit.Code >= 0:
		end.Code = &report.Exit.Code
	}
	a.lock(func() {
		a.r.entries = append(append(a.r.entries, a.said...), a.stamped(transcript.Entry{End: end}))
		a.p, a.said = nil, nil
	})
}

// lineWriter takes stderr apart into lines.
type lineWriter struct {
	line func(s string, whole int)

	mu   sync.Mutex // guards what follows
	held []byte
	long int // how many bytes of the line were dropped
}

// Close passes on a last line without an end.
func (w *lineWriter) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.held) > 0 {
		w.flush()
	}
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		part, rest, ended := bytes.Cut(p, []byte("\n"))
		keep := min(len(part), shownLine-len(w.held))
		w.held = append(w.held, part[:keep]...)
		w.long += len(part) - keep
		if ended {
			w.flush()
		}
		p = rest
	}
	return n, nil
}

func (w *lineWriter) flush() {
	text := strings.ToValidUTF8(strings.TrimSuffix(string(w.held), "\r"), "\uFFFD")
	w.line(text, len(text)+w.long)
	w.held, w.long = w.held[:0], 0
}

// readLines calls line with each line of r, without its end, until that returns false or
// r ends. Of a line longer than max it gets the beginning, and how long it was.
func readLines(r io.Reader, max int, line func(text []byte, whole int) bool) {
	var held []byte
	whole := 0
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		for rest := buf[:n]; len(rest) > 0; {
			part, after, ended := bytes.Cut(rest, []byte("\n"))
			held = append(held, part[:min(len(part), max-len(held))]...)
			whole += len(part)
			if ended {
				if !line(bytes.TrimSuffix(held, []byte("\r")), whole) {
					return
				}
				held, whole = held[:0], 0
				if cap(held) > 1<<20 {
					held = nil
				}
			}
			rest = after
		}
		if err != nil {
			if whole > 0 {
				line(held, whole)
			}
			return
		}
	}
}
