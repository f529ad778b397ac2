//go:build unix

package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// L19: a full disk costs the status, not the result.
func testL19FullDisk(t *testing.T) {
	for _, flags := range [][]string{{}, {"--quiet"}, {"--json"}, {"--events"}} {
		t.Run(strings.Join(append(flags, "stdout"), " "), func(t *testing.T) {
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if errors.Is(err, fs.ErrNotExist) {
				t.Skip("this system has no full disk to write to")
			} else if err != nil {
				t.Fatal(err)
			}
			defer full.Close()
			cmd := newProgram(t).command(append(append([]string{"run", "hi"}, flags...), scripted(t, "on session/prompt\n  text \"the dear answer\"\n  stop end_turn\n")...)...)
			var stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = full, &stderr
			err = cmd.Run()
			if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != statusFailed {
				t.Errorf("%v, want status %d", err, statusFailed)
			}
			has(t, "stderr", stderr.String(), "no space left on device", "the dear answer")
			told := strings.Count(stderr.String(), "could not be written")
			if structured := strings.Contains(stderr.String(), `"warnings":["the result could not`); !structured && told != 1 || structured && told != 2 {
				t.Errorf("it is told %d times:\n%s", told, &stderr)
			}
		})
	}
}

// What cannot be written has a status, for the commands that only print too.
func TestFullDiskOfOtherCommands(t *testing.T) {
	talk := filepath.Join(t.TempDir(), "talk")
	writeFile(t, recordedTalk, talk)
	for _, args := range [][]string{{"transcript", talk}, {"agents"}, {"agents", "--json"}, {"schema", "result"}, {"schema"}, {"version"}, {"--help"}, {"run", "--help"}} {
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
