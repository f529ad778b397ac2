package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/internal/script"
)

// The test binary is the example where this is set, and its agent where it is started as
// script.Command says.
const runMain = "ERRAND_EXAMPLE_MAIN"

func TestMain(m *testing.M) {
	script.Hook()
	if os.Getenv(runMain) != "" {
		main()
		return
	}
	leak.Main(m)
}

func TestFirst(t *testing.T) {
	const (
		// It wins when the others are at work.
		wins = `on session/prompt; wait file slow; wait file leaves; text "$prompt? Done."`
		slow = `
			on session/prompt; write slow; text "as I was saying"; wait forever
			on session/cancel; append cancelled slow; interrupt`
		// What it starts leaves it.
		leaves = `
			on session/prompt; spawn session; ignore TERM; write leaves; wait forever; end; wait forever
			on session/cancel; append cancelled leaves; interrupt`
		refuses = `on session/prompt; stop refusal`
		dead    = `on initialize; exit 3`
	)
	for name, tt := range map[string]struct {
		agents    map[string]string
		stdout    string
		stderr    []string
		status    int
		cancelled int
	}{
		"the first success": {
			map[string]string{"wins": wins, "slow": slow, "leaves": leaves},
			"a task? Done.\n", []string{"wins: completed", "slow: aborted", "leaves: aborted"}, 0, 2,
		},
		"a failure does not win": {
			map[string]string{"refuses": refuses, "dead": dead, "last": `on session/prompt; text "Me, then."`},
			// Who is quicker than the one that wins is told as what it is, who is not as aborted.
			"Me, then.\n", []string{"refuses: ", "dead: ", "last -v: completed"}, 0, 0,
		},
		"nobody": {
			map[string]string{"refuses": refuses, "dead": dead},
			"", []string{"refuses: refusal", "dead: error", "exit status 3", "nobody has completed it"}, 1, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("no sh")
			}
			dir, mark := t.TempDir(), "ERRAND_TEST_MARK="+rand.Text()
			args := []string{"a task"}
			for name, src := range tt.agents {
				args = append(args, agent(t, name, src))
				if name == "last" {
					args[len(args)-1] += " -v" // a command may have arguments
				}
			}
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(self, args...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), runMain+"=1", mark, "GORACE=atexit_sleep_ms=0")
			var stdout, stderr strings.Builder
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			defer time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() }).Stop()
			_ = cmd.Run() // the status tells
			check.Equal(t, "status", cmd.ProcessState.ExitCode(), tt.status)
			check.Equal(t, "stdout", stdout.String(), tt.stdout)
			check.Has(t, stderr.String(), tt.stderr...)
			cancelled, _ := os.ReadFile(filepath.Join(dir, "cancelled"))
			check.Equal(t, "agents cancelled", len(strings.Fields(string(cancelled))), tt.cancelled)
			for _, file := range alive(mark) {
				t.Errorf("alive when it had ended: %s", file)
			}
		})
	}
}

// agent makes a program of that name that follows the script.
func agent(t *testing.T, name, src string) string {
	t.Helper()
	path, args := script.Command(t, src)
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, fmt.Appendf(nil, "#!/bin/sh\nexec '%s' %s\n", path, strings.Join(quoted, " ")), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// alive are the processes with that in their environment, where there is a /proc.
func alive(mark string) []string {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	var found []string
	for _, file := range files {
		if env, err := os.ReadFile(file); err == nil && bytes.Contains(env, []byte(mark+"\x00")) {
			found = append(found, file)
		}
	}
	return found
}
