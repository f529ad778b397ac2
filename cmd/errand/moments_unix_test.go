//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

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
	{name: "the agent is silent", script: polite},
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
	{name: "the agent is deaf", script: hostile},
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

// A run that is cancelled says what it was at, and what it took.
func TestCancelledWhileStarting(t *testing.T) {
	for _, tt := range []struct{ name, script, want string }{
		{"initialize", "on initialize\n  write now\n  never reply\n", "errand: cancelled while errand.test was starting (initialize): interrupt\n"},
		{"session/new", "on session/new\n  write now\n  never reply\n", "errand: cancelled while errand.test was starting (session/new): interrupt\n"},
		{"a deaf start", "ignore TERM\non initialize\n  write now\n  never reply\non eof\n  wait forever\n", "errand: cancelled while errand.test was starting (initialize): interrupt\n  it took SIGKILL to end errand.test\n"},
		{"a deaf turn", "on session/prompt\n  text x\n  write now\n  wait forever\non eof\n  wait forever\n", "errand: cancelled: interrupt\n  it took SIGTERM to end errand.test\n"},
		{"a polite turn", polite, "errand: cancelled: interrupt\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t)
			cmd, _, stderr := p.begin("--quiet", tt.script)
			p.awaitFile("now")
			cmd.Process.Signal(os.Interrupt)
			cmd.Wait()
			if status := cmd.ProcessState.ExitCode(); status != 130 || stderr.String() != tt.want {
				t.Errorf("status %d, stderr %q, want %q", status, stderr, tt.want)
			}
		})
	}
}
