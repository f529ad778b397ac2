package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo-terminal with what was shown on it so far.
type terminal struct {
	t      *testing.T
	master *os.File
	slave  *os.File
	shown  bytes.Buffer
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine has no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	var n int
	control(t, master, func(fd int) (err error) {
		if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		n, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		return err
	})
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	control(t, slave, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	})
	return &terminal{t: t, master: master, slave: slave}
}

func control(t *testing.T, f *os.File, do func(fd int) error) {
	t.Helper()
	c, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var inner error
	if err := c.Control(func(fd uintptr) { inner = do(int(fd)) }); err != nil || inner != nil {
		t.Fatal(err, inner)
	}
}

// start starts cmd on the terminal, with whatever of its streams is not set.
func (tm *terminal) start(cmd *exec.Cmd) {
	tm.t.Helper()
	if cmd.Stdin == nil {
		cmd.Stdin = tm.slave
	}
	if cmd.Stdout == nil {
		cmd.Stdout = tm.slave
	}
	if cmd.Stderr == nil {
		cmd.Stderr = tm.slave
	}
	if err := cmd.Start(); err != nil {
		tm.t.Fatal(err)
	}
	tm.slave.Close() // so that the reading ends with the program
}

// await reads until the pattern was shown.
func (tm *terminal) await(pattern string) {
	tm.t.Helper()
	for re := regexp.MustCompile(pattern); !re.Match(tm.shown.Bytes()); {
		if !tm.read() {
			tm.t.Fatalf("%s was not shown:\n%q", pattern, &tm.shown)
		}
	}
}

// rest reads to the end and returns everything that was shown.
func (tm *terminal) rest() string {
	for tm.read() {
	}
	return strings.ReplaceAll(tm.shown.String(), "\r\n", "\n")
}

func (tm *terminal) read() bool {
	var buf [4096]byte
	n, err := tm.master.Read(buf[:])
	tm.shown.Write(buf[:n])
	return err == nil // EIO once nobody has the other end
}

// exitStatusOf waits for cmd.
func exitStatusOf(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	err := cmd.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

const stopAndGo = `
on session/prompt
  text "first words, "
  wait file go
  text "last words"
  tool call-1 "Read it" status=completed
  stop end_turn
`

func TestTerminalStreams(t *testing.T) {
	p := newProgram(t)
	p.Env = []string{"TERM=xterm"}
	tm := newTerminal(t)
	cmd := p.command(append([]string{"run", "hi"}, scripted(t, stopAndGo)...)...)
	tm.start(cmd)
	tm.await("first words, ") // although the agent has more to say
	if err := os.WriteFile(filepath.Join(p.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	shown := tm.rest()
	if status := exitStatusOf(t, cmd); status != statusOK {
		t.Errorf("status %d", status)
	}
	has(t, "the terminal", shown, "first words, last words\n", "\x1b[36mtool:\x1b[0m Read it: completed\n")
	if strings.Count(shown, "last words") != 1 {
		t.Errorf("the answer is shown twice:\n%q", shown)
	}
}

func TestTerminalSpins(t *testing.T) {
	const silent = "on session/prompt\n  wait file go\n  text done\n  stop end_turn\n"
	spin := regexp.MustCompile(`\r[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] errand\.test working \d+s\x1b\[K`)
	p := newProgram(t)
	p.Env = []string{"TERM=xterm"}
	tm := newTerminal(t)
	cmd := p.command(append([]string{"run", "hi"}, scripted(t, silent)...)...)
	tm.start(cmd)
	tm.await(spin.String())
	if err := os.WriteFile(filepath.Join(p.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	shown := tm.rest()
	exitStatusOf(t, cmd)
	// It leaves nothing behind.
	if after := spin.ReplaceAllString(shown, ""); after != "\r\x1b[Kdone\n" {
		t.Errorf("beside the spinner the terminal has %q", after)
	}
}

func TestTerminalWithoutColours(t *testing.T) {
	for _, tt := range []struct {
		env    string
		escape string // what must not be there
	}{{"TERM=xterm NO_COLOR=1", "\x1b[3"}, {"TERM=dumb", "\x1b"}, {"", "\x1b"}} {
		t.Run(tt.env, func(t *testing.T) {
			p := newProgram(t)
			p.Env = strings.Fields(tt.env)
			tm := newTerminal(t)
			cmd := p.command("run", "--agent", "demo", "hi")
			tm.start(cmd)
			shown := tm.rest()
			exitStatusOf(t, cmd)
			has(t, "the terminal", shown, "You said: “hi”", "tool: Write errand-demo.txt\n", "permission: Write errand-demo.txt: denied")
			if strings.Contains(shown, tt.escape) {
				t.Errorf("%q is on the terminal:\n%q", tt.escape, shown)
			}
		})
	}
}

// C22: what is streamed is neutralised too, however it is cut.
func TestC22StreamedAnswer(t *testing.T) {
	p := newProgram(t)
	p.Env = []string{"TERM=dumb"}
	tm := newTerminal(t)
	cmd := p.command(append([]string{"run", "hi"}, scripted(t, `
on session/prompt
  text "a\u001b"
  text "]52;c;AA==\u0007"
  text "\u202eb\u009b"
  stop end_turn
`)...)...)
	tm.start(cmd)
	if shown := tm.rest(); shown != `a\u{1b}]52;c;AA==\u{7}\u{202e}b\u{9b}`+"\n" {
		t.Errorf("the terminal shows %q", shown)
	}
	exitStatusOf(t, cmd)
}

// With no agent named it is the demo, where somebody looks on and is told so.
func TestTerminalFallsBackToTheDemo(t *testing.T) {
	p := newProgram(t)
	tm := newTerminal(t)
	cmd := p.command("run", "hi")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	tm.start(cmd)
	has(t, "the terminal", tm.rest(), "You said: “hi”")
	if status := exitStatusOf(t, cmd); status != statusOK {
		t.Errorf("status %d", status)
	}
	if n := strings.Count(stderr.String(), demoNote); n != 1 {
		t.Errorf("it is said %d times:\n%s", n, &stderr)
	}

	tm = newTerminal(t)
	cmd = p.command("run", "--json", "hi")
	cmd.Stderr = &bytes.Buffer{}
	tm.start(cmd)
	res := outcome{stdout: tm.rest()}.result(t)
	exitStatusOf(t, cmd)
	if len(res.Warnings) != 1 || res.Warnings[0] != demoNote {
		t.Errorf("warnings %q", res.Warnings)
	}
}

// Where stdout is piped it is plain, whatever stderr is.
func TestTerminalForProgressOnly(t *testing.T) {
	p := newProgram(t)
	p.Env = []string{"TERM=xterm"}
	tm := newTerminal(t)
	cmd := p.command("run", "--agent", "demo", "hi")
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	tm.start(cmd)
	has(t, "the terminal", tm.rest(), "\x1b[36mtool:\x1b[0m Write")
	exitStatusOf(t, cmd)
	if got := stdout.String(); strings.Contains(got, "\x1b") || !strings.HasPrefix(got, "You did not allow it") {
		t.Errorf("stdout %q", got)
	}
}

func TestTerminalHasNoPrompt(t *testing.T) {
	p := newProgram(t)
	tm := newTerminal(t)
	cmd := p.command("run", "--agent", "demo")
	tm.start(cmd)
	has(t, "the terminal", tm.rest(), "there is no PROMPT")
	if status := exitStatusOf(t, cmd); status != statusUsage {
		t.Errorf("status %d", status)
	}
}

func TestTerminalSaysThatItCancels(t *testing.T) {
	p := newProgram(t)
	p.Env = []string{"TERM=xterm"}
	tm := newTerminal(t)
	cmd := p.command(append([]string{"run", "hi"}, scripted(t, "on session/prompt\n  text ready\n  wait cancel\n  wait file go\n  stop cancelled\n")...)...)
	tm.start(cmd)
	tm.await("ready")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	tm.await("ready\r\nerrand: cancelling; interrupt once more to kill")
	if err := os.WriteFile(filepath.Join(p.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	has(t, "the terminal", tm.rest(), "errand: cancelled: interrupt\n")
	if status := exitStatusOf(t, cmd); status != 130 {
		t.Errorf("status %d", status)
	}
}

// While the agent is waited for to stop, that is what is said.
func TestTerminalSaysThatItStops(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		args         []string
		shows        string // before the spinner
		status       int
	}{
		{"after the answer", "on session/prompt\ntext done\nstop end_turn\non eof\nwait file go\n", nil, "done\r\n", statusOK},
		{"after the start timeout", "on initialize\nnever reply\non eof\nwait file go\n", []string{"--start-timeout", "1s"}, "", statusTimeout},
		{"after the timeout", "on initialize\nnever reply\non eof\nwait file go\n", []string{"--timeout", "1s"}, "", statusTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t)
			p.Env = []string{"TERM=xterm"}
			tm := newTerminal(t)
			cmd := p.command(append(append([]string{"run", "hi", "--eof-grace", "1h"}, tt.args...), scripted(t, tt.script)...)...)
			tm.start(cmd)
			tm.await(tt.shows + `[^\n]*errand\.test stopping \d+s`)
			if err := os.WriteFile(filepath.Join(p.Dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			tm.rest()
			if status := exitStatusOf(t, cmd); status != tt.status {
				t.Errorf("status %d, want %d", status, tt.status)
			}
		})
	}
}

// What kills at once does not say how to kill.
func TestTerminalSaysThatItKills(t *testing.T) {
	p := newProgram(t)
	p.Env = []string{"TERM=xterm"}
	tm := newTerminal(t)
	cmd := p.command(append([]string{"run", "hi"}, scripted(t, "on session/prompt\n  text ready\n  wait forever\n")...)...)
	tm.start(cmd)
	tm.await("ready")
	if err := cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	shown := tm.rest()
	has(t, "the terminal", shown, "errand: killing\n", "errand: cancelled: quit\n", "  it took SIGKILL to end errand.test\n")
	if strings.Contains(shown, "once more") {
		t.Errorf("the terminal shows %q", shown)
	}
	if status := exitStatusOf(t, cmd); status != 131 {
		t.Errorf("status %d", status)
	}
}
