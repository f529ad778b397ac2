package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const asksAndTells = `
on session/prompt
  text "before"
  permission call-1 "Do \u001b[31mit" kind=edit path=a.txt
    option no reject_once "Yes"
    option ok allow_once "No"
    when allowed
      text "done"
    when cancelled
      text "cancelled"
    when other
      text "refused"
  end
  stop end_turn
`

// onTerminal makes the terminal the one that controls the program.
func onTerminal(cmd *exec.Cmd, tm *terminal) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	cmd.ExtraFiles = []*os.File{tm.slave}
}

func TestPermissionAsk(t *testing.T) {
	for typed, says := range map[string]string{"y\n": "done\n", "n\n": "refused\n"} {
		t.Run(says, func(t *testing.T) {
			p := newProgram(t)
			p.Env = []string{"TERM=xterm"}
			tm := newTerminal(t)
			cmd := p.command(append([]string{"run", "--permission", "ask", "hi"}, scripted(t, asksAndTells)...)...)
			tm.start(cmd)
			tm.await(prompts)
			tm.types(typed)
			shown := tm.rest()
			if status := exitStatusOf(t, cmd); status != statusOK {
				t.Errorf("status %d", status)
			}
			has(t, "the terminal", shown, "before\n", "\nerrand: errand.test asks for permission.", `title            | Do \u{1b}[31mit`,
				"/a.txt\n", "  y  allow once    | No\n  n  reject once   | Yes\n", says)
		})
	}
}

// The streams may be anything where a terminal controls the program.
func TestPermissionAskBesideItsStreams(t *testing.T) {
	p := newProgram(t)
	tm := newTerminal(t)
	cmd := p.command(append([]string{"run", "--json", "--permission", "ask"}, scripted(t, asksAndTells)...)...)
	var stdout, stderr strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("y\n"), &stdout, &stderr // which is the PROMPT
	onTerminal(cmd, tm)
	tm.start(cmd)
	tm.await(prompts)
	tm.types("n\n")
	tm.rest()
	if status := exitStatusOf(t, cmd); status != statusOK {
		t.Errorf("status %d: %s", status, &stderr)
	}
	res := outcome{stdout: stdout.String()}.result(t)
	if res.Output != "beforerefused" && res.Output != "refused" || len(res.Permissions) != 1 || res.Permissions[0].Rule != "ask" {
		t.Errorf("output %q, permissions %+v", res.Output, res.Permissions)
	}
}

// Ctrl-C takes the question away and cancels the run.
func TestPermissionAskIsCancelled(t *testing.T) {
	p := newProgram(t)
	p.Env = []string{"TERM=xterm"}
	tm := newTerminal(t)
	cmd := p.command(append([]string{"run", "--permission", "ask", "hi"}, scripted(t, asksAndTells)...)...)
	onTerminal(cmd, tm)
	tm.start(cmd)
	tm.await(prompts)
	tm.types("y\x03")
	shown := tm.rest()
	if status := exitStatusOf(t, cmd); status != 130 {
		t.Errorf("status %d", status)
	}
	has(t, "the terminal", shown, "\nerrand: the question is off: cancelled, or taken back by the agent\n", "errand: cancelling", "errand: cancelled: interrupt")
	if strings.Contains(shown, ": allowed") {
		t.Errorf("it was allowed:\n%s", shown)
	}
}

func TestPermissionAskNeedsATerminal(t *testing.T) {
	p := newProgram(t)
	for name, stdin := range map[string]string{"the PROMPT": "hi", "an answer": "y\n"} {
		t.Run(name, func(t *testing.T) {
			cmd := p.command(append([]string{"run", "--permission", "ask"}, scripted(t, "on initialize\nwrite started x\n")...)...)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // and no terminal any more
			var stderr strings.Builder
			cmd.Stdin, cmd.Stderr = strings.NewReader(stdin), &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if status := exitStatusOf(t, cmd); status != statusUsage {
				t.Errorf("status %d", status)
			}
			has(t, "stderr", stderr.String(), "--permission ask needs a terminal to ask on: stdin and stderr are none, and /dev/tty cannot be opened")
			if exists(p.Dir, "started") {
				t.Error("the agent was started")
			}
		})
	}
}

// Questions of runs that share a terminal come one after the other.
func TestPermissionAskBySeveralRuns(t *testing.T) {
	tm := newTerminal(t)
	p := newProgram(t)
	const agent = `
on session/prompt
  permission call-1 "Do it" kind=edit path=a.txt
    option no reject_once "No"
    option ok allow_once "Yes"
    when allowed
      write allowed-$prompt x
  end
  stop end_turn
`
	slave := tm.slave
	var runs []*exec.Cmd
	for _, prompt := range []string{"one", "two"} {
		cmd := p.command(append([]string{"run", "--quiet", "--permission", "ask", prompt}, scripted(t, agent)...)...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, cmd)
	}
	slave.Close()
	tm.await(prompts)
	tm.types("?\n")
	tm.await("(?s)" + prompts + ".*" + prompts)
	if n := strings.Count(tm.shown.String(), "asks for permission"); n != 1 {
		t.Errorf("%d questions at once:\n%s", n, &tm.shown)
	}
	tm.types("y\n")
	tm.await("(?s)asks for permission.*asks for permission.*" + prompts)
	tm.types("y\n")
	tm.rest()
	for _, cmd := range runs {
		if status := exitStatusOf(t, cmd); status != statusOK {
			t.Errorf("status %d", status)
		}
	}
	for _, prompt := range []string{"one", "two"} {
		if _, err := os.Stat(filepath.Join(p.Dir, "allowed-"+prompt)); err != nil {
			t.Error(err)
		}
	}
}
