package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"
)

// Why a section stops before its last statement.
var (
	errInterrupted = errors.New("the turn was cancelled")
	errEnded       = errors.New("the agent has ended")
)

// task is a section being followed. It belongs to one goroutine; a background block
// gets a task of its own.
type task struct {
	r       *runner
	section *section
	session *session
	turn    *turn

	message message                    // the request or notification that it is for
	locals  map[string]json.RawMessage // the variables of this task
	fields  json.RawMessage            // what "answer" lays over the honest result

	// sheltered tasks go on although their turn is cancelled: they are in the branch
	// that says what to do about it.
	sheltered bool

	respond func(outcome) // writes the answer

	// For a request that goes through the SDK.
	taken   chan struct{}   // closed when our agent has it
	written <-chan struct{} // closed when its response is written
	result  chan outcome
}

// turn is what a task shares with its background blocks. runner.mu guards it.
type turn struct {
	settled     bool          // the request is answered, or is never to be
	answered    bool          // it is answered: nothing interrupts what follows
	cancelled   bool          // session/cancel came
	interrupted chan struct{} // closed when the turn is to end as cancelled
	background  int           // blocks at work
}

// outcome is the answer to a request.
type outcome struct {
	result json.RawMessage
	err    *acp.RequestError
}

func (r *runner) newTask(sec *section) *task {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &task{
		r: r, section: sec, session: r.latest,
		turn:    &turn{interrupted: make(chan struct{})},
		locals:  map[string]json.RawMessage{},
		respond: func(outcome) {},
	}
}

// request makes t the task for a request or notification.
func (t *task) request(m message) {
	r := t.r
	t.message = m
	id := m.session
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.Method == acp.AgentMethodSessionNew {
		id = fmt.Sprintf("session-%d", max(1, r.counts[m.Method]))
	}
	if id == "" {
		return
	}
	t.session = r.sessions[id]
	if t.session == nil {
		t.session = &session{id: id}
		r.sessions[id] = t.session
	}
	if m.cwd != "" {
		t.session.cwd = m.cwd
	}
	r.latest = t.session
}

// renamed makes id the session's: the script answered session/new with one of its own.
func (t *task) renamed(id string) {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	if id != "" && id != t.session.id {
		renamed := &session{id: id, cwd: t.session.cwd}
		t.r.sessions[id], t.r.latest, t.session = renamed, renamed, renamed
	}
}

// fork returns a task for a background block.
func (t *task) fork() *task {
	forked := *t
	forked.locals = maps.Clone(t.locals)
	return &forked
}

// follow runs statements until one of them, the turn or the agent ends that.
func (t *task) follow(body []*call) error {
	for _, c := range body {
		if err := t.check(); err != nil {
			return err
		}
		if err := c.stmt.run(t, c); err != nil {
			return c.blame(err)
		}
	}
	return t.check()
}

// scriptError is a mistake that showed only at work.
type scriptError struct {
	line int
	err  error
}

func (e *scriptError) Error() string { return fmt.Sprintf("%d: %v", e.line, e.err) }
func (e *scriptError) Unwrap() error { return e.err }

func (c *call) blame(err error) error {
	if known := (*scriptError)(nil); errors.Is(err, errInterrupted) || errors.Is(err, errEnded) || errors.As(err, &known) {
		return err
	}
	return &scriptError{c.line, fmt.Errorf("%s: %w", c.stmt.grammar.name, err)}
}

// check says whether the task is to stop here.
func (t *task) check() error {
	if t.r.ctx.Err() != nil {
		return errEnded
	}
	select {
	case <-t.interruption():
		return errInterrupted
	default:
		return nil
	}
}

// interruption is closed when the turn is to end as cancelled; nil if that is not to
// stop the task.
func (t *task) interruption() <-chan struct{} {
	if t.sheltered {
		return nil
	}
	return t.turn.interrupted
}

// until waits for a condition on the runner's state, which is locked for it.
func (t *task) until(condition func() bool) error {
	for {
		t.r.mu.Lock()
		ok, changed := condition(), t.r.changed
		t.r.mu.Unlock()
		if ok {
			return nil
		}
		if err := t.waitFor(changed); err != nil {
			return err
		}
	}
}

// waitFor waits until ch is closed.
func (t *task) waitFor(ch <-chan struct{}) error {
	select {
	case <-ch:
		return nil
	case <-t.interruption():
		return errInterrupted
	case <-t.r.ctx.Done():
		return errEnded
	}
}

// finish answers the request: with err, or with what is honest for the method and
// the fields that the script laid over it. A request is answered once.
func (t *task) finish(err *acp.RequestError) {
	if t.message.ID == nil || !t.settle(true) {
		return
	}
	o := outcome{err: err}
	if err == nil {
		o.result, o.err = t.honestResult()
	}
	if o.err == nil && t.message.Method == acp.AgentMethodSessionNew {
		t.renamed(textOf(dig(o.result, []string{"sessionId"})))
	}
	t.respond(o)
	t.r.closeTurn(t)
}

// settle reports whether the task is the first to answer the request, or to say that
// it never will be.
func (t *task) settle(answered bool) bool {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	first := !t.turn.settled
	t.turn.settled = true
	t.turn.answered = t.turn.answered || answered
	return first
}

// respondSDK has the SDK write the response, and returns when it has.
func (t *task) respondSDK(o outcome) {
	t.result <- o
	t.r.await(t.written)
}

// await waits for what the SDK writes, or for the end of the agent.
func (r *runner) await(written <-chan struct{}) {
	select {
	case <-written:
	case <-r.ctx.Done():
	}
}

// respondRaw writes the response as the SDK would.
func (t *task) respondRaw(o outcome) {
	if o.err != nil {
		t.r.out.frame(marshal(map[string]any{"jsonrpc": "2.0", "id": t.message.ID, "error": o.err}))
		return
	}
	t.r.out.frame(marshal(map[string]any{"jsonrpc": "2.0", "id": t.message.ID, "result": o.result}))
}

// open notes a prompt's turn, in the order of the wire: a cancel that is read next
// finds it.
func (r *runner) open(t *task) {
	if t.message.Method != acp.AgentMethodSessionPrompt {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t.session.turns = append(t.session.turns, t)
}

func (r *runner) closeTurn(t *task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.session.turns = slices.DeleteFunc(t.session.turns, func(open *task) bool { return open.turn == t.turn })
	r.signal()
}

// cancelled marks the open turns of a session as cancelled and returns them.
func (r *runner) cancelled(id string) []*task {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sessions[id]
	if s == nil {
		return nil
	}
	turns := slices.Clone(s.turns)
	for _, t := range turns {
		t.turn.cancelled = true
	}
	r.signal()
	return turns
}

// interrupt makes those of the turns end as cancelled that have no answer yet and do
// not see to it themselves.
func (r *runner) interrupt(turns []*task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range turns {
		if t.section.waitsForCancel || t.turn.answered {
			continue
		}
		select {
		case <-t.turn.interrupted: // it was before
		default:
			close(t.turn.interrupted)
		}
	}
}

// local sets a variable of the task.
func (t *task) local(name string, v any) { t.locals[name] = marshal(v) }

// lookup finds a variable: the task's, ours, or one that the script has set.
func (t *task) lookup(name string) json.RawMessage {
	path := strings.Split(name, ".")
	if raw, ok := t.locals[path[0]]; ok {
		return dig(raw, path[1:])
	}
	if v, ok := variables[path[0]]; ok {
		if v.get == nil {
			return nil
		}
		return v.get(t, path[1:])
	}
	return dig(t.variable(path[0]), path[1:])
}

// variable is one that is the same for all tasks.
func (t *task) variable(name string) json.RawMessage {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	return t.r.vars[name]
}

// marshal is for what can always be marshalled: bytes that are JSON already, and
// values of our own making. What is not UTF-8 in a string stays as it is.
func marshal(v any) json.RawMessage {
	if s, ok := v.(string); ok {
		return quote(s)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return b
}
