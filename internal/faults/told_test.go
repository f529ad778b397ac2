package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/errand-acp/errand/subagent"
)

// told carries the run out and returns what its caller was told.
func (s *scene) told() []subagent.Event {
	s.Helper()
	var events []subagent.Event
	s.listen(func(e subagent.Event) { events = append(events, e) })
	s.delegate(s.Context())
	return events
}

// listen has f called with each event, before any other that listens.
func (s *scene) listen(f func(subagent.Event)) {
	others := s.request.Events
	s.request.Events = func(e subagent.Event) {
		if others != nil {
			defer others(e)
		}
		f(e)
	}
}

// start starts the run. It is closed at the end of the test, where it was not before.
func (s *scene) start() subagent.Run {
	s.Helper()
	return s.startIn(s.Context())
}

// startIn starts the run in a context of its own.
func (s *scene) startIn(ctx context.Context) subagent.Run {
	s.Helper()
	provider, err := subagent.NewACP("scripted", s.command, &s.opts)
	if err != nil {
		s.Fatal(err)
	}
	run, err := provider.Start(ctx, s.request)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { run.Close() })
	return run
}

// finish waits for the outcome, and closes the run.
func (s *scene) finish(run subagent.Run) {
	s.Helper()
	s.within(hang, "the outcome", func() { <-run.Done() })
	s.within(hang, "closing", func() { s.result = run.Close() })
}

// within fails where f takes longer than that.
func (s *scene) within(bound time.Duration, what string, f func()) {
	s.Helper()
	done := make(chan struct{})
	go func() { // ends with f
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(bound):
		s.Fatalf("%s takes longer than %v", what, bound)
	}
}

// until waits for something that comes.
func (s *scene) until(what string, ready func() bool) {
	s.Helper()
	for begin := time.Now(); !ready(); time.Sleep(2 * time.Millisecond) {
		if time.Since(begin) > hang {
			s.Fatalf("%s does not come", what)
		}
	}
}

// write writes an empty file, which an agent waits for.
func (s *scene) write(name string) {
	s.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), nil, 0o600); err != nil {
		s.Error(err)
	}
}

// exists reports whether the agent has written a file of that name.
func (s *scene) exists(name string) bool {
	_, err := os.Stat(filepath.Join(s.dir, name))
	return err == nil
}

// text is all that the agent said.
func (s *scene) text() string {
	s.Helper()
	if s.result == nil {
		s.Fatal("there is no result: ", s.message())
	}
	var b strings.Builder
	for _, m := range s.result.Messages {
		b.WriteString(m.Text)
	}
	return b.String()
}

// said is the text in an update of the agent; empty where there is none.
func said(e subagent.Event) string {
	var u struct {
		Content struct{ Text string }
	}
	if e.Type == subagent.EventUpdate {
		json.Unmarshal(e.Update, &u)
	}
	return u.Content.Text
}

// same checks a text that is too long to be shown.
func (s *scene) same(what, got, want string) {
	s.Helper()
	if got == want {
		return
	}
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	part := func(text string) string { return text[max(0, i-20):min(len(text), i+40)] }
	s.Errorf("%s: %d bytes, want %d; they differ at %d: %q, want %q", what, len(got), len(want), i, part(got), part(want))
}

// numbered is what a format makes of 1 to n.
func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i+1)
	}
	return b.String()
}

// filled is text repeated up to a size, as the scripted agent does it.
func filled(text string, size int) string {
	return strings.Repeat(text, size/len(text)+1)[:size]
}
