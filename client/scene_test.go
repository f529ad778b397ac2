package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
	"go.uber.org/goleak"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/permission"
)

// hang bounds whatever is waited for; reaching it means that it will not come.
const hang = 20 * time.Second

// Graces for agents that do not do what they are asked to. They are short only for what
// the agent is deaf to: what it does hear costs none of the wait, and the machine may be
// slow.
var (
	deafToCancel = client.Graces{Cancel: 400 * time.Millisecond, EOF: hang, Term: hang, Kill: hang}
	deafToEOF    = client.Graces{EOF: 200 * time.Millisecond, Term: hang, Kill: hang}
	deafToTerm   = client.Graces{EOF: 200 * time.Millisecond, Term: 200 * time.Millisecond, Kill: hang}
)

// scene is a scripted agent, the directory that it works in, and what it reads.
type scene struct {
	testing.TB
	dir     string // canonical
	log     string // every line that the agent read; there as soon as it was started
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
	s := &scene{TB: t, dir: canonical(t, t.TempDir()), log: filepath.Join(t.TempDir(), "wire"), changed: make(chan struct{})}
	path, args := script.Command(t, fmt.Sprintf("record %q\n%s", s.log, src))
	s.command = client.Command{
		Path: path, Args: args, Dir: s.dir,
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

// notSpawned checks that no process of the scene was ever started.
func (s *scene) notSpawned() {
	s.Helper()
	if s.exists(s.log) {
		s.Error("a process was started")
	}
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

// wireFrame is a line that the agent read.
type wireFrame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// frames are the lines that the agent has read.
func (s *scene) frames() []wireFrame {
	s.Helper()
	text, err := os.ReadFile(s.log)
	if err != nil {
		s.Fatal(err)
	}
	var frames []wireFrame
	for line := range bytes.Lines(text) {
		var f wireFrame
		if err := json.Unmarshal(line, &f); err != nil {
			s.Fatalf("the agent read %q: %v", line, err)
		}
		frames = append(frames, f)
	}
	return frames
}

// wire is what the agent has read, in short: the methods, and of our answers what was
// answered.
func (s *scene) wire() string {
	s.Helper()
	var words []string
	for _, f := range s.frames() {
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

// params are those of the only message of that method.
func (s *scene) params(method string) string {
	s.Helper()
	found := ""
	for _, f := range s.frames() {
		if f.Method == method {
			if found != "" {
				s.Errorf("%s was sent twice", method)
			}
			found = string(f.Params)
		}
	}
	if found == "" {
		s.Fatalf("%s was not sent", method)
	}
	return found
}

// file is the content of a file, in the scene's directory if it is not absolute.
func (s *scene) file(name string) string {
	s.Helper()
	text, err := os.ReadFile(s.path(name))
	if err != nil {
		s.Fatal(err)
	}
	return string(text)
}

func (s *scene) exists(name string) bool {
	_, err := os.Lstat(s.path(name))
	return err == nil
}

func (s *scene) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.dir, name)
}

// touch makes a file that the agent waits for.
func (s *scene) touch(name string) {
	s.Helper()
	if err := os.WriteFile(s.path(name), nil, 0o600); err != nil {
		s.Fatal(err)
	}
}

// until polls for what no channel tells.
func (s *scene) until(what string, condition func() bool) {
	s.Helper()
	for deadline := time.Now().Add(hang); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatalf("never: %s", what)
		}
	}
}

// gone checks that the process whose id the agent has written into a file has ended.
func (s *scene) gone(name string) {
	s.Helper()
	pid, err := strconv.Atoi(s.file(name))
	if err != nil {
		s.Fatal(err)
	}
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		if _, state, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(state, "Z") {
			s.Errorf("process %d is still there: %s", pid, stat)
		}
	}
}

func canonical(t testing.TB, dir string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return real
}
