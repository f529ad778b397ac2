//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// What becomes of a run whose streams are closed, stuck, or changed by others.

// L18: a stdout that nobody reads any more ends the run, also while the agent is
// silent and nothing is written.
func testL18ClosedStdout(t *testing.T) {
	t.Run("silent agent", func(t *testing.T) {
		p := newProgram(t)
		s := p.start(append([]string{"run", "--events", "hi"}, scripted(t, polite)...)...)
		s.await("ready")
		s.pipe.Close()
		if status := s.status(); status != statusSIGPIPE {
			t.Errorf("status %d\n%s", status, &s.stderr)
		}
		has(t, "what the agent read", readFile(t, p.Dir, "wire.log"), `"session/cancel"`)
	})
	t.Run("flooding agent", func(t *testing.T) {
		p := newProgram(t)
		s := p.start(append([]string{"run", "--events", "hi"}, scripted(t, "on session/prompt\n  text ready\n  repeat forever\n    text size=1KB\n  end\n")...)...)
		s.await("ready")
		s.pipe.Close()
		if status := s.status(); status != statusSIGPIPE {
			t.Errorf("status %d\n%s", status, &s.stderr)
		}
	})
	for _, flag := range []string{"--json", "--quiet"} {
		t.Run("before the end, "+flag, func(t *testing.T) {
			p := newProgram(t)
			s := p.start(append([]string{"run", flag, "hi"}, scripted(t, "on session/prompt\n  write asked\n  wait cancel\n  stop cancelled\n")...)...)
			p.awaitFile("asked")
			s.pipe.Close()
			if status := s.status(); status != statusSIGPIPE {
				t.Errorf("status %d\n%s", status, &s.stderr)
			}
		})
	}
}

// A reader that has stopped reading cannot keep a run from being cancelled.
func TestStalledReader(t *testing.T) {
	p := newProgram(t)
	s := p.start(append([]string{"run", "--events", "hi"}, scripted(t, "on session/prompt\n  text ready\n  repeat forever\n    text size=64KB\n  end\n")...)...)
	s.await("ready")
	s.signal(syscall.SIGINT)
	if status := s.status(); status != 130 {
		t.Errorf("status %d\n%s", status, &s.stderr)
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
