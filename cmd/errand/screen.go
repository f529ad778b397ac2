package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/muesli/termenv"

	"github.com/errand-acp/errand/internal/visible"
	"github.com/errand-acp/errand/subagent"
)

// screen shows a run as it goes: the answer on stdout where that is a terminal, tool
// calls, decisions and warnings on stderr, and a spinner there while the agent is
// silent. Its methods may be called from any goroutine.
type screen struct {
	out    *output
	agent  string
	live   bool // the answer is streamed to stdout
	quiet  bool // nothing but failures on stderr, and what is missing from the answer
	shared bool // stdout and stderr are both the terminal, so their lines must not mix
	colors termenv.Profile
	width  func() int // of the terminal, 0 if unknown

	mu       sync.Mutex // guards everything below
	scribe   scribe
	midLine  bool // the last thing on the terminal was no whole line
	streamed bool // some of the answer was shown
	warned   map[string]bool
	spinner  *spinner // nil where there is none
}

func newScreen(out *output, con *console, agent string, live, quiet bool, redact func(string) string) *screen {
	s := &screen{
		out: out, agent: visible.Line(agent), live: live, quiet: quiet, shared: live && con.errTTY,
		colors: termenv.Ascii, width: con.errWidth, scribe: scribe{redact: redact}, warned: map[string]bool{},
	}
	if con.errTTY && !con.dumb {
		terminal := termenv.NewOutput(con.err)
		s.colors = terminal.EnvColorProfile()
		termenv.EnableVirtualTerminalProcessing(terminal)
		if !quiet {
			s.mu.Lock() // which spin takes
			s.spinner = startSpinner(s.spin)
			s.mu.Unlock()
		}
	}
	return s
}

// event shows e.
func (s *screen) event(e subagent.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.Type {
	case subagent.EventStart:
		if s.spinner != nil {
			s.spinner.label = "working"
		}
	case subagent.EventWarning:
		s.warned[e.Warning] = true
	case subagent.EventEnd:
		s.stop()
	}
	for _, p := range s.scribe.see(e) {
		switch p.kind {
		case answerPart:
			s.answer(p.text)
		case answerEnd:
			s.endLine()
		default:
			if !s.quiet || p.kind == warningPart && tellsOfLoss(p.text) {
				s.line(s.paint(p))
			}
		}
	}
}

// answer shows a piece of the answer.
func (s *screen) answer(text string) {
	if !s.live || text == "" {
		return
	}
	s.clearSpinner()
	s.out.out(text)
	s.streamed = true
	s.midLine = !strings.HasSuffix(text, "\n")
}

// endLine ends the answer's line, so that what comes next has one of its own.
func (s *screen) endLine() {
	if s.midLine {
		s.out.out("\n")
		s.midLine = false
	}
}

// line shows a line on stderr.
func (s *screen) line(text string) {
	s.clearSpinner()
	if s.shared {
		s.endLine()
	}
	s.out.diag(text + "\n")
}

// paint gives a part its colour.
func (s *screen) paint(p part) string {
	color, ok := map[partKind]string{toolPart: "6", allowedPart: "2", deniedPart: "3", warningPart: "3"}[p.kind]
	head, rest, found := strings.Cut(p.text, ":")
	if !ok || !found {
		return p.text
	}
	return s.colors.String(head+":").Foreground(s.colors.Color(color)).String() + rest
}

// note shows a warning of ours, which is one that cannot be silenced.
func (s *screen) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warned[text] = true
	s.line("errand: " + text)
}

// warnings shows those of res that were not shown yet.
func (s *screen) warnings(res *subagent.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range res.Warnings {
		said := s.warned[w] || res.Error != nil && res.Error.Message == w
		if !said && (!s.quiet || tellsOfLoss(w)) {
			s.warned[w] = true
			s.line(s.paint(part{warningPart, "warning: " + visible.Line(w)}))
		}
	}
}

// tellsOfLoss reports whether a warning says that the answer which is printed may not be
// all of it, or the transcript that was asked for. Those are told with --quiet too, as errors
// are.
func tellsOfLoss(warning string) bool {
	if strings.HasPrefix(warning, transcriptIncomplete) {
		return true
	}
	for _, words := range []string{"not complete", "may not be complete", "not in the output"} {
		if strings.HasSuffix(warning, words) {
			return true
		}
	}
	return false
}

// end takes the spinner away and finishes what is on the line. It reports whether
// some of the answer was shown.
func (s *screen) end() (streamed bool) {
	if s.spinner != nil {
		s.spinner.stop()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.scribe.breakAnswer() {
		s.answer(p.text)
	}
	s.clearSpinner()
	s.endLine()
	return s.streamed
}

// cancelling says that the run is being cancelled, to whoever waits for its end; killed
// that the agent is not waited for.
func (s *screen) cancelling(killed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spinner == nil || s.spinner.stopped() {
		return
	}
	if killed {
		s.line("errand: killing")
	} else {
		s.line("errand: cancelling; interrupt once more to kill")
	}
	s.stop()
}

// stopping is the spinner's label while the agent is waited for to stop: after its
// answer, after a clock has run out, and after a cancel.
const stopping = "stopping"

// overdue says that a clock has run out. With atStart it was that of the start,
// and says nothing of an agent that was ready in time.
func (s *screen) overdue(atStart bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spinner != nil && (!atStart || s.spinner.label == starting) {
		s.stop()
	}
}

func (s *screen) stop() {
	if s.spinner != nil {
		s.spinner.label = stopping
	}
}

// spin draws the spinner, unless the answer's line is under way.
func (s *screen) spin(frame string, since time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.midLine {
		return
	}
	text := fmt.Sprintf("%s %s %s %ds", frame, s.agent, s.spinner.label, int(since.Seconds()))
	if width := s.width(); width > 2 {
		text = clip(text, width-2)
	}
	s.spinner.drawn = true
	s.out.drawn("\r" + text + clearToEnd)
}

// clearSpinner makes room for something else. The spinner comes back when nothing
// has been shown for a moment.
func (s *screen) clearSpinner() {
	if s.spinner == nil {
		return
	}
	s.spinner.touch()
	if s.spinner.drawn {
		s.spinner.drawn = false
		s.out.diag("\r" + clearToEnd)
	}
}

const clearToEnd = "\x1b[K"
