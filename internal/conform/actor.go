package conform

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/internal/proc"
)

// actor plays the client's part in a scene: it starts the agent, writes, waits, answers,
// and records. Its methods are called by the scene's goroutine; what it records is shared
// with the goroutines that read the agent and answer it.
type actor struct {
	ctx  context.Context // the scene's: done when it is over, or the run is
	run  context.Context
	opts *Options // complete
	cmd  launch   // what is started
	dir  string   // a scratch directory of this scene, canonical; the sessions' cwd
	// caps are the client capabilities that initialize advertises; nil: none.
	caps any
	// noSession says why there is no session to be had, where an earlier scene has found
	// that out: it is not waited for again.
	noSession string

	given  bool // the process has given a session
	single bool // and gives no second one
	p      *process
	nextID int

	mu      sync.Mutex    // guards what follows
	changed chan struct{} // closed and replaced when anything follows has changed
	r       recording
	begun   time.Time
	ended   bool // the agent's stdout has ended
	answers map[string]answerer
	asked   []question         // requests of the agent that wait for an answer
	size    int64              // of all entries, in bytes
	said    []transcript.Entry // what the agent wrote to stderr last
	// halted: the scene is over, whatever it was at. Nothing more is written or recorded but
	// how the agent ends, and what it wrote to stderr last.
	halted bool
	over   context.CancelFunc // of ctx
}

// answerer decides what is said to a request of the agent.
type answerer func(params json.RawMessage) reply

// reply is an answer to a request of the agent: a result, or an error, or none at all.
type reply struct {
	result any
	err    *replyError
	silent bool
}

type replyError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// give answers with a result, refuse with an error, ignore not at all.
func give(result any) reply                    { return reply{result: result} }
func refuse(code int, message string) reply    { return reply{err: &replyError{code, message}} }
func ignore() reply                            { return reply{silent: true} }
func methodNotFound(_ json.RawMessage) reply   { return refuse(-32601, "Method not found") }
func always(r reply) answerer                  { return func(json.RawMessage) reply { return r } }
func (a *actor) answer(m string, how answerer) { a.lock(func() { a.answers[m] = how }) }

// lock runs f with the lock, and tells those who wait that something may have changed.
func (a *actor) lock(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
	close(a.changed)
	a.changed = make(chan struct{})
}

// recordLocked appends an entry and returns its index.
func (a *actor) recordLocked(e transcript.Entry) int {
	if a.halted {
		return len(a.r.entries)
	}
	a.r.entries = append(a.r.entries, a.stamped(e))
	a.size += int64(len(e.Frame) + len(e.Text))
	switch {
	case a.size > maxRecording:
		a.cutLocked(fmt.Sprintf("it wrote more than %d MiB in this scene", maxRecording>>20))
	case len(a.r.entries) > maxEntries:
		a.cutLocked(fmt.Sprintf("it wrote more than %d lines in this scene", maxEntries))
	}
	return len(a.r.entries) - 1
}

// stamped is an entry of now.
func (a *actor) stamped(e transcript.Entry) transcript.Entry {
	if a.begun.IsZero() {
		a.begun = time.Now()
	}
	e.At = time.Since(a.begun)
	return e
}

// haltLocked ends the scene where it is, for a reason that lies with the agent. What it has
// left unanswered stays so.
func (a *actor) haltLocked(why string) {
	if a.halted {
		return
	}
	a.halted, a.asked, a.r.halted = true, nil, why
	if a.r.stopped == "" {
		a.r.stopped = why
	}
	a.over()
}

// cutLocked is haltLocked where the agent might have done yet what it has not: that could not
// be tried.
func (a *actor) cutLocked(why string) {
	if !a.halted {
		a.haltLocked(why)
		a.r.cut, a.r.barred = true, true
	}
}

// isHalted reports whether the scene is over.
func (a *actor) isHalted() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.halted
}

// mark labels this moment.
func (a *actor) mark(label string) { a.note(label, 0, "") }

// note labels this moment as the end of a wait, or with a text.
func (a *actor) note(label string, waited time.Duration, text string) {
	a.lock(func() { a.noteLocked(label, waited, text) })
}

func (a *actor) noteLocked(label string, waited time.Duration, text string) {
	if !a.halted {
		a.r.marks = append(a.r.marks, mark{label: label, index: len(a.r.entries), waited: waited, note: text})
	}
}

// stop says why the scene goes no further; the first reason counts.
func (a *actor) stop(format string, args ...any) {
	a.lock(func() {
		if a.r.stopped == "" {
			a.r.stopped = fmt.Sprintf(format, args...)
			if a.p != nil && a.ended {
				a.r.overAt = len(a.r.entries)
			}
		}
	})
}

// bar is stop for an agent that lets nobody in; see recording.barred.
func (a *actor) bar(format string, args ...any) {
	a.stop(format, args...)
	a.lock(func() { a.r.barred = true })
}

// call writes a request and waits for the answer.
func (a *actor) call(label, method string, params any) (message, bool) {
	return a.await(a.send(label, method, params))
}

// await waits for the answer to a request, as long as Options.Timeout.
func (a *actor) await(p pending) (message, bool) { return a.awaitFor(p, a.opts.Timeout) }

// quick is how long an answer is waited for that no model has a part in.
func (a *actor) quick() time.Duration { return min(a.opts.Timeout, a.opts.ExitTimeout) }

// ask is call for what is answered without a model.
func (a *actor) ask(label, method string, params any) (message, bool) {
	return a.awaitFor(a.send(label, method, params), a.quick())
}

// awaitFor is await with another bound.
func (a *actor) awaitFor(p pending, limit time.Duration) (message, bool) {
	var m message
	_, waited, ok := a.find(p.sent+1, limit, func(i int) bool {
		m = a.r.message(i)
		return a.r.entries[i].From == transcript.FromAgent && m.isResponse() && sameJSON(m.ID, p.id)
	})
	if ok {
		return m, true
	}
	note := fmt.Sprintf("nothing came within %v", limit)
	if a.isOver() {
		note = noteGone
	}
	a.note(p.label+unanswered, waited, note)
	return message{}, false
}

// waitFor waits for the next message of the agent, from the entry from on, that is as it
// should be.
func (a *actor) waitFor(from int, limit time.Duration, is func(message) bool) (index int, m message, ok bool) {
	index, _, ok = a.find(from, limit, func(i int) bool {
		m = a.r.message(i)
		return a.r.entries[i].From == transcript.FromAgent && is(m)
	})
	return index, m, ok
}

// now is the index of the next entry.
func (a *actor) now() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.r.entries)
}

// find returns the first entry from an index on that is as it should be, and waits for it
// as long as limit, or until nothing can come any more. is is called with the lock held.
func (a *actor) find(from int, limit time.Duration, is func(int) bool) (index int, waited time.Duration, ok bool) {
	begun := time.Now()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for i := max(from, 0); ; {
		a.mu.Lock()
		for ; i < len(a.r.entries); i++ {
			if is(i) {
				a.mu.Unlock()
				return i, time.Since(begun), true
			}
		}
		changed, over := a.changed, a.ended || a.halted || a.p == nil
		a.mu.Unlock()
		if over {
			return i, time.Since(begun), false
		}
		select {
		case <-changed:
		case <-timer.C:
			return i, time.Since(begun), false
		case <-a.ctx.Done():
			return i, time.Since(begun), false
		}
	}
}

// settle waits until the agent has said nothing for as long as quiet, at most as long as
// limit.
func (a *actor) settle(quiet, limit time.Duration) {
	over := time.Now().Add(limit)
	for time.Now().Before(over) {
		at := a.now()
		if _, _, came := a.waitFor(at, quiet, func(message) bool { return true }); !came {
			return
		}
	}
}

// pause waits that long.
func (a *actor) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-a.ctx.Done():
	}
}

// isOver reports whether nothing more can come from the agent.
func (a *actor) isOver() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ended || a.p == nil
}

// path is a path in the scratch directory.
func (a *actor) path(elem ...string) string {
	return filepath.Join(append([]string{a.dir}, elem...)...)
}

// mkdir makes a directory in the scratch directory and returns its path.
func (a *actor) mkdir(name string) string {
	dir := a.path(name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		a.bar("the scratch directory: %v", err)
	}
	return dir
}

// prompt is the text for a kind of prompt.
func (a *actor) prompt(kind PromptKind) string { return a.opts.Prompts[kind] }

// promptText is the params of a session/prompt with one text.
func promptText(session, text string) map[string]any {
	return map[string]any{"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": text}}}
}

// initialize starts the agent and initializes the connection. Not ok: the scene is over.
func (a *actor) initialize() (result json.RawMessage, ok bool) {
	if !a.start() {
		return nil, false
	}
	answer, ok := a.call("initialize", "initialize", a.hello(1))
	switch {
	case !ok:
		a.bar("the agent did not answer initialize")
	case answer.Error != nil:
		a.bar("the agent answered initialize with an error: %s", errorText(answer.Error))
	default:
		return answer.Result, true
	}
	return nil, false
}

// hello is the params of initialize.
func (a *actor) hello(version int) map[string]any {
	caps := a.caps
	if caps == nil {
		caps = map[string]any{"fs": map[string]bool{"readTextFile": false, "writeTextFile": false}, "terminal": false}
	}
	return map[string]any{
		"protocolVersion":    version,
		"clientCapabilities": caps,
		"clientInfo":         map[string]string{"name": "errand-check", "title": "Errand's conformance check", "version": "1"},
	}
}

// login is initialize, and authenticate if Options.AuthMethod says by which method.
func (a *actor) login() (result json.RawMessage, ok bool) {
	if result, ok = a.initialize(); !ok || a.opts.AuthMethod == "" {
		return result, ok
	}
	answer, ok := a.call("authenticate", "authenticate", map[string]any{"methodId": a.opts.AuthMethod})
	switch {
	case !ok:
		a.bar("the agent did not answer authenticate")
	case answer.Error != nil:
		a.bar("the agent answered authenticate with an error: %s%s", errorText(answer.Error), methodsHint(result, a.opts.AuthMethod))
	default:
		return result, true
	}
	return nil, false
}

// methodsHint says which methods there are, where the one that was named is none of them.
func methodsHint(result json.RawMessage, named string) string {
	var ids []string
	for _, method := range elements(field(result, "authMethods")) {
		if id, ok := stringField(method, "id"); ok {
			ids = append(ids, fmt.Sprintf("%q", short(id, 80)))
		}
	}
	switch {
	case slices.Contains(ids, fmt.Sprintf("%q", named)):
		return ""
	case len(ids) == 0:
		return fmt.Sprintf("; it advertises no method %q, nor any other", short(named, 80))
	}
	return fmt.Sprintf("; it advertises no method %q; there is %s", short(named, 80), names(ids))
}

// session is login and a session in the scratch directory, by the labels initialize and
// new.
func (a *actor) session() (id string, ok bool) {
	if _, ok := a.login(); !ok {
		return "", false
	}
	return a.newSession("new", a.dir)
}

// newSession creates a session in a directory. Some agents have one session in a process:
// then it is a fresh process. Not ok: the scene is over, and why.
func (a *actor) newSession(label, dir string) (id string, ok bool) {
	if a.noSession != "" {
		a.bar("%s", a.noSession)
		return "", false
	}
	answer, ok := a.call(label, "session/new", newParams(dir))
	if refused := answer; ok && answer.Error != nil && a.given {
		a.again(func() {
			answer, ok = a.call(label, "session/new", newParams(dir))
			if !a.single && ok && answer.Error == nil {
				// One that gives a second session here was brought to refuse it there.
				second, told := a.call("", "session/new", newParams(dir))
				a.lull()
				if a.single = told && second.Error != nil; !a.single {
					answer = refused
				}
			}
		})
	}
	switch {
	case !ok:
		a.bar("the agent did not answer session/new")
	case answer.Error != nil:
		a.bar("the agent answered session/new with an error: %s%s", errorText(answer.Error), a.r.loginHint(answer))
	default:
		if id, ok = stringField(answer.Result, "sessionId"); ok {
			a.given = true
			return id, true
		}
		a.bar("the result of session/new has no sessionId")
	}
	return "", false
}

func newParams(dir any) map[string]any { return map[string]any{"cwd": dir, "mcpServers": []any{}} }

// authRequired is the code of the error by which an agent asks for a login.
const authRequired = -32000

// loginHint says what to do where an error means that the agent wants a login.
func (r *recording) loginHint(m message) string {
	if !isLogin(m) {
		return ""
	}
	return "; it needs a login: log in with the agent's own program first, pass its key with --env, or name a method with --auth" + r.keptBack()
}

// launch is how the agent is started.
type launch struct {
	spec   proc.Spec
	redact func([]byte) []byte
}
