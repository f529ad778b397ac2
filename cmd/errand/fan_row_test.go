package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/muesli/termenv"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// rows are one of each state.
func sampleRows() []*row {
	return []*row{
		{number: 1, name: "claude", state: rowDone, tail: "I am\n\nAll tests pass.\n", tokens: "1.2k tok", began: noon.Add(-90 * time.Second), ended: noon.Add(-30 * time.Second)},
		{number: 2, name: "gemini", state: rowRunning, tool: "Edit main.go", tail: "Let me see", began: noon.Add(-75 * time.Second)},
		{number: 3, name: "codex", state: rowWaiting, asking: []string{"Write a.txt"}, began: noon.Add(-5 * time.Second)},
		{number: 4, name: "a name that is far too long for it", state: rowRunning, tail: "one line\nanother one that goes on and on, up to its own end", began: noon},
		{number: 5, name: "demo", state: rowStarting, head: "Fix the parser", began: noon.Add(-1500 * time.Millisecond)},
		{number: 6, name: "demo", state: rowQueued, head: "Fix the parser"},
		{number: 7, name: "demo", state: rowFailed, why: "spawn: there is no such program", began: noon, ended: noon.Add(1234 * time.Millisecond)},
		{number: 8, name: "日本語", state: rowCancelled, began: noon.Add(-2 * time.Hour)},
	}
}

func plainTable(rows []*row) *table {
	return &table{rows: rows, gone: map[*row]bool{}, colors: termenv.Ascii}
}

func TestTable(t *testing.T) {
	f := plainTable(sampleRows()).frame(81, 24, noon)
	want := []string{
		`1  claude                    done       All tests pass.          1m00s  1.2k tok`,
		`2  gemini                    running    Edit main.go                       1m15s`,
		`3  codex                     waiting for permission  Write a.txt              5s`,
		`4  a name that is far too…  running    … goes on and on, up to its own end  0s`,
		`5  demo                      starting   Fix the parser                        1s`,
		`6  demo                      queued     Fix the parser`,
		`7  demo                      failed     spawn: there is no such program     1.2s`,
		`8  日本語                    cancelled                                     2h00m`,
	}
	for i := range f.lines {
		f.lines[i] = strings.TrimRight(f.lines[i], " ")
	}
	if diff := cmp.Diff(want, f.lines); diff != "" || len(f.above) > 0 {
		t.Errorf("(-want +got):\n%s\nabove: %q", diff, f.above)
	}
}

// Whatever the terminal's size, the table stays within it.
func TestTableFits(t *testing.T) {
	for width := 1; width < 120; width++ {
		for height := 1; height < 12; height++ {
			tab := plainTable(sampleRows())
			for _, r := range tab.rows {
				if r.state.over() {
					tab.scrolls = append(tab.scrolls, r)
				}
			}
			f := tab.frame(width, height, noon)
			if len(f.lines) > max(1, height-1) {
				t.Errorf("%d lines in %d", len(f.lines), height)
			}
			for _, line := range append(f.above, f.lines...) {
				if columns(line) > max(2, width-1) { // "…" may take two
					t.Errorf("%d columns in %d: %q", columns(line), width, line)
				}
			}
			for _, r := range tab.rows {
				shown := strings.Contains(strings.Join(append(f.above, f.lines...), "\n"), fmt.Sprintf("%d  %.4s", r.number, r.name))
				if width > 60 && !shown && !strings.Contains(f.lines[len(f.lines)-1], "more: ") {
					t.Errorf("%d x %d: row %d is nowhere", width, height, r.number)
				}
			}
		}
	}
}

// What has ended scrolls away first, in its order, and what is at work is shown before
// what is queued; what is not shown is counted.
func TestTableOfMoreThanFits(t *testing.T) {
	tab := plainTable(nil)
	for i := range 10 {
		tab.rows = append(tab.rows, &row{number: i + 1, name: "demo", state: rowQueued})
	}
	numbers := func(lines []string) string {
		var b strings.Builder
		for _, line := range lines {
			fmt.Fprintf(&b, "%s,", strings.Fields(line)[0])
		}
		return b.String()
	}
	check := func(what, above, lines, last string) {
		t.Helper()
		f := tab.frame(80, 6, noon)
		if got := numbers(f.above); got != above {
			t.Errorf("%s: above %q, want %q", what, got, above)
		}
		if got := numbers(f.lines); got != lines {
			t.Errorf("%s: lines %q, want %q", what, got, lines)
		}
		if got := f.lines[len(f.lines)-1]; !strings.Contains(got, last) {
			t.Errorf("%s: the last line is %q, want %q", what, got, last)
		}
	}
	end := func(i int) {
		tab.rows[i-1].state = rowDone
		tab.scrolls = append(tab.scrolls, tab.rows[i-1])
	}
	check("all queued", "", "1,2,3,4,…,", "… and 6 more: 6 queued")
	tab.rows[8].state, tab.rows[9].state = rowRunning, rowWaiting
	tab.rows[9].asking = []string{"it"}
	check("the last ones are at work", "", "1,2,9,10,…,", "… and 6 more: 6 queued")
	end(9)
	end(3)
	check("two have ended", "9,3,", "1,2,4,10,…,", "… and 4 more: 4 queued")
	check("they are gone", "", "1,2,4,10,…,", "… and 4 more: 4 queued")
	for _, i := range []int{1, 2, 4, 5, 6} {
		end(i)
	}
	check("they fit again", "1,2,4,", "5,6,7,8,10,", "10  demo")
	if got := numbers(tab.rest(80, noon)); got != "5,6,7,8,10," {
		t.Errorf("the rest: %q", got)
	}
}

func TestTableHasColours(t *testing.T) {
	tab := plainTable(sampleRows())
	tab.colors = termenv.ANSI
	has(t, "the table", strings.Join(tab.frame(80, 24, noon).lines, "\n"),
		"\x1b[32mdone\x1b[0m ", "\x1b[36mrunning\x1b[0m ", "\x1b[31mfailed\x1b[0m ", "\x1b[33mcancelled\x1b[0m ", "  queued ")
}

func TestRowFinishes(t *testing.T) {
	number := func(n float64) *float64 { return &n }
	for _, tt := range []struct {
		name  string
		res   fanResult
		state rowState
		why   string
		tok   string
	}{
		{"completed", fanResult{Result: &subagent.Result{Stop: stopreason.Completed, Usage: &subagent.Usage{TotalTokens: number(950)}}}, rowDone, "", "950 tok"},
		{"of parts", fanResult{Result: &subagent.Result{Stop: stopreason.Completed, Usage: &subagent.Usage{InputTokens: number(1000), OutputTokens: number(500)}}}, rowDone, "", "1.5k tok"},
		{"half known", fanResult{Result: &subagent.Result{Stop: stopreason.Completed, Usage: &subagent.Usage{InputTokens: number(1000)}}}, rowDone, "", ""},
		{"a million", fanResult{Result: &subagent.Result{Stop: stopreason.Completed, Usage: &subagent.Usage{TotalTokens: number(2.5e6)}}}, rowDone, "", "2.5M tok"},
		{"no number of tokens", fanResult{Result: &subagent.Result{Stop: stopreason.Completed, Usage: &subagent.Usage{TotalTokens: number(-1)}}}, rowDone, "", ""},
		{"left something behind", fanResult{Result: &subagent.Result{Stop: stopreason.Completed, Error: &subagent.Error{Step: client.StepShutdown, Message: "a\x1bb"}}}, rowFailed, `shutdown: a\u{1b}b`, ""},
		{"denied", fanResult{Result: &subagent.Result{Stop: stopreason.Completed, Warnings: []string{"denied"}}, failed: true}, rowFailed, "denied", ""},
		{"refused", fanResult{Result: &subagent.Result{Stop: stopreason.Refusal}}, rowFailed, "the agent refused", ""},
		{"cut short", fanResult{Result: &subagent.Result{Stop: stopreason.MaxTokens}}, rowFailed, "the answer was cut short at the model's token limit", ""},
		{"cancelled", fanResult{Result: &subagent.Result{Stop: stopreason.Aborted}}, rowCancelled, "", ""},
		{"late", fanResult{Result: &subagent.Result{Stop: stopreason.Aborted, Error: &subagent.Error{Step: client.StepPrompt, Message: "late"}}}, rowFailed, "session/prompt: late", ""},
	} {
		r := row{}
		r.finish(&tt.res, noon)
		if r.state != tt.state || r.why != tt.why || r.tokens != tt.tok {
			t.Errorf("%s: %s %q %q", tt.name, r.state, r.why, r.tokens)
		}
	}
}

// The end of a message is kept, from where a character begins.
func TestRowKeepsTheEnd(t *testing.T) {
	var r row
	for range 1000 {
		r.said("日本語")
	}
	if text, _ := r.doing(); len(r.tail) > maxRowTail || !strings.HasSuffix("日本語日本語", text[len(text)-9:]) || strings.ContainsRune(r.tail, '\ufffd') {
		t.Errorf("%d bytes: %q", len(r.tail), r.tail)
	}
}
