//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// session is a run of the program under way, with --events.
type session struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout *bufio.Reader
	pipe   *os.File // stdout's reading end
	stderr bytes.Buffer
}

// start starts the program in a process group of its own.
func (p *program) start(args ...string) *session {
	p.t.Helper()
	catchSignals(p.t)
	r, w, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	s := &session{t: p.t, cmd: p.command(args...), pipe: r, stdout: bufio.NewReader(r)}
	s.cmd.Stdout, s.cmd.Stderr = w, &s.stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	w.Close()
	p.t.Cleanup(func() { r.Close() })
	return s
}

// catchSignals sees to it that no signal is ignored in the programs that are started
// because it is here, under nohup or in a shell's background: one that is caught is not.
func catchSignals(t *testing.T) {
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		c := make(chan os.Signal, 1)
		signal.Notify(c, s)
		t.Cleanup(func() { signal.Stop(c) })
	}
}

// await reads events until an update has text in it.
func (s *session) await(text string) {
	s.t.Helper()
	for {
		line, err := s.stdout.ReadString('\n')
		if err != nil {
			s.t.Fatalf("no update with %q: %v\n%s", text, err, &s.stderr)
		}
		if strings.HasPrefix(line, `{"type":"update"`) && strings.Contains(line, text) {
			return
		}
	}
}

// signal sends one to the program's whole group, as a terminal does.
func (s *session) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := syscall.Kill(-s.cmd.Process.Pid, sig); err != nil {
		s.t.Fatal(err)
	}
}

// end reads what is left and returns the status and the result.
func (s *session) end() (int, *subagent.Result) {
	s.t.Helper()
	rest, err := io.ReadAll(s.stdout)
	if err != nil {
		s.t.Fatal(err)
	}
	var res *subagent.Result
	for line := range strings.Lines(string(rest)) {
		var e subagent.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			s.t.Fatalf("%v: %s", err, line)
		}
		if e.Result != nil {
			res = e.Result
		}
	}
	return s.status(), res
}

// status waits for the program, reading nothing more of it.
func (s *session) status() int {
	s.t.Helper()
	s.cmd.Wait()
	code := s.cmd.ProcessState.ExitCode()
	if code < 0 {
		s.t.Fatalf("the program ended with %v\n%s", s.cmd.ProcessState, &s.stderr)
	}
	return code
}

// polite ends its turn when it is cancelled, and says so.
const polite = `
record wire.log
on session/prompt
  text ready
  write now
  wait cancel
  text " and cancelled"
  stop cancelled
`

// hostile ignores everything but SIGKILL, and so do its helpers, of which one has
// left its group and session.
const hostile = `
ignore TERM
ignore INT
ignore HUP
ignore QUIT
on session/prompt
  spawn
    ignore TERM
    ignore HUP
    write helper
    wait forever
  end
  spawn session
    ignore TERM
    write stray
    wait forever
  end
  wait file helper
  wait file stray
  text ready
  write now
  wait cancel
  write cancelled
  wait forever
on eof
  wait forever
`

// L18: a signal cancels the run, and nothing of it is alive afterwards.
func testL18Signals(t *testing.T) {
	for sig, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		t.Run(sig.String(), func(t *testing.T) {
			p := newProgram(t)
			s := p.start(append([]string{"run", "--events", "hi"}, scripted(t, polite)...)...)
			s.await("ready")
			s.signal(sig)
			status, res := s.end()
			if status != want {
				t.Errorf("status %d, want %d\n%s", status, want, &s.stderr)
			}
			if res == nil || res.Stop != stopreason.Aborted || res.Error != nil || res.Output != "ready and cancelled" {
				t.Fatalf("result %+v", res)
			}
			has(t, "what the agent read", readFile(t, p.Dir, "wire.log"), `"session/cancel"`)
			has(t, "stderr", s.stderr.String(), "cancelled: "+sig.String())
		})
	}
}

// L18: the second signal does not wait for anybody's grace, and SIGQUIT is one by itself.
func testL18SecondSignalKills(t *testing.T) {
	for _, signals := range [][]syscall.Signal{{syscall.SIGINT, syscall.SIGTERM}, {syscall.SIGQUIT}} {
		t.Run(fmt.Sprint(signals), func(t *testing.T) {
			p := newProgram(t)
			s := p.start(append([]string{"run", "--events", "--cancel-grace", "1h", "--eof-grace", "1h", "--term-grace", "1h", "hi"}, scripted(t, hostile)...)...)
			s.await("ready")
			for i, sig := range signals {
				if i > 0 {
					p.awaitFile("cancelled") // two signals at once have no order
				}
				s.signal(sig)
			}
			status, res := s.end()
			if status != 128+int(signals[0]) || res == nil || res.Stop != stopreason.Aborted || res.RunID == "" ||
				res.Exit == nil || res.Exit.Signal == nil || *res.Exit.Signal != "SIGKILL" {
				t.Errorf("status %d, result %+v\n%s", status, res, &s.stderr)
			}
		})
	}
}

// L18: a second signal kills an agent that is being started, too.
func testL18SecondSignalKillsTheStart(t *testing.T) {
	p := newProgram(t)
	s := p.start(append([]string{"run", "--events", "--eof-grace", "1h", "--term-grace", "1h", "hi"}, scripted(t, `
ignore TERM
on session/new
  spawn session
    ignore TERM
    write stray
    wait forever
  end
  wait file stray
  write asked
  wait forever
on eof
  write closing
  wait forever
`)...)...)
	p.awaitFile("asked")
	s.signal(syscall.SIGINT)
	p.awaitFile("closing")
	s.signal(syscall.SIGINT)
	if status, res := s.end(); status != 130 || res == nil || res.Stop != stopreason.Aborted || res.RunID == "" {
		t.Errorf("status %d, result %+v\n%s", status, res, &s.stderr)
	}
}

// Nothing is started by a run that is cancelled while it still reads its prompt.
func TestSignalWhileThePromptIsRead(t *testing.T) {
	p := newProgram(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	p.Stdin = r
	fifo := filepath.Join(p.Dir, "env")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	s := p.start("run", "--events", "--env-file", fifo, "--", "touch", filepath.Join(p.Dir, "started"))
	r.Close()
	// Once the variables are read, the signals are watched and the prompt is next.
	if err := os.WriteFile(fifo, []byte("A=1\n"), 0); err != nil {
		t.Fatal(err)
	}
	s.signal(syscall.SIGINT)
	status, res := s.end()
	if status != 130 || res == nil || res.Stop != stopreason.Aborted || exists(p.Dir, "started") {
		t.Errorf("status %d, result %+v, started: %v", status, res, exists(p.Dir, "started"))
	}
}

// A signal that was ignored from the start stays so: nohup means it.
func TestIgnoredSignalStaysIgnored(t *testing.T) {
	p := newProgram(t)
	cmd := p.command(append([]string{"run", "--json", "hi"}, scripted(t, `
on session/prompt
  text "$ppid"
  write asked
  wait file go
  stop end_turn
`)...)...)
	// A shell that ignores SIGHUP hands that on.
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.awaitFile("asked")
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, &stdout)
	}
}

// A program that was stopped (Ctrl-Z) for longer than the agent may be idle goes on
// with what the agent said meanwhile.
func TestStoppedAndContinued(t *testing.T) {
	p := newProgram(t)
	cmd := p.command(append([]string{"run", "--json", "--idle-timeout", "3s", "hi"}, scripted(t, `
on session/prompt
  write now
  repeat 60
    text "."
    wait 100ms
  end
  stop end_turn
`)...)...)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.awaitFile("now")
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Second) // that it stands still for so long is the test
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if res := (outcome{stdout: stdout.String()}).result(t); res.Stop != stopreason.Completed || len(res.Output) != 60 {
		t.Errorf("stop %q, error %v, output %q", res.Stop, res.Error, res.Output)
	}
}
