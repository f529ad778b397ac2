package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// heedful notes the signals that reach it, and ends its turn when it is cancelled.
const heedful = `
on signal INT
  write heard
on signal QUIT
  write heard
on signal HUP
  write heard
on session/prompt
  text ready
  wait cancel
  text " and cancelled"
  stop cancelled
`

// controlled starts cmd as the leader of a session that the terminal controls.
func (tm *terminal) controlled(cmd *exec.Cmd) {
	catchSignals(tm.t)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	tm.start(cmd)
}

func (tm *terminal) mode() (mode unix.Termios) {
	control(tm.t, tm.master, func(fd int) error {
		m, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err == nil {
			mode = *m
		}
		return err
	})
	return mode
}

// What is typed reaches the program and not the agent, and the terminal is left as it
// was, the cursor at the beginning of a line.
func TestTerminalKeys(t *testing.T) {
	for key, want := range map[string]int{"\x03": 130, "\x03\x03": 130, "\x1c": 131} {
		for _, flag := range []string{"", "--json", "--events", "--quiet"} {
			p := newProgram(t)
			p.Env = []string{"TERM=xterm"}
			tm := newTerminal(t)
			before := tm.mode()
			args := []string{"run", "hi"}
			if flag != "" {
				args = append(args, flag)
			}
			cmd := p.command(append(args, scripted(t, "on session/new\n  write now\n"+heedful)...)...)
			tm.controlled(cmd)
			p.awaitFile("now") // the signals are watched since before the agent was started
			if _, err := tm.master.WriteString(key); err != nil {
				t.Fatal(err)
			}
			shown := tm.rest()
			if status := exitStatusOf(t, cmd); status != want {
				t.Errorf("%q %s: status %d, want %d\n%q", key, flag, status, want, shown)
			}
			if exists(p.Dir, "heard") {
				t.Errorf("%q %s: the agent got the signal too", key, flag)
			}
			if d := cmp.Diff(before, tm.mode()); d != "" {
				t.Errorf("%q %s: the terminal's mode has changed (-before +after):\n%s", key, flag, d)
			}
			if shown != "" && !strings.HasSuffix(shown, "\n") {
				t.Errorf("%q %s: the cursor is within a line:\n%q", key, flag, shown)
			}
		}
	}
}

// A terminal that hangs up ends the run, also one that does not control the program and
// sends it no signal, unless it is not to mind: see nohup.
func TestTerminalHangsUp(t *testing.T) {
	for _, controls := range []bool{true, false} {
		for _, flag := range []string{"--quiet", "--json"} {
			p := newProgram(t)
			tm := newTerminal(t)
			cmd := p.command(append([]string{"run", flag, "hi"}, scripted(t, "on session/prompt\n  write now\n  wait cancel\n  write cancelled\n  stop cancelled\n")...)...)
			if controls {
				tm.controlled(cmd)
			} else {
				catchSignals(t)
				tm.start(cmd)
			}
			p.awaitFile("now")
			tm.master.Close()
			if status := exitStatusOf(t, cmd); status != statusSIGHUP || !exists(p.Dir, "cancelled") {
				t.Errorf("%s, in control %v: status %d, cancelled %v", flag, controls, status, exists(p.Dir, "cancelled"))
			}
		}
	}
}

// A run that is not to mind a hang-up goes on after it.
func TestTerminalHangsUpAndNobodyMinds(t *testing.T) {
	p := newProgram(t)
	tm := newTerminal(t)
	cmd := p.command(append([]string{"run", "--json", "hi"}, scripted(t, "on session/prompt\n  write now\n  wait file go\n  write done\n  stop end_turn\n")...)...)
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	tm.start(cmd)
	p.awaitFile("now")
	tm.master.Close()
	if err := os.WriteFile(filepath.Join(p.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// There is nowhere to print it any more but stderr.
	if status := exitStatusOf(t, cmd); status != statusFailed || !exists(p.Dir, "done") {
		t.Errorf("status %d\n%s", status, &stderr)
	}
	has(t, "stderr", stderr.String(), "input/output error", `"stop":"completed"`)
}

// A file that may not grow any more is a full disk: the result is not lost, and the
// signal that comes with it ends nobody.
func TestL19FileTooLarge(t *testing.T) {
	for _, flag := range []string{"--json", "--events", "--quiet"} {
		p := newProgram(t)
		cmd := p.command(append([]string{"run", flag, "hi"}, scripted(t, "on session/prompt\n  text size=5KB\n  text \"the dear answer\"\n  stop end_turn\n")...)...)
		cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `ulimit -f 1; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
		file, err := os.Create(filepath.Join(p.Dir, "stdout"))
		if err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = file, &stderr
		cmd.Run()
		file.Close()
		if status := cmd.ProcessState.ExitCode(); status != statusFailed {
			t.Errorf("%s: status %d", flag, status)
		}
		has(t, "stderr", stderr.String(), "file too large", "the dear answer")
	}
}

// A socket whose other end is gone is a closed stdout, whether anything is written or
// not.
func TestClosedSocket(t *testing.T) {
	for name, script := range map[string]string{
		"silent":   "on session/prompt\n  write now\n  wait cancel\n  stop cancelled\n",
		"flooding": "on session/prompt\n  write now\n  repeat forever\n    text size=1KB\n  end\n",
	} {
		t.Run(name, func(t *testing.T) {
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
			p := newProgram(t)
			cmd := p.command(append([]string{"run", "--events", "hi"}, scripted(t, script)...)...)
			var stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = theirs, &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			theirs.Close()
			p.awaitFile("now")
			ours.Close()
			if status := exitStatusOf(t, cmd); status != statusSIGPIPE {
				t.Errorf("status %d\n%s", status, &stderr)
			}
		})
	}
}
