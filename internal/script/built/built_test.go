package built

import (
	"bytes"
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
