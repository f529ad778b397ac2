//go:build unix

package main

import (
	"os"
	"slices"
	"testing"
)

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
