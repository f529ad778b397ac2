package main

import (
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/visible"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// rowState is what a run is at.
type rowState string

const (
	rowQueued    rowState = "queued"
	rowStarting  rowState = "starting"
	rowRunning   rowState = "running"
	rowWaiting   rowState = "waiting for permission"
	rowDone      rowState = "done"
	rowFailed    rowState = "failed"
	rowCancelled rowState = "cancelled"
)

// over reports whether the run has ended.
func (s rowState) over() bool { return s == rowDone || s == rowFailed || s == rowCancelled }

// color is an ANSI colour, empty for none.
func (s rowState) color() string {
	return map[rowState]string{rowRunning: "6", rowWaiting: "5", rowDone: "2", rowFailed: "1", rowCancelled: "3"}[s]
}

// row is what a person is told of a run. It is pure: the times are told to it.
type row struct {
	number       int // from 1
	name         string
	state        rowState
	head         string   // the beginning of its prompt
	tool         string   // the last tool call, until something is said after it
	tail         string   // the end of what the agent has said
	why          string   // of a failure
	asking       []string // what it waits for permission for
	tokens       string
	began, ended time.Time // zero before
	scribe       scribe
	warned       map[string]bool
}

// maxRowTail is how much of the end of a message is kept, in bytes.
const maxRowTail = 400

// said adds a piece of a message.
func (r *row) said(text string) {
	r.tool = ""
	r.tail = lastBytes(r.tail+text, maxRowTail)
}

// lastBytes returns the end of text, n bytes at the most, from where a character begins.
func lastBytes(text string, n int) string {
	for n = max(0, len(text)-n); n < len(text) && !utf8.RuneStart(text[n]); n++ {
	}
	return text[n:]
}

// doing is what the run is at, in a line. end says that the end of it says most.
func (r *row) doing() (text string, end bool) {
	switch {
	case r.state == rowQueued || r.state == rowStarting:
		return r.head, false
	case r.state == rowWaiting:
		return r.asking[0], false
	case r.state == rowFailed:
		return r.why, false
	case r.tool != "" && !r.state.over():
		return r.tool, false
	}
	lines := strings.Split(strings.TrimSpace(r.tail), "\n")
	return strings.ReplaceAll(strings.TrimSpace(lines[len(lines)-1]), "\t", " "), true
}

// took is how long the run has taken by now, empty where it has not begun.
func (r *row) took(now time.Time) string {
	if r.began.IsZero() {
		return ""
	}
	if !r.ended.IsZero() {
		return seconds(r.ended.Sub(r.began), 100*time.Millisecond)
	}
	return seconds(now.Sub(r.began), time.Second)
}

// seconds gives a duration as people read it, to the precision if it is less than a minute.
func seconds(d, precision time.Duration) string {
	if d < time.Minute {
		return d.Truncate(precision).String()
	}
	d = d.Truncate(time.Second)
	if d < time.Hour {
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
}

// rowLayout is what the lines of a table have in common.
type rowLayout struct {
	digits, name, width int // in columns
	paint               func(s rowState) string
	now                 time.Time
}

const (
	maxRowName = 24 // columns
	stateWidth = len(rowCancelled)
	gap        = "  "
)

// line is the run in a line of the table.
func (l rowLayout) line(r *row) string {
	name := cutColumns(r.name, l.name)
	head := fmt.Sprintf("%*d%s%s%s", l.digits, r.number, gap, name, strings.Repeat(" ", max(0, l.name-columns(name)))) + gap
	end := ""
	for _, text := range []string{r.took(l.now), r.tokens} {
		if text != "" {
			end += gap + text
		}
	}
	state := string(r.state)
	room := l.width - len(state) - columns(head) - columns(end)
	if room < 0 {
		return cutColumns(head+state+end, l.width)
	}
	doing, last := r.doing()
	pad := max(0, stateWidth-len(state)) + len(gap)
	if doing == "" || room < pad+8 {
		return head + l.paint(r.state) + strings.Repeat(" ", room) + end
	}
	room -= pad
	if last {
		doing = lastColumns(doing, room)
	} else {
		doing = cutColumns(doing, room)
	}
	return head + l.paint(r.state) + strings.Repeat(" ", pad) + doing + strings.Repeat(" ", max(0, room-columns(doing))) + end
}

// columns is how many columns of a terminal text takes up at the most: what is not ASCII
// may take two of them.
func columns(text string) int {
	n := 0
	for _, r := range text {
		if n++; r >= utf8.RuneSelf {
			n++
		}
	}
	return n
}

// cutColumns shortens text to so many columns.
func cutColumns(text string, n int) string {
	if columns(text) <= n {
		return text
	}
	return text[:fits(text, max(0, n-columns("…")))] + "…"
}

// lastColumns shortens text to its last so many columns.
func lastColumns(text string, n int) string {
	if columns(text) <= n {
		return text
	}
	for over := columns(text) - n + columns("…"); over > 0; {
		r, size := utf8.DecodeRuneInString(text)
		if size == 0 {
			break
		}
		over -= columns(string(r))
		text = text[size:]
	}
	return "…" + text
}

// tokensOf is what a run used, as far as its agent said.
func tokensOf(u *subagent.Usage) string {
	if u == nil {
		return ""
	}
	switch {
	case u.TotalTokens != nil:
		return tokenCount(*u.TotalTokens)
	case u.InputTokens != nil && u.OutputTokens != nil:
		return tokenCount(*u.InputTokens + *u.OutputTokens)
	case u.ContextUsed != nil:
		return tokenCount(*u.ContextUsed)
	}
	return ""
}

// tokenCount gives a number of tokens in a few characters.
func tokenCount(n float64) string {
	switch {
	case n < 0 || n >= 1e12 || n != n:
		return "" // nobody has used that
	case n >= 1e6:
		return strconv.FormatFloat(n/1e6, 'f', 1, 64) + "M tok"
	case n >= 1e3:
		return strconv.FormatFloat(n/1e3, 'f', 1, 64) + "k tok"
	}
	return strconv.FormatFloat(n, 'f', 0, 64) + " tok"
}

// finish takes the result.
func (r *row) finish(res *fanResult, now time.Time) {
	r.ended = now
	r.tokens = cmp.Or(tokensOf(res.Usage), r.tokens)
	r.state = rowFailed
	switch {
	case res.good():
		r.state = rowDone
	case res.Stop == stopreason.Aborted && res.Error == nil:
		r.state = rowCancelled
	}
	if r.state == rowFailed {
		r.why = failure(res)
	}
	if r.tail == "" {
		r.said(visible.Text(lastBytes(res.Output, maxRowTail)))
	}
}

// maxFailure is how much is said of a failure where it is not explained, in columns.
const maxFailure = 100

// failure says in a short line why a run has failed.
func failure(res *fanResult) string {
	return cutColumns(visible.Line(failureText(res)), maxFailure)
}

func failureText(res *fanResult) string {
	switch e := res.Error; {
	case e != nil && e.Kind == client.KindSpawn && errors.Is(e, exec.ErrNotFound):
		return "not installed"
	case e != nil && e.Step == client.StepConfig:
		return e.Message
	case e != nil:
		return fmt.Sprintf("%s: %s", e.Step, e.Message)
	case res.Stop == stopreason.Refusal:
		return "the agent refused"
	case res.Stop == stopreason.MaxTokens:
		return "the answer was cut short at the model's token limit"
	case res.failed && len(res.Warnings) > 0:
		return res.Warnings[len(res.Warnings)-1]
	}
	return "it ended as " + string(res.Stop)
}
