package acptest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/replay"
	"github.com/errand-acp/errand/internal/visible"
)

// ReplayOptions are what [Replay] may be told. The zero value, or nil, is a strict replay.
type ReplayOptions struct {
	// Lenient makes the best of a parent that does not do what was recorded. Otherwise
	// the agent ends at the first difference.
	Lenient bool
}

// replayArg, as the first argument of a program that calls Hook, makes it the agent of the
// file that follows; replayLenientArg a lenient one.
const (
	replayArg        = "__replaying-agent"
	replayLenientArg = "__replaying-agent-lenient"
)

// Replay returns the command of an agent that answers as a recorded one did: offline, and
// without its waits. The file is a transcript, such as errand run --transcript,
// client.Options.Transcript and [Golden] write it; of several conversations in it the first
// is replayed. A strict one, as o says, tells the first
// difference on stderr, answers it with an error, and ends with status 1. docs/replay.md says
// what is one.
//
// The agent is this test binary, which calls [Hook]. A file that cannot be read fails the
// test.
func Replay(t testing.TB, file string, o *ReplayOptions) client.Command {
	t.Helper()
	checkHook(t, "Replay")
	recordedAgent(t, "Replay", file, o)
	path, err := os.Executable()
	if err != nil {
		t.Fatalf("acptest: Replay: %v", err)
	}
	file, err = filepath.Abs(file)
	if err != nil {
		t.Fatalf("acptest: Replay: %v", err)
	}
	arg := replayArg
	if o != nil && o.Lenient {
		arg = replayLenientArg
	}
	return client.Command{Path: path, Args: []string{arg, file}}
}

// ReplayPipe is the agent of [Replay] inside this process, as [ScriptPipe] is that of
// [Script]. The first difference to a strict one fails the test.
func ReplayPipe(t testing.TB, file string, o *ReplayOptions) (in io.WriteCloser, out io.ReadCloser) {
	t.Helper()
	agent := recordedAgent(t, "ReplayPipe", file, o)
	return servePipe(t, func(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) {
		_, err := agent.Serve(ctx, stdin, stdout, stderr)
		if diff, ok := errors.AsType[*replay.Difference](err); ok {
			t.Errorf("acptest: ReplayPipe: %s: %s", file, visible.Text(diff.Error()))
		}
	})
}

// recordedAgent is the agent of a file, for what is being called.
func recordedAgent(t testing.TB, what, file string, o *ReplayOptions) *replay.Agent {
	t.Helper()
	agent, err := replay.Open(file, replay.Options{Lenient: o != nil && o.Lenient})
	if err != nil {
		t.Fatalf("acptest: %s: %v", what, err)
	}
	return agent
}

// replayHook is the replaying agent's main program, if this process is one.
func replayHook() (status int, ok bool) {
	if len(os.Args) != 3 || os.Args[1] != replayArg && os.Args[1] != replayLenientArg {
		return 0, false
	}
	agent, err := replay.Open(os.Args[2], replay.Options{Lenient: os.Args[1] == replayLenientArg})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2, true
	}
	return agent.Main(), true
}
