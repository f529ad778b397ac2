package built

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/internal/script"
)

func TestMain(m *testing.M) {
	script.Hook()
	leak.Main(m)
}

type run func() int

func (f run) Run() int { return f() }

// The agent is the program while the tests run, and their own binary before and after.
func TestAgent(t *testing.T) {
	before, _ := script.Command(t, "")
	var during string
	status := Agent(run(func() int {
		path, args := script.Command(t, `on initialize; exit 7`)
		during = path
		cmd := exec.Command(path, args...)
		cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}` + "\n")
		if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 7 {
			t.Errorf("%v: %s", err, bytes.TrimSpace(out))
		}
		return 3
	})).Run()
	if status != 3 {
		t.Errorf("status %d, want that of the tests", status)
	}
	if built := during != before; built != raceEnabled || filepath.Base(during) != filepath.Base(before) {
		t.Errorf("started %s by tests that are %s", during, before)
	}
	if after, _ := script.Command(t, ""); after != before {
		t.Errorf("afterwards %s, want %s", after, before)
	}
	if raceEnabled {
		if left, _ := filepath.Glob(filepath.Dir(during)); left != nil {
			t.Errorf("left behind: %s", left)
		}
	}
}

// Without Go the tests are their own agent, and one that cannot be built fails them.
func TestAgentThatCannotBeBuilt(t *testing.T) {
	if !raceEnabled {
		t.Skip("nothing is built")
	}
	before, _ := script.Command(t, "")
	runs := 0
	count := run(func() int {
		runs++
		if during, _ := script.Command(t, ""); during != before {
			t.Errorf("started %s", during)
		}
		return 0
	})
	for name, goes := range map[string]bool{"no Go": true, "it does not build": false} {
		dir := t.TempDir()
		t.Setenv("PATH", dir)
		if !goes {
			if err := os.WriteFile(filepath.Join(dir, "go"), []byte("#!/bin/sh\necho no such package >&2; exit 1\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		runs = 0
		if status := Agent(count).Run(); (status == 0) != goes || (runs == 1) != goes {
			t.Errorf("%s: status %d after %d runs", name, status, runs)
		}
	}
}
