package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/ptrace"
	"github.com/errand-acp/errand/subagent"
)

// leftover is the error of a run whose agent cannot be ended while it is held, as a
// debugger would hold it, on its way out.
func leftover(t *testing.T, dir string) error {
	short := 50 * time.Millisecond
	p := provider(t, `on session/prompt; write pid "$pid"; stop end_turn; on eof; wait forever`,
		&subagent.ACPOptions{Graces: client.Graces{EOF: short, Term: short, Kill: 10 * short}})
	run, err := p.Start(t.Context(), subagent.Request{Dir: dir, Prompt: subagent.Text("hi")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), tooLong)
	defer cancel()
	if _, err := run.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(readFile(t, dir, "pid")))
	if err != nil {
		t.Fatal(err)
	}
	release, err := ptrace.KeepFromExiting(pid)
	if err != nil {
		run.Close()
		t.Skipf("no process can be traced here: %v", err)
	}
	res := run.Close()
	release()
	for deadline := time.Now().Add(tooLong); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid))); err != nil {
			return res.Err()
		} else if time.Now().After(deadline) {
			t.Fatalf("process %d is still there", pid)
		}
	}
}
