package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/internal/script"
)

// The test binary is the example where this is set, and its agent where it is
// started as script.Command says.
const runMain = "ERRAND_EXAMPLE_MAIN"

func TestMain(m *testing.M) {
	script.Hook()
	if os.Getenv(runMain) != "" {
		main()
		return
	}
	leak.Main(m)
}

func TestDelegate(t *testing.T) {
	for name, tt := range map[string]struct {
		script         string
		stdout, stderr string
		status         int
	}{
		"completed": {
			script: `on session/prompt
				permission c1 "Write" kind=edit
					option yes allow_once "Yes"
					option no reject_once "No"
					when allowed
						text "you asked: $prompt"
				end`,
			stdout: "you asked: a task\n",
		},
		"refused":     {script: `on session/prompt; text "I would rather not"; stop refusal`, stdout: "I would rather not\n", stderr: "refusal", status: 1},
		"not started": {script: `on initialize; exit 3`, stderr: "exit status 3", status: 1},
	} {
		t.Run(name, func(t *testing.T) {
			path, args := script.Command(t, tt.script)
			cmd := exec.Command(path, append([]string{"a task", path}, args...)...)
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), runMain+"=1")
			var stdout, stderr strings.Builder
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			_ = cmd.Run() // the status tells
			if status := cmd.ProcessState.ExitCode(); status != tt.status || stdout.String() != tt.stdout || !strings.Contains(stderr.String(), tt.stderr) {
				t.Errorf("status %d, stdout %q, stderr %q; want %d, %q, and %q in stderr", status, &stdout, &stderr, tt.status, tt.stdout, tt.stderr)
			}
		})
	}
}
