// Package built has a package's tests start the scripted agent as a program of its own:
// with the race detector a test binary takes twenty times as long to start as one
// without, and some suites start an agent thousands of times. Call it in TestMain:
//
//	script.Hook()
//	leak.Main(built.Agent(m))
package built

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/errand-acp/errand/internal/script"
)

// program is what is built.
const program = "github.com/errand-acp/errand/testdata/scripted-agent"

// Runner runs tests, as a *testing.M does.
type Runner interface{ Run() int }

// buildTime is how long the program may take to build. Reaching it means that it hangs.
const buildTime = 5 * time.Minute

// Agent returns tests that run as those of m do, but for what [script.Command] returns
// meanwhile: without the race detector, in a test binary that has it. Where there is no Go
// all is as it was; where there is one, so must this module be. The agent's own races are
// for the tests of package script to find.
func Agent(m Runner) Runner { return tests{m} }

type tests struct{ Runner }

func (t tests) Run() int {
	if !raceEnabled {
		return t.Runner.Run()
	}
	dir, err := os.MkdirTemp("", "errand-scripted-agent-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "built:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	// An agent is shown by its program's name, which is to be the same without the race
	// detector.
	agent := filepath.Join(dir, filepath.Base(os.Args[0]))
	ctx, cancel := context.WithTimeout(context.Background(), buildTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, "go", "build", "-race=false", "-o", agent, program).CombinedOutput()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return t.Runner.Run()
	case err != nil:
		fmt.Fprintf(os.Stderr, "built: %v\n%s", err, out)
		return 1
	}
	defer script.Use("")
	script.Use(agent)
	return t.Runner.Run()
}
