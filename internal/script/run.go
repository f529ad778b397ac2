package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"

	"github.com/coder/acp-go-sdk"
)

// runner is one agent at work.
//
// Every line of stdin comes to receive first, in order. It counts, records, and
// keeps the turns; then a request goes to the SDK's connection, which checks it,
// calls our [acp.Agent], and writes the response. What the SDK cannot do, or does
// wrong, stays on this side of it:
//
//   - sections that answer with bytes of their own (the SDK answers every request,
//     once, with a well-formed result);
//   - notifications: its queue of 1,024 closes the connection when it overflows, and
//     a cancel can overtake the prompt that it is for;
//   - lines near its limit of 10 MiB;
//   - requests to the client by any method name, and their responses;
//   - the end of input: the SDK drops responses that it has read when it sees one.
type runner struct {
	script *Script
	out    *output
	in     *input
	stderr io.Writer

	conn *acp.AgentSideConnection
	feed *io.PipeWriter // the SDK's input
	// claim is the task whose request the SDK is about to hand to our agent. There is
	// one at a time: the reader waits until it is taken.
	claim atomic.Pointer[task]

	ctx  context.Context // ends when the agent does
	end  context.CancelFunc
	code atomic.Int64 // the exit status, valid once ctx has ended

	mu       sync.Mutex // guards what follows
	changed  chan struct{}
	counts   map[string]int // how often each event came
	vars     map[string]json.RawMessage
	sessions map[string]*session
	latest   *session // the one that sections without a session work in
	asked    map[string]chan json.RawMessage
	askedN   int
	children map[*exec.Cmd]struct{}
	held     []io.Closer // locks and listeners, until the end
	caught   map[string]bool
	catching []chan os.Signal
	record   io.WriteCloser
	echo     bool
}

// session is one ACP session.
type session struct {
	id    string
	cwd   string
	turns []*task // open prompts
}

// Run is the agent: it follows the script, reading from stdin and writing to stdout
// and stderr, until the script or the end of its input ends it, and returns the exit
// status. The status is 1 if ctx ended first or the script failed.
//
// Run may be used inside a program that goes on: it starts no goroutine that outlives
// ctx, its stdin and its stdout. Statements that act on the process (raise, ignore,
// wait signal) act on that program then. In a program of its own, stdin is [os.Stdin].
func (s *Script) Run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) int {
	if stdin == io.Reader(os.Stdin) {
		stdin = interruptible(os.Stdin)
	}
	r := &runner{
		script: s, out: newOutput(stdout), in: newInput(stdin), stderr: stderr,
		changed: make(chan struct{}), counts: map[string]int{}, vars: map[string]json.RawMessage{},
		sessions: map[string]*session{}, asked: map[string]chan json.RawMessage{},
		children: map[*exec.Cmd]struct{}{}, caught: map[string]bool{},
	}
	r.latest = &session{}
	r.ctx, r.end = context.WithCancel(ctx)
	r.code.Store(1)
	defer r.close()

	feed, fed := io.Pipe()
	r.feed = fed
	r.conn = acp.NewAgentSideConnection(&agent{r}, r.out, feed)
	r.conn.SetLogger(slog.New(slog.DiscardHandler)) // before the first line, so it is no race

	defer r.catchSignals()()
	start := r.newTask(&section{event: "start", body: s.start})
	if r.perform(start) != nil {
		return int(r.code.Load())
	}
	if s.helper {
		return 0
	}
	go r.read()
	<-r.ctx.Done()
	return int(r.code.Load())
}

// close lets go of everything. The SDK's goroutines end with their input.
func (r *runner) close() {
	r.exit(1)
	r.feed.CloseWithError(io.EOF)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.held {
		_ = c.Close()
	}
	if r.record != nil {
		_ = r.record.Close()
	}
}

// exit ends the agent with this status, if it has not ended.
func (r *runner) exit(code int) {
	if r.out.sealed.CompareAndSwap(false, true) {
		r.code.Store(int64(code))
		r.end()
	}
}

// read is the goroutine that owns stdin; it ends with it, or with the agent.
func (r *runner) read() {
	if !r.in.lines(r.ctx.Done(), r.receive) {
		return
	}
	if t := r.arrive(message{Method: "eof"}); t != nil {
		if err := r.perform(t); err != nil {
			return
		}
	}
	r.exit(0)
}

// receive takes one line of stdin.
func (r *runner) receive(line []byte) {
	r.mu.Lock()
	if r.record != nil {
		_, _ = fmt.Fprintf(r.record, "%s\n", line)
	}
	echo := r.echo
	r.mu.Unlock()
	if echo {
		r.out.frame(line)
		return
	}
	switch m, err := readMessage(line); {
	case err != nil || m.Method == "" && m.ID == nil:
		if t := r.arrive(message{Method: "garbage"}); t != nil {
			go r.perform(t) // ends with the section or the agent
		}
	case m.Method == "":
		if !r.answered(m.ID, line) {
			r.toSDK(line)
		}
	case m.ID == nil:
		r.notified(m)
	default:
		r.requested(m, line)
	}
}

// toSDK hands the SDK a line. Its reader never waits for anything of ours.
func (r *runner) toSDK(line []byte) {
	_, _ = r.feed.Write(append(line[:len(line):len(line)], '\n'))
}

// sdkLine is the longest line the SDK gets, somewhat under its limit.
const sdkLine = 9 << 20

// requested takes a request from the client.
func (r *runner) requested(m message, line []byte) {
	t := r.arrive(m)
	if t == nil {
		t = r.newTask(&section{event: m.Method})
		t.request(m)
	}
	r.open(t)
	_, typed := responses[m.Method]
	if t.section.raw || len(line) > sdkLine || t.section.line > 0 && !typed {
		t.respond = t.respondRaw
		go r.serve(t) // ends with the section or the agent
		return
	}
	t.taken, t.result = make(chan struct{}), make(chan outcome, 1)
	t.respond = t.respondSDK
	t.written = r.out.expect(message{ID: m.ID})
	r.claim.Store(t)
	r.toSDK(line)
	taken := t.taken
	if t.section.line == 0 {
		taken = nil // it takes no time: answer it before the next line is read
	}
	select {
	case <-taken:
	case <-t.written: // or the SDK refused it: no such method, or wrong params
		if r.claim.CompareAndSwap(t, nil) {
			r.closeTurn(t)
		}
	case <-r.ctx.Done():
	}
}

// notified takes a notification from the client.
func (r *runner) notified(m message) {
	t := r.arrive(m)
	var turns []*task
	if m.Method == acp.AgentMethodSessionCancel {
		turns = r.cancelled(m.session)
	}
	if t == nil {
		r.interrupt(turns)
		return
	}
	go func() { // ends with the section or the agent
		if r.perform(t) == nil {
			r.interrupt(turns)
		}
	}()
}

// arrive counts what came and returns the task for its section, or nil if it has none.
func (r *runner) arrive(m message) *task {
	r.mu.Lock()
	r.counts[m.Method]++
	n := r.counts[m.Method]
	r.signal()
	r.mu.Unlock()
	sec := r.script.find(m.Method, n, m.text)
	if _, everyAgentHas := honest[m.Method]; sec == nil && isMethod(m.Method) && !everyAgentHas && m.Method != acp.AgentMethodSessionCancel {
		sec = r.script.find("any", n, m.text)
	}
	if sec == nil {
		return nil
	}
	t := r.newTask(sec)
	t.local("n", n)
	if isMethod(m.Method) {
		t.request(m)
	}
	return t
}

// signal wakes everyone who waits for a change. r.mu is held.
func (r *runner) signal() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// serve follows the section of a request, and answers it if the section did not.
func (r *runner) serve(t *task) {
	switch err := r.perform(t); {
	case errors.Is(err, errInterrupted) && t.message.Method == acp.AgentMethodSessionPrompt:
		t.lay(json.RawMessage(`{"stopReason":"cancelled"}`))
		t.finish(nil)
	case err == nil:
		if t.message.Method == acp.AgentMethodSessionClose {
			r.interrupt(r.cancelled(t.session.id))
		}
		t.finish(nil)
	}
	r.closeTurn(t)
}

// perform follows the task's section.
func (r *runner) perform(t *task) error { return r.report(t.follow(t.section.body)) }

// report ends the agent with status 1 for a mistake in the script that only shows at
// work.
func (r *runner) report(err error) error {
	if err != nil && !errors.Is(err, errInterrupted) && !errors.Is(err, errEnded) {
		fmt.Fprintf(r.stderr, "scripted agent: %s:%v\n", r.script.name, err)
		r.exit(1)
	}
	return err
}
