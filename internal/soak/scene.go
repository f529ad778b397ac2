package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/subagent"
)

// scene is one run as it was drawn.
type scene struct {
	*rand.Rand // what the rest is drawn from

	name   string   // of the scene that is no draw; else its seed
	ending string   // how it fails, or does not
	extras []string // what goes on beside that

	// The sections of the agent's script. at is the one that statements are added to.
	start, initialize, newSession, prompt, cancel, closing, eof, term []string
	at                                                                *[]string

	command client.Command // in place of the scripted agent, where it has a Path
	options subagent.ACPOptions
	request subagent.Request // Dir "" is a directory made for the run
	caller  caller
	library bool // what it needs is no flag of errand run
	errand  bool // it is carried out through that

	main expectation            // what must come of it
	alts []func(e *expectation) // each makes of it something else that will do
	cuts []func(e *expectation) // so does each of these where the turn may be cut short
	open bool                   // a chunk goes on with the last message
	// early: there is no turn yet, and what is said of a session is of session-1.
	early bool

	allow bool // the policy; else reject
	ended bool // from outside
	tools []tool
	// openCall says that one of them is under way; anyStderr that of stderr only the
	// bound is known.
	openCall, anyStderr bool
	// Of the agent when its run is closed: is it there to be told, surely listening, and
	// has it a session that can be closed?
	alive, listening, session bool
	// Of what it started: how many, is any in its group, has any its stdout?
	helpers                 int
	groupHelper, stdoutHeld bool
	// late: the agent says something after its turn.
	late bool
}

// caller is what the run's caller does.
type caller struct {
	by string // how it ends the run: "context", "cancel", "close"; empty: not at all
	// When it does: once the run has started, or the agent has written the file go, or so
	// many frames have passed, or it was asked for a permission.
	onStart   bool
	onFile    bool
	after     int // and so many updates have come: what it said is not to depend on a grace
	onFrame   int
	whenAsked bool

	deadline time.Duration // of the context; 0 is none
	done     bool          // the context has ended before
	reads    bool          // Run.Updates
	pause    time.Duration // after each update
}

// goFile is what an agent writes into its directory when the caller may end the run.
const goFile = "go"

func newScene(name string, r *rand.Rand) *scene {
	s := &scene{Rand: r, name: name}
	s.at = &s.prompt
	s.alive, s.listening, s.session = true, true, true
	s.allow = s.IntN(2) == 0
	// Who goes at once is given all the time that a busy machine takes for it.
	s.options.Graces.Close, s.options.Graces.Kill = time.Minute, time.Minute
	s.request.Prompt = subagent.Text(s.words())
	s.main.Started, s.main.Stop, s.main.Exit, s.main.Rung = true, "completed", "status 0", "eof"
	return s
}

// script is the whole of it.
func (s *scene) script() string {
	var b strings.Builder
	for _, part := range []struct {
		event string
		lines []string
	}{
		{"start", s.start}, {"initialize", s.initialize}, {"session/new", s.newSession}, {"session/prompt", s.prompt},
		{"session/cancel", s.cancel}, {"session/close", s.closing}, {"eof", s.eof}, {"signal TERM", s.term},
	} {
		if len(part.lines) == 0 {
			continue
		}
		fmt.Fprintf(&b, "on %s\n", part.event)
		for _, line := range part.lines {
			fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(line, "\n", "\n  "))
		}
	}
	return b.String()
}

// do adds a statement.
func (s *scene) do(format string, args ...any) { *s.at = append(*s.at, fmt.Sprintf(format, args...)) }

// in adds what f does to another section.
func (s *scene) in(section *[]string, f func()) {
	before := s.at
	s.at = section
	f()
	s.at = before
}

// quoted is text as the script has it.
func quoted(text string) string { return strings.ReplaceAll(strconv.Quote(text), "$", "$$") }

// vocabulary has what texts are made of: nothing that a text of a result is split at.
var vocabulary = []string{
	"the", "parser", "test", "fails", "héllo", "日本語", "\"quoted\"", "a\\b", "line\nbreak", "\t", "<b>", "&", "$HOME", "{\"id\":1}",
	"\x1b[31mred", "\u202egnp", "\u2028", "😀", "null", "0", "'", "%s",
}

// words is a text that is not blank.
func (s *scene) words() string {
	text := "w"
	for range s.IntN(8) {
		text += " " + vocabulary[s.IntN(len(vocabulary))]
	}
	return text + " " + strconv.Itoa(s.IntN(1000))
}

// seen counts an update of the session.
func (s *scene) seen() {
	s.main.Counts.Updates++
	s.main.Read++
}

// say is a chunk of the agent's message.
func (s *scene) say(text string) {
	s.do("text %s%s", quoted(text), s.of())
	s.heard(text)
}

// heard is what chunks add to the messages.
func (s *scene) heard(chunks ...string) {
	s.main.Counts.Updates += len(chunks)
	s.main.Read += len(chunks)
	text := strings.Join(chunks, "")
	if s.open {
		s.main.Messages[len(s.main.Messages)-1] += text
		return
	}
	s.main.Messages = append(s.main.Messages, text)
	s.open = true
}

// between is an update after which a chunk begins a new message.
func (s *scene) between() {
	s.seen()
	s.open = false
}

// of names the session where there is none yet.
func (s *scene) of() string {
	if s.early {
		return " session=session-1"
	}
	return ""
}

// fails sets the error, without which the run would have completed.
func (s *scene) fails(kind client.ErrorKind, step client.Step) {
	s.main.Stop, s.main.Error = "error", fmt.Sprintf("%s at %s", kind, step)
	if step != client.StepPrompt {
		s.main.Started, s.session = false, false
	}
}

// gone says how the agent ends by itself, not waiting to be told.
func (s *scene) gone(exit string) {
	s.alive = false
	s.main.Exit, s.main.Rung = exit, "exit"
}

// or says that what f makes of the outcome will do as well.
func (s *scene) or(f func(e *expectation)) { s.alts = append(s.alts, f) }

// want are the outcomes that will do; the first is the likely one.
func (s *scene) want() []expectation {
	all := []expectation{s.main}
	alts := s.alts
	if s.main.cut {
		alts = slices.Concat(alts, s.cuts)
	}
	for _, f := range alts {
		e := s.main
		f(&e)
		all = append(all, e)
	}
	return all
}

// pick draws one of several.
func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// number draws one from low to high.
func (s *scene) number(low, high int) int { return low + s.IntN(high-low+1) }
