package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
	"go.uber.org/goleak"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/internal/traces"
	"github.com/errand-acp/errand/permission"
)

// hang bounds whatever is waited for; reaching it means that it will not come.
const hang = time.Minute

// Graces for agents that do not do what they are asked to. They are short only for what
// the agent is deaf to: what it does hear costs none of the wait, and the machine may be
// slow.
var (
	deafToCancel = client.Graces{Cancel: 400 * time.Millisecond, EOF: hang, Term: hang, Kill: hang}
	deafToEOF    = client.Graces{EOF: 200 * time.Millisecond, Term: hang, Kill: hang}
	deafToTerm   = client.Graces{EOF: 200 * time.Millisecond, Term: 200 * time.Millisecond, Kill: hang}
)

// scene is a scripted agent and what it leaves behind.
type scene struct {
	*traces.Traces
	command client.Command
	opts    client.Options
	agent   *client.Agent // the one started last

	mu      sync.Mutex // guards what is below: it is told on the connection's reader
	seen    []string   // texts of the agent's message, as Observe saw them
	records []permission.Record
	changed chan struct{}
}

// play makes a scene of an agent that follows the script.
func play(t testing.TB, src string) *scene {
	t.Helper()
	s := &scene{Traces: traces.New(t), changed: make(chan struct{})}
	path, args := script.Command(t, s.Recording(src))
	s.command = client.Command{
		Path: path, Args: args, Dir: s.Dir,
		// A race build sleeps a second at its exit.
		Env: []string{"GORACE=atexit_sleep_ms=0"},
	}
	s.opts = client.Options{Observe: s.observe, ObservePermission: s.record}
	return s
}

func (s *scene) observe(u *client.Update) {
	if c := u.Value.AgentMessageChunk; c != nil && c.Content.Text != nil {
		s.note(func() { s.seen = append(s.seen, c.Content.Text.Text) })
	}
}

func (s *scene) record(r permission.Record) { s.note(func() { s.records = append(s.records, r) }) }

func (s *scene) note(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// text is what the agent has said so far.
func (s *scene) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.seen, "")
}

// permissions are the records so far.
func (s *scene) permissions() []permission.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.records)
}

// says waits until the agent has said that.
func (s *scene) says(text string) {
	s.Helper()
	late := time.After(hang)
	for {
		s.mu.Lock()
		changed, said := s.changed, strings.Contains(strings.Join(s.seen, ""), text)
		s.mu.Unlock()
		if said {
			return
		}
		select {
		case <-changed:
		case <-late:
			s.Fatalf("the agent never says %q, only %q", text, s.text())
		}
	}
}

// until waits until something is so.
func (s *scene) until(what string, is func() bool) {
	s.Helper()
	for late := time.Now().Add(hang); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			s.Fatalf("not so: %s", what)
		}
	}
}

// start starts the agent, which is closed with the test.
func (s *scene) start() *client.Agent {
	s.Helper()
	a, err := client.Start(s.Context(), s.command, &s.opts)
	if err != nil {
		s.Fatalf("it did not start: %v", err)
	}
	s.Cleanup(func() { a.Kill() })
	s.agent = a
	return a
}

// session starts the agent and a session.
func (s *scene) session() *client.Session {
	s.Helper()
	return s.newSession(s.start(), "")
}

func (s *scene) newSession(a *client.Agent, dir string) *client.Session {
	s.Helper()
	session, err := a.NewSession(s.Context(), &client.SessionOptions{Dir: dir})
	if err != nil {
		s.Fatalf("there is no session: %v", err)
	}
	return session
}

// fails starts the agent, and a session if that succeeds, and returns the error of a
// kind at a step, once nothing is left of it.
func (s *scene) fails(ctx context.Context, kind client.ErrorKind, step client.Step) *client.Error {
	s.Helper()
	before, goroutines := leak.Snapshot(), goleak.IgnoreCurrent()
	a, err := client.Start(ctx, s.command, &s.opts)
	if err == nil {
		_, err = a.NewSession(ctx, nil)
		a.Close()
	}
	e := s.asError(err, kind, step)
	if err := errors.Join(before.Check(), goleak.Find(goroutines)); err != nil {
		s.Errorf("left behind: %v", err)
	}
	return e
}

func (s *scene) asError(err error, kind client.ErrorKind, step client.Step) *client.Error {
	s.Helper()
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Kind != kind || e.Step != step {
		s.Fatalf("error %#v (%v), want a *Error of kind %q at %q", err, err, kind, step)
	}
	return e
}

// prompt carries out a turn that must not hang.
func (s *scene) prompt(session *client.Session, text string) (client.Answer, error) {
	s.Helper()
	return s.await(s.ask(s.Context(), session, text))
}

type ended struct {
	client.Answer
	error
}

// ask begins a turn.
func (s *scene) ask(ctx context.Context, session *client.Session, text string) <-chan ended {
	c := make(chan ended, 1)
	go func() { // ends with the turn
		answer, err := session.Prompt(ctx, textPrompt(text), nil)
		c <- ended{answer, err}
	}()
	return c
}

func textPrompt(text string) []acp.ContentBlock { return []acp.ContentBlock{acp.TextBlock(text)} }

func (s *scene) await(turn <-chan ended) (client.Answer, error) {
	s.Helper()
	select {
	case e := <-turn:
		return e.Answer, e.error
	case <-time.After(hang):
		s.Fatal("the turn does not end")
		panic("unreachable")
	}
}

// completes carries out a turn that must end with that stop reason.
func (s *scene) completes(session *client.Session, text, reason string) client.Answer {
	s.Helper()
	answer, err := s.prompt(session, text)
	s.ended(answer, err, reason)
	return answer
}

func (s *scene) ended(answer client.Answer, err error, reason string) {
	s.Helper()
	if err != nil || answer.StopReason == nil || *answer.StopReason != reason {
		s.Fatalf("the turn ended with %s, %v; want stop reason %q", answer.Raw, err, reason)
	}
}

// close closes the agent and checks the rung and how the process ended.
func (s *scene) close(a *client.Agent, rung client.Rung, exit string) *client.Report {
	s.Helper()
	done := make(chan *client.Report, 1)
	go func() { done <- a.Close() }() // ends with Close
	select {
	case r := <-done:
		if r.Exit.Rung != rung || r.Exit.String() != exit {
			tail, _ := a.Stderr()
			s.Errorf("it ended at rung %q with %s, want %q and %s; stderr %q", r.Exit.Rung, &r.Exit, rung, exit, tail)
		}
		return r
	case <-time.After(hang):
		s.Fatal("Close hangs")
		panic("unreachable")
	}
}

// wire is what the agent has read, in short: the methods, and of our answers what was
// answered.
func (s *scene) wire() string {
	s.Helper()
	var words []string
	for _, f := range s.Frames() {
		if f.Method != "" {
			words = append(words, f.Method)
			continue
		}
		var answer struct {
			Outcome struct{ Outcome, OptionID string }
		}
		json.Unmarshal(f.Result, &answer)
		word := strings.TrimSuffix(answer.Outcome.Outcome+":"+answer.Outcome.OptionID, ":")
		if word == "" {
			word = string(f.Result) + string(f.Error)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// receive takes what must come.
func receive[T any](t testing.TB, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(hang):
		t.Fatal("nothing comes")
		panic("unreachable")
	}
}
