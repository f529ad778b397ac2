//go:build unix

package main

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A check that is interrupted says so by its status, prints no report, and leaves nothing:
// no process, which newProgram sees to, and no directory.
func TestCheckInterrupted(t *testing.T) {
	for sig, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			p, tmp := newProgram(t), t.TempDir()
			p.Env = []string{"TMPDIR=" + tmp}
			s := p.start(append([]string{"check"}, scripted(t, `ignore TERM
on eof; wait forever
on session/new
  spawn session
    ignore TERM
    wait forever
  end
  write `+filepath.Join(p.Dir, "now")+`
  wait forever`)...)...)
			p.awaitFile("now")
			s.signal(sig)
			if status, _ := s.end(); status != want {
				t.Errorf("status %d, want %d\n%s", status, want, &s.stderr)
			}
			if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}
