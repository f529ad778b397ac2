package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// screenText is what a terminal shows, with what has scrolled away, once text was written
// to it: it knows as much of escape sequences as a table needs.
func screenText(t *testing.T, text string, height int) []string {
	t.Helper()
	lines, y, x := [][]rune{{}}, 0, 0
	escape := regexp.MustCompile(`^\x1b\[([0-9;]*)([A-Za-z])`)
	for text != "" {
		if m := escape.FindStringSubmatch(text); m != nil {
			text = text[len(m[0]):]
			switch m[2] {
			case "A":
				n, _ := strconv.Atoi(m[1])
				y = max(y-n, len(lines)-height, 0)
			case "K":
				lines[y] = lines[y][:min(x, len(lines[y]))]
			case "J":
				lines[y] = lines[y][:min(x, len(lines[y]))]
				for i := y + 1; i < len(lines); i++ {
					lines[i] = nil
				}
			case "m":
			default:
				t.Fatalf("an escape sequence that has no business here: %q", m[0])
			}
			continue
		}
		r := []rune(text)[0]
		text = text[len(string(r)):]
		switch r {
		case '\r':
			x = 0
		case '\n':
			if y++; y == len(lines) {
				lines = append(lines, nil)
			}
			x = 0 // as the terminal's own settings have it
		case '\x1b':
			t.Fatalf("a lone escape before %.40q", text)
		default:
			for len(lines[y]) <= x {
				lines[y] = append(lines[y], ' ')
			}
			lines[y][x] = r
			x++
		}
	}
	var out []string
	for _, line := range lines {
		out = append(out, strings.TrimRight(string(line), " "))
	}
	return out
}

var duration = regexp.MustCompile(`  +(\d+(\.\d+)?m?s|\d+m\d\ds)( |$)`)

// withoutTimes leaves out how long things took.
func withoutTimes(lines []string) []string {
	for i := range lines {
		lines[i] = duration.ReplaceAllString(lines[i], "  TIME$3")
	}
	return lines
}

func (tm *terminal) resize(rows, columns uint16) {
	control(tm.t, tm.master, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
	})
}

// fanOn starts errand fan on the terminal.
func (p *program) fanOn(tm *terminal, prompts []string, script string, flags ...string) *exec.Cmd {
	args := append([]string{"fan", "--prompts", p.promptFile(prompts...)}, flags...)
	cmd := p.command(append(args, scripted(p.t, script)...)...)
	tm.start(cmd)
	return cmd
}

// A line for each run, in its place, and the answers below.
func TestFanTable(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.Env = []string{"TERM=xterm"}
	tm := newTerminal(t)
	cmd := p.fanOn(tm, []string{"waits", `{"prompt": "quick \u001b]0;title\u0007", "name": "zwei\u001b[2J"}`, "crashes"}, fanScript)
	tm.await(`1  errand\.test +\x1b\[36mrunning\x1b\[0m +working on waits`)
	tm.await(`2  zwei\\u\{1b\}\[2J +\x1b\[32mdone\x1b\[0m +said quick \\u\{1b\}\]0;title`)
	tm.await(`3  errand\.test +\x1b\[31mfailed\x1b\[0m +session/prompt: the agent ended`)
	if err := os.WriteFile(filepath.Join(p.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	shown := tm.rest()
	if status := exitStatusOf(t, cmd); status != statusFailed {
		t.Errorf("status %d", status)
	}
	got := withoutTimes(screenText(t, shown, 24))
	want := []string{
		`1  errand.test   done       working on waits; done  TIME`,
		`2  zwei\u{1b}[2J  done       said quick \u{1b}]0;title\u{7}  TIME`,
		`3  errand.test   failed     session/prompt: the agent ended before it had…  TIME`,
		`== 1 errand.test: done ==`, `working on waits; done`, ``,
		`== 2 zwei\u{1b}[2J: done ==`, `said quick \u{1b}]0;title\u{7}`, ``,
	}
	for i := range want {
		want[i] = strings.Join(strings.Fields(want[i]), " ")
		got[i] = strings.Join(strings.Fields(got[i]), " ")
	}
	if diff := cmp.Diff(want[:2], got[:2]); diff != "" {
		t.Errorf("the table (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[3:], got[3:len(want)]); diff != "" {
		t.Errorf("the answers (-want +got):\n%s", diff)
	}
}

// Of more runs than there are lines each is there in the end, and the table was never
// larger than the terminal.
func TestFanTableOfMany(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.Env = []string{"TERM=xterm", "NO_COLOR=1"}
	tm := newTerminal(t)
	tm.resize(8, 60)
	var prompts []string
	for i := range 20 {
		prompts = append(prompts, fmt.Sprintf("quick %d", i+1))
	}
	prompts[4] = "waits"
	cmd := p.fanOn(tm, prompts, fanScript, "--jobs", "3")
	tm.await(`… and \d+ more: .*\d+ queued`)
	tm.await(`20  errand.test  done`)
	if err := os.WriteFile(filepath.Join(p.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	shown := tm.rest()
	if status := exitStatusOf(t, cmd); status != statusOK {
		t.Errorf("status %d", status)
	}
	for _, m := range regexp.MustCompile(`\x1b\[(\d+)A`).FindAllStringSubmatch(shown, -1) {
		if n, _ := strconv.Atoi(m[1]); n > 7 {
			t.Errorf("the table had %d lines", n)
		}
	}
	if strings.Contains(shown, "\x1b[3") {
		t.Error("there are colours")
	}
	final := strings.Join(screenText(t, shown, 8), "\n")
	table, _, _ := strings.Cut(final, "== ")
	for i := range 20 {
		if n := len(regexp.MustCompile(fmt.Sprintf(`(?m)^ ?%d  errand\.test  done `, i+1)).FindAllString(table, -1)); n != 1 {
			t.Errorf("run %d is there %d times", i+1, n)
		}
	}
	if strings.Contains(final, " more: ") || strings.Count(final, "== ") != 20 {
		t.Errorf("in the end there is:\n%s", final)
	}
}

// A terminal of another size gets lines of another length.
func TestFanTableIsResized(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.Env = []string{"TERM=xterm", "NO_COLOR=1"}
	tm := newTerminal(t)
	cmd := p.fanOn(tm, []string{"waits " + strings.Repeat("long ", 40), "waits", "waits"}, fanScript)
	tm.await(`(?s)running +working.*running +working.*running +working`)
	before := tm.shown.Len()
	tm.resize(3, 40)
	for !strings.Contains(tm.shown.String()[before:], "… and 2 more: 2 running") {
		if !tm.read() {
			t.Fatalf("it is not drawn anew:\n%q", tm.shown.String()[before:])
		}
	}
	after := tm.shown.Len()
	if err := os.WriteFile(filepath.Join(p.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tm.rest()
	if status := exitStatusOf(t, cmd); status != statusOK {
		t.Errorf("status %d", status)
	}
	table, _, _ := strings.Cut(tm.shown.String()[before:after], "… and 2 more")
	table = table[strings.LastIndex(table, "\r"):]
	for line := range strings.Lines(table) {
		if n := columns(strings.NewReplacer("\x1b[K", "", "\r", "", "\n", "", "\x1b[J", "").Replace(line)); n > 39 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}

// A terminal that understands no escape sequences gets lines.
func TestFanOnADumbTerminal(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.Env = []string{"TERM=dumb"}
	tm := newTerminal(t)
	cmd := p.fanOn(tm, []string{"quick", "quick"}, fanScript)
	shown := tm.rest()
	if status := exitStatusOf(t, cmd); status != statusOK || strings.Contains(shown, "\x1b") {
		t.Errorf("status %d:\n%q", status, shown)
	}
	has(t, "the terminal", shown, "1 errand.test: started\n", "2 errand.test: done in ", "== 1 errand.test: done ==\nsaid quick\n", "errand: 2 of 2 completed\n")
}

// The questions of several runs come one after the other, and the table is out of the way.
func TestFanAsks(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.Env = []string{"TERM=xterm", "NO_COLOR=1"}
	tm := newTerminal(t)
	cmd := p.fanOn(tm, []string{`{"prompt": "a", "name": "Anna"}`, `{"prompt": "b", "name": "Bert"}`, `{"prompt": "c", "name": "Cleo"}`}, `
on session/prompt "c"
  text "nothing to ask"
  wait file go
  stop end_turn
on session/prompt
  permission call-1 "Do $prompt" kind=edit path=${prompt}.txt
    option no reject_once "No"
    option ok allow_once "Yes"
    when allowed
      text "did $prompt"
    when other
      text "did not do $prompt"
  end
  stop end_turn
`, "--permission", "ask")
	for i := range 2 {
		tm.await(strings.Repeat("(?s)asks for permission.*", i+1) + `Answer y or n within \S+; Ctrl-C cancels all runs: `)
		for n := 1; i == 0 && n < 200; n++ { // which takes longer than until the next tick
			asked := strings.Count(tm.shown.String(), "Ctrl-C cancels all runs: ")
			tm.types("?\n")
			for strings.Count(tm.shown.String(), "Ctrl-C cancels all runs: ") == asked && tm.read() {
			}
		}
		if n := strings.Count(tm.shown.String(), "asks for permission"); n != i+1 {
			t.Errorf("%d questions, want %d:\n%q", n, i+1, &tm.shown)
		}
		if asked := tm.shown.String(); strings.Contains(asked[strings.LastIndex(asked, "asks for permission"):], "\x1b[") {
			t.Errorf("the table is in the question:\n%q", asked)
		}
		tm.types("y\n")
	}
	tm.await(`3  Cleo  running +nothing to ask`)
	if err := os.WriteFile(filepath.Join(p.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	shown := tm.rest()
	if status := exitStatusOf(t, cmd); status != statusOK {
		t.Errorf("status %d", status)
	}
	final := strings.Join(screenText(t, shown, 24), "\n")
	has(t, "the terminal", final, "errand: 1 Anna asks for permission.", "errand: 2 Bert asks for permission.", "did a\n", "did b\n", "nothing to ask\n")
}

// Whoever has pressed Ctrl-C is told what that does, above the table.
func TestFanTableIsCancelled(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.Env = []string{"TERM=xterm", "NO_COLOR=1"}
	tm := newTerminal(t)
	args := append([]string{"fan", "--prompts", p.promptFile("hangs", "hangs")}, scripted(t, fanScript)...)
	cmd := p.command(args...)
	tm.controlled(cmd)
	tm.await(`(?s)running +so far.*running +so far`)
	tm.types("\x03")
	shown := tm.rest()
	if status := exitStatusOf(t, cmd); status != 130 {
		t.Errorf("status %d", status)
	}
	final := strings.Join(screenText(t, shown, 24), "\n")
	has(t, "the terminal", final, "errand: cancelling; interrupt once more to kill\n1  errand.test  cancelled  so far",
		"== 1 errand.test: cancelled ==\nso far\n", "errand: 0 of 2 completed, 2 cancelled: interrupt\n")
}
