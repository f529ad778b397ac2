package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// Each answer is in its column, whoever was first, and one that fails costs the others
// nothing.
func TestFanout(t *testing.T) {
	// Each waits for the next one: they are there at the same time.
	const (
		last  = `on session/prompt; write c-is-here; text "I was first."; stop end_turn {"usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}}`
		crash = `on session/prompt; wait file c-is-here; write b-is-here; text "half of"; exit 3`
		first = `on session/prompt; wait file b-is-here; text "You ask: $prompt\nThat is a long question, and so the answer takes more than one line."; stop end_turn {"usage": {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7}}`
	)
	stdout, stderr, status := run(t, map[string]string{"a": first, "b": crash, "c": last}, "a", "b", "c")
	check.Equal(t, "status", status, 1)
	check.Equal(t, "stderr", stderr, "")
	got := regexp.MustCompile(`\d+\.\d s`).ReplaceAllString(stdout, "0.0 s")
	got = regexp.MustCompile(`slowest was [abc]`).ReplaceAllString(got, "slowest was one of them")
	want := `a                                b                                c
completed, 0.0 s                 error, 0.0 s                     completed, 0.0 s

You ask: well                    half of                          I was first.
That is a long question, and     b: session/prompt: the agent
so the answer takes more than    ended before it had answered;
one line.                        the process ended with exit
                                 status 3

2 of 3 completed in 0.0 s; one after another they take 0.0 s
the slowest was one of them
10 tokens, by the 2 of them that say so
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stdout (-want +got):\n%s", diff)
	}
}

// What is not known is not told, and an agent cannot write to the terminal what it likes.
func TestFanoutOfOne(t *testing.T) {
	stdout, stderr, status := run(t, map[string]string{"a": `on session/prompt; text "\x1b[2Jred \u202egreen\tblue"`}, "a")
	check.Equal(t, "status", status, 0)
	check.Equal(t, "stderr", stderr, "")
	check.Has(t, stdout, "\n�[2Jred �green blue\n", "1 of 1 completed")
	check.Lacks(t, stdout, "tokens", "\x1b", "\u202e")
}

// run runs the example in a directory with programs of these names, each of which follows
// its script.
func run(t *testing.T, scripts map[string]string, agents ...string) (stdout, stderr string, status int) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no sh")
	}
	dir := t.TempDir()
	for name, src := range scripts {
		path, args := script.Command(t, src)
		for i, arg := range args {
			args[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		if err := os.WriteFile(filepath.Join(dir, name), fmt.Appendf(nil, "#!/bin/sh\nexec '%s' %s\n", path, strings.Join(args, " ")), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{"well"}, agents...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), runMain+"=1", "GORACE=atexit_sleep_ms=0", "PATH="+dir+":"+os.Getenv("PATH"))
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	defer time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() }).Stop()
	_ = cmd.Run() // the status tells
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}
