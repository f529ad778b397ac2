//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// moments are the points of a run's life at which a signal can come. Its agent writes
// the file now, and the helpers that it has do not go by themselves.
var moments = []struct {
	name, script string
	complete     bool // the turn is over, and the signal changes nothing of it
}{
	{name: "initialize is pending", script: "on initialize\n  write now\n  never reply\n"},
	{name: "session/new is pending, with a helper elsewhere", script: `
on session/new
  spawn session
    ignore TERM
    write helper
    wait forever
  end
  wait file helper
  write now
  wait forever
`},
	{name: "the agent is silent", script: "on session/prompt\n  text \"some\"\n  write now\n  wait forever\n"},
	{name: "the agent floods", script: `
on session/prompt
  repeat 50
    text size=1KB
  end
  write now
  repeat forever
    text size=10KB
  end
`},
	{name: "a tool call is open, and stderr busy", script: `
on session/prompt
  tool call-1 "Delete everything" status=in_progress
  write now
  repeat forever
    stderr "deleting\n"
    wait 1ms
  end
`},
	{name: "the agent is deaf", script: `
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
  text "some"
  write now
  wait cancel
  wait forever
on eof
  wait forever
`},
	{name: "the agent dies of the cancel", script: "on session/prompt\n  text \"some\"\n  write now\n  wait cancel\n  raise SEGV\n"},
	{name: "the agent closes", complete: true, script: `
ignore TERM
on session/prompt
  spawn session
    ignore TERM
    write helper
    wait forever
  end
  wait file helper
  text "the answer"
  stop end_turn
on eof
  write now
  wait forever
`},
}

// Whatever a signal finds the program at, in whatever form it prints: the status is the
// signal's, the output whole, and nothing is alive afterwards. Each moment meets each
// signal, in one form after the other.
func TestSignalAtEachMoment(t *testing.T) {
	valid := resultValidator(t)
	forms := []string{"--json", "--events", "--quiet", ""}
	for i, m := range moments {
		for j, signals := range [][]syscall.Signal{
			{syscall.SIGINT}, {syscall.SIGTERM}, {syscall.SIGHUP}, {syscall.SIGQUIT},
			{syscall.SIGINT, syscall.SIGINT}, {syscall.SIGTERM, syscall.SIGTERM, syscall.SIGTERM},
		} {
			form := forms[(i+j)%len(forms)]
			name := m.name
			for _, s := range signals {
				name += " " + s.String()
			}
			t.Run(strings.TrimSpace(name+" "+form), func(t *testing.T) {
				t.Parallel()
				p := newProgram(t)
				cmd, stdout, stderr := p.begin(form, m.script)
				p.awaitFile("now")
				for _, s := range signals {
					cmd.Process.Signal(s) // it may be over after the first
				}
				cmd.Wait()
				want := 128 + int(signals[0])
				if m.complete {
					want = statusOK
				}
				if status := cmd.ProcessState.ExitCode(); status != want {
					t.Errorf("status %d, want %d\n%s", status, want, stderr)
				}
				got := outcome{stdout: stdout.String(), stderr: stderr.String()}
				var res *subagent.Result
				switch form {
				case "--json":
					res = got.result(t)
					valid(t, got.stdout)
				case "--events":
					events := got.events(t)
					if len(events) == 0 || events[len(events)-1].Type != subagent.EventEnd {
						t.Fatalf("there is no end:\n%s", stdout)
					}
					res = events[len(events)-1].Result
				default:
					if stdout.Len() > 0 && !strings.HasSuffix(got.stdout, "\n") {
						t.Errorf("stdout ends within a line: %.500q", got.stdout)
					}
					return
				}
				stop := stopreason.Aborted
				if m.complete {
					stop = stopreason.Completed
				}
				if res.Stop != stop || res.Error != nil {
					t.Errorf("stop %q, error %v", res.Stop, res.Error)
				}
			})
		}
	}
}

// begin starts a run of the script with small graces.
func (p *program) begin(form, src string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	p.t.Helper()
	catchSignals(p.t)
	// The grace after EOF is time enough for an agent to say that it has seen it.
	args := []string{"run", "--cancel-grace", "300ms", "--eof-grace", "2s", "--term-grace", "300ms", "hi"}
	if form != "" {
		args = append(args, form)
	}
	cmd = p.command(append(args, scripted(p.t, src)...)...)
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	return cmd, stdout, stderr
}

// SIGQUIT does not wait for anybody's grace.
func TestQuitKills(t *testing.T) {
	p := newProgram(t)
	s := p.start(append([]string{"run", "--events", "--cancel-grace", "1h", "--eof-grace", "1h", "--term-grace", "1h", "hi"}, scripted(t, hostile)...)...)
	s.await("ready")
	s.signal(syscall.SIGQUIT)
	status, res := s.end()
	if status != 131 || res == nil || res.Stop != stopreason.Aborted || res.Exit == nil || res.Exit.Signal == nil || *res.Exit.Signal != "SIGKILL" {
		t.Errorf("status %d, result %+v\n%s", status, res, &s.stderr)
	}
}

// L6: what ends the program at once ends the agent's group with it.
func TestL6ProgramIsKilled(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("only Linux has the life-line, and a /proc to look for survivors")
	}
	for _, m := range moments {
		// What has left the group is found by a sweep, and nobody is there to do it.
		if strings.Contains(m.script, "session\n") {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t)
			cmd, _, _ := p.begin("--json", m.script)
			p.awaitFile("now")
			cmd.Process.Kill()
			cmd.Wait()
		})
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

// A stdout that another program makes non-blocking while it is written takes all.
func TestNonBlockingStdout(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := newProgram(t)
	cmd := p.command(append([]string{"run", "--json", "hi"}, scripted(t, "on session/prompt\n  write now\n  wait file go\n  text size=2MB\n  stop end_turn\n")...)...)
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.awaitFile("now")
	if err := syscall.SetNonblock(int(w.Fd()), true); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := os.WriteFile(filepath.Join(p.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var res subagent.Result
	if err := json.NewDecoder(r).Decode(&res); err != nil || len(res.Output) != 2_000_000 {
		t.Errorf("%v, %d bytes of output", err, len(res.Output))
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// A stderr that nobody reads keeps a cancelled run's result from nobody.
func TestStuckStderr(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	catchSignals(t)
	p := newProgram(t)
	cmd := p.command(append([]string{"run", "--json", "hi"}, scripted(t, `
on session/prompt
  repeat 2000
    tool "call-$i" "A title that is rather long, to fill the pipe of stderr sooner" status=completed
  end
  write now
  wait cancel
  stop cancelled
`)...)...)
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	p.awaitFile("now")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	res := outcome{stdout: stdout.String()}.result(t)
	if status := cmd.ProcessState.ExitCode(); status != 130 || res.Stop != stopreason.Aborted {
		t.Errorf("status %d, stop %q", status, res.Stop)
	}
}

// What cannot be written has a status, for the commands that only print too.
func TestFullDiskOfOtherCommands(t *testing.T) {
	for _, args := range [][]string{{"agents"}, {"agents", "--json"}, {"schema", "result"}, {"schema"}, {"version"}, {"--help"}, {"run", "--help"}} {
		readOnly, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		cmd := newProgram(t).command(args...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = readOnly, &stderr
		cmd.Run()
		readOnly.Close()
		if status := cmd.ProcessState.ExitCode(); status != statusFailed || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%q: status %d\n%s", args, status, &stderr)
		}
	}
}

// A directory that is gone matters only where it is needed.
func TestDirectoryIsGone(t *testing.T) {
	for _, tt := range []struct {
		args   []string
		status int
	}{
		{[]string{"run", "--quiet", "hi"}, statusUsage},
		{[]string{"run", "--quiet", "--dir", os.TempDir(), "hi"}, statusOK},
		{[]string{"run", "--quiet", "--dir", "sub", "hi"}, statusUsage},
	} {
		p := newProgram(t)
		cmd := p.command(append(slices.Clone(tt.args), scripted(t, "on session/prompt\n  text done\n  stop end_turn\n")...)...)
		// A shell removes its own directory and becomes the program.
		cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `mkdir gone && cd gone && rmdir ../gone && exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
		out, _ := cmd.CombinedOutput()
		if status := cmd.ProcessState.ExitCode(); status != tt.status {
			t.Errorf("%q: status %d, want %d\n%s", tt.args, status, tt.status, out)
		}
	}
}
