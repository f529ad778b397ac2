package faults

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/subagent"
)

// hang bounds whatever is waited for; reaching it means that it will not come.
const hang = 2 * time.Minute

// No form may depend on how fast a machine is, so what must come before a clock runs out
// has these at least.
const (
	// idle is for an agent that is running and has something to say first.
	idle = 4 * time.Second
	// ample is for a program of a race build that has to start, or to end.
	ample = 6 * time.Second
)

// patient are the waits for agents that do what they are asked to: they end with that.
var patient = client.Graces{Cancel: hang, Close: hang, EOF: hang, Term: hang, Kill: hang}

// markVariable marks the processes of a scene, and what they start.
const markVariable = "ERRAND_TEST_MARK"

// scene is one run: an agent that follows a form's script, and what came of it.
type scene struct {
	testing.TB
	form    *form
	dir     string // the run's directory, canonical; the agent leaves its files here
	mark    string
	command client.Command
	opts    subagent.ACPOptions
	request subagent.Request

	// What came of it: a result, or why it was never started.
	result *subagent.Result
	err    *subagent.Error
	// Of a form with several runs at once: their prompts, and what came of them.
	prompts []string
	results []*subagent.Result
}

// newScene makes the scene of a form, ready to be played.
func newScene(t testing.TB, f *form) *scene {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path, args := script.Command(t, f.source(t))
	s := &scene{TB: t, form: f, dir: dir, mark: rand.Text()}
	s.command = client.Command{
		Path: path, Args: args,
		// A race build sleeps a second at its exit.
		Env: []string{"GORACE=atexit_sleep_ms=0", markVariable + "=" + s.mark},
	}
	s.request = subagent.Request{Dir: dir, Prompt: subagent.Text("go")}
	s.opts.StartTimeout, s.opts.Graces = hang, patient
	if f.given != nil {
		f.given(s)
	}
	return s
}

// play plays a form and checks all that must hold.
func play(t testing.TB, f *form) {
	t.Helper()
	s := newScene(t, f)
	t.Cleanup(s.nothingLeft)
	if f.do != nil {
		f.do(s)
	} else {
		s.delegate(t.Context())
	}
	if f.want == "" && f.check == nil {
		t.Fatal("the form wants nothing")
	}
	if got := s.summary(); f.want != "" && got != f.want {
		t.Errorf("got  %s\nwant %s\n%s", got, f.want, s.details())
	}
	for _, result := range append(s.results, s.result) {
		if _, err := json.Marshal(result); err != nil {
			t.Errorf("the result is no JSON: %v", err)
		}
	}
	if f.check != nil {
		f.check(s)
	}
}

// delegate carries the run out, from start to close.
func (s *scene) delegate(ctx context.Context) {
	s.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var hung atomic.Bool
	defer time.AfterFunc(hang, func() { hung.Store(true); cancel() }).Stop()
	provider, err := subagent.NewACP("scripted", s.command, &s.opts)
	if err == nil {
		s.watch(cancel)
		s.result, err = subagent.Delegate(ctx, provider, s.request)
	}
	if err != nil {
		if e, ok := errors.AsType[*subagent.Error](err); ok {
			s.err = e
		} else {
			s.Fatalf("error %#v, want a *subagent.Error", err)
		}
	}
	if hung.Load() {
		s.Fatalf("it hangs; when cancelled: %s\n%s", s.summary(), s.details())
	}
}

// watch is the form's consumer: slow, or one that cancels.
func (s *scene) watch(cancel func()) {
	if s.form.slow == 0 && s.form.cancelOn == "" {
		return
	}
	told := s.request.Events
	s.request.Events = func(e subagent.Event) {
		if told != nil {
			told(e)
		}
		if e.Type != subagent.EventUpdate {
			return
		}
		time.Sleep(s.form.slow) // the fault, not a wait for something
		if s.form.cancelOn != "" && bytes.Contains(e.Update, []byte(s.form.cancelOn)) {
			cancel()
		}
	}
}

// summary says in one line what came of the run: the outcome; what was said; what else
// was seen; how the process ended. The table shows it.
func (s *scene) summary() string {
	if s.results != nil {
		return each(s.results)
	}
	if s.err != nil {
		return fmt.Sprintf("not started: %s at %s", s.err.Kind, s.err.Step)
	}
	r := s.result
	if r == nil {
		return "neither a result nor an error"
	}
	var b strings.Builder
	b.WriteString(string(r.Stop))
	if r.Error != nil {
		fmt.Fprintf(&b, ": %s at %s", r.Error.Kind, r.Error.Step)
	}
	text := ""
	for _, m := range r.Messages {
		text += m.Text
	}
	switch {
	case len(text) > 40:
		fmt.Fprintf(&b, "; %d bytes of text", len(text))
	case text != "":
		fmt.Fprintf(&b, "; %q", text)
	default:
		b.WriteString("; no text")
	}
	if r.Truncated {
		b.WriteString(", truncated")
	}
	for _, n := range []struct {
		n    int
		what string
	}{
		{r.Counts.Updates, "updates"}, {r.Counts.Unknown, "unknown"}, {r.Counts.Foreign, "foreign"}, {r.Counts.Late, "late"},
		{r.Counts.Dropped, "dropped"}, {r.Noise.Lines, "lines of noise"},
	} {
		if n.n > 0 {
			fmt.Fprintf(&b, "; %d %s", n.n, n.what)
		}
	}
	for _, p := range r.Permissions {
		if len(r.Permissions) <= 3 {
			fmt.Fprintf(&b, "; %s", p.Decision)
		}
	}
	if n := len(r.Permissions); n > 3 {
		fmt.Fprintf(&b, "; %d permissions", n)
	}
	if r.Exit != nil {
		fmt.Fprintf(&b, "; %s", r.Exit)
		if r.Exit.Rung != client.RungExit && r.Exit.Rung != client.RungEOF {
			fmt.Fprintf(&b, " by %s", r.Exit.Rung)
		}
	}
	return b.String()
}

// details are for the eye, when something is wrong.
func (s *scene) details() string {
	if s.err != nil {
		return s.err.Error()
	}
	if s.results != nil {
		var all strings.Builder
		for i, r := range s.results {
			fmt.Fprintf(&all, "%d: %s\n", i, (&scene{result: r}).details())
		}
		return all.String()
	}
	if s.result == nil {
		return ""
	}
	e := ""
	if s.result.Error != nil {
		e = s.result.Error.Message
	}
	return fmt.Sprintf("error: %s\nwarnings: %q\nstderr: %.2000s\nnoise: %q", e, s.result.Warnings, s.result.StderrTail, s.result.Noise.First)
}

// nothingLeft checks that no process of the scene is alive.
func (s *scene) nothingLeft() {
	s.Helper()
	for _, pid := range marked(s.mark) {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		s.Errorf("process %d is left behind: %s", pid, stat)
		end(pid)
	}
}

// marked are the processes that carry the mark, zombies not among them.
func marked(mark string) []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		// A zombie's is empty.
		if env, err := os.ReadFile(f); err == nil && bytes.Contains(env, []byte(markVariable+"="+mark)) {
			pid, _ := strconv.Atoi(strings.Split(f, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}

// message is the text of the run's error, or of why it did not start.
func (s *scene) message() string {
	switch {
	case s.err != nil:
		return s.err.Error()
	case s.result != nil && s.result.Error != nil:
		return s.result.Error.Message
	}
	return ""
}

// file is what the agent has written into a file of that name; empty if there is none.
func (s *scene) file(name string) string {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.Fatal(err)
	}
	return string(text)
}
