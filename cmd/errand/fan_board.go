package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muesli/termenv"

	"github.com/errand-acp/errand/internal/visible"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// board shows on stderr what becomes of the runs of a fan-out: a table on a terminal that
// can have one, else a line per event. Its methods may be called from any goroutine.
type board struct {
	out   *output
	quiet bool // only what is told with --quiet too
	size  func() (width, height int)

	mu     sync.Mutex // guards everything below, and the order of what is shown
	rows   []*row
	table  *table // nil where there is none
	drawn  int    // lines of it that are on the terminal, above the cursor
	shown  string // what they say
	paused int    // questions that want the terminal
	closed bool

	quit, quitted chan struct{} // of the ticker; nil without a table
}

// boardTick is how often the table is looked over.
const boardTick = 100 * time.Millisecond

func newBoard(x *fan) *board {
	b := &board{out: x.out, quiet: x.flags.quiet || x.flags.events, size: x.con.errSize}
	for _, t := range x.tasks {
		b.rows = append(b.rows, &row{
			number: t.index + 1, name: visible.Line(t.name), state: rowQueued,
			head: clip(visible.Line(t.redact(promptHead(t.prompt))), 200), scribe: scribe{redact: t.redact}, warned: map[string]bool{},
		})
	}
	for i, t := range x.tasks {
		for _, note := range t.agent.notes { // they are told once, for all
			b.rows[i].warned[note] = true
		}
	}
	if x.con.errTTY && !x.con.dumb && !b.quiet {
		terminal := termenv.NewOutput(x.con.err)
		termenv.EnableVirtualTerminalProcessing(terminal)
		b.table = &table{rows: b.rows, gone: map[*row]bool{}, colors: terminal.EnvColorProfile()}
		b.quit, b.quitted = make(chan struct{}), make(chan struct{})
		go b.tick()
	}
	return b
}

// tick draws the table again while something in it changes. It ends with close, which
// waits for it.
func (b *board) tick() {
	defer close(b.quitted)
	t := time.NewTicker(boardTick)
	defer t.Stop()
	for {
		select {
		case <-b.quit:
			return
		case <-t.C:
			b.mu.Lock()
			b.draw()
			b.mu.Unlock()
		}
	}
}

// draw puts the table where it was, if it says something else now. mu is held.
func (b *board) draw() {
	if b.table == nil || b.closed || b.paused > 0 || b.out.errs.busy() {
		return
	}
	if f := b.frame(); len(f.above) > 0 || b.drawn == 0 || strings.Join(f.lines, "\n") != b.shown {
		b.show(f)
	}
}

func (b *board) frame() frame {
	width, height := b.size()
	return b.table.frame(width, height, time.Now())
}

func (b *board) show(f frame) {
	b.put(append(f.above, f.lines...))
	b.drawn, b.shown = len(f.lines), strings.Join(f.lines, "\n")
}

// put writes lines over the table. Of a terminal that has become narrower it takes for
// granted that the lines are as many as before: where they are more now, which is where
// long lines are folded anew, a piece of the old table stays above, and nothing of what
// was there before it is lost. mu is held.
func (b *board) put(lines []string) {
	var text strings.Builder
	if b.drawn > 0 {
		fmt.Fprintf(&text, "\x1b[%dA\r", b.drawn)
	}
	for _, line := range lines {
		text.WriteString(line)
		if b.table != nil {
			text.WriteString(clearToEnd)
		}
		text.WriteString("\n")
	}
	if b.table != nil && b.drawn > 0 {
		text.WriteString("\x1b[J")
	}
	b.drawn = 0
	b.out.diag(text.String())
}

// line shows a line that stays. mu is held.
func (b *board) line(text string) {
	if b.table == nil || b.closed || b.paused > 0 {
		b.put([]string{text})
		return
	}
	f := b.frame()
	f.above = append(f.above, text)
	b.show(f)
}

// note shows a warning of ours, which is one that cannot be silenced.
func (b *board) note(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.line("errand: " + text)
}

// aside shows a line of what decides permissions.
func (b *board) aside(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.line(text)
}

// of shows a line about a run.
func (b *board) of(r *row, text string) {
	b.line(fmt.Sprintf("%d %s: %s", r.number, r.name, text))
}

// starting says that a run is being started.
func (b *board) starting(i int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows[i].state, b.rows[i].began = rowStarting, time.Now()
	b.draw()
}

// event takes an event of a run.
func (b *board) event(i int, e subagent.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.rows[i]
	switch e.Type {
	case subagent.EventStart:
		r.state = rowRunning
		b.told(r, "started")
	case subagent.EventWarning:
		if r.warned[e.Warning] {
			return
		}
		r.warned[e.Warning] = true
	case subagent.EventUpdate:
		if used := contextUsed(e.Update); e.SessionID == r.scribe.session && used != "" {
			r.tokens = used
		}
	}
	for _, p := range r.scribe.see(e) {
		switch p.kind {
		case answerPart:
			r.said(p.text)
		case answerEnd:
			r.said("\n")
		case toolPart:
			r.tool = strings.TrimPrefix(p.text, "tool: ")
			b.told(r, p.text)
		case warningPart:
			if !b.quiet || tellsOfLoss(p.text) {
				b.of(r, p.text)
			}
		default:
			b.told(r, p.text)
		}
	}
}

// did takes a line that tells what we do for a run, or why not.
func (b *board) did(i int, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows[i].tool = text
	b.told(b.rows[i], text)
}

// told shows a line about what a table shows by itself.
func (b *board) told(r *row, text string) {
	if b.table == nil && !b.quiet {
		b.of(r, text)
	}
}

// waiting says that a run waits for a decision; the function that it returns, that it
// does not any more. terminal says that it is asked for on the terminal, which the table
// leaves meanwhile.
func (b *board) waiting(i int, req permission.Request, terminal bool) (decided func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if terminal {
		if b.drawn > 0 {
			b.put(nil)
		}
		b.paused++
	}
	r := b.rows[i]
	title := "a tool call"
	if req.ToolCall.Title != nil {
		title = r.scribe.title(*req.ToolCall.Title)
	}
	before := r.state
	if len(r.asking) > 0 {
		before = rowRunning
	}
	r.asking = append(r.asking, title)
	r.state = rowWaiting
	b.draw()
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if terminal {
			b.paused--
		}
		r.asking = slices.Delete(r.asking, 0, 1)
		if len(r.asking) == 0 && r.state == rowWaiting {
			r.state = before
		}
		b.draw()
	}
}

// ended takes the result of a run.
func (b *board) ended(res *fanResult) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.rows[res.Index]
	for _, p := range r.scribe.breakAnswer() {
		r.said(p.text)
	}
	r.finish(res, time.Now())
	for _, w := range res.Warnings {
		said := r.warned[w] || res.Error != nil && res.Error.Message == w || r.state == rowCancelled && res.RunID == ""
		if !said && (!b.quiet || tellsOfLoss(w)) {
			b.of(r, "warning: "+visible.Line(w))
		}
		r.warned[w] = true
	}
	if b.table != nil {
		b.table.scrolls = append(b.table.scrolls, r) // drawn with the next tick: very many may end at once
		return
	}
	text := string(r.state)
	if r.why != "" {
		text += ": " + r.why
	}
	if res.Resumed {
		text += ", as the journal has it"
	} else if took := r.took(time.Now()); took != "" {
		text += " in " + took
	}
	if r.tokens != "" {
		text += ", " + r.tokens
	}
	b.told(r, text)
}

// cancelling says that the runs are being cancelled, to whoever waits for their end;
// killed that the agents are not waited for.
func (b *board) cancelling(killed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.table == nil || b.closed:
	case killed:
		b.line("errand: killing")
	default:
		b.line("errand: cancelling; interrupt once more to kill")
	}
}

// close leaves on the terminal what became of the runs, and draws nothing any more.
func (b *board) close() {
	if b.table != nil {
		close(b.quit)
		<-b.quitted
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.table != nil {
		width, _ := b.size()
		b.put(b.table.rest(width, time.Now()))
	}
}

// contextUsed reads how full an agent says that its context is, empty where it does not.
func contextUsed(update json.RawMessage) string {
	var u struct {
		Kind string   `json:"sessionUpdate"`
		Used *float64 `json:"used"`
	}
	if !bytes.Contains(update, []byte("usage_update")) { // which most are not
		return ""
	}
	if json.Unmarshal(update, &u) != nil || u.Kind != "usage_update" || u.Used == nil {
		return ""
	}
	return tokenCount(*u.Used)
}
