package acptest

import (
	"bytes"
	"context"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/internal/visible"
)

// hooked is set once this program has called Hook.
var hooked atomic.Bool

// Hook makes a test binary able to be an agent: started by what [Script] and [Replay]
// return, it is that agent, and exits; otherwise it does nothing. Call it first in
// TestMain:
//
//	func TestMain(m *testing.M) {
//		acptest.Hook()
//		os.Exit(m.Run())
//	}
func Hook() {
	script.Hook()
	if status, ok := replayHook(); ok {
		syscall.Exit(status) // os.Exit takes a second in a test binary with the race detector
	}
	hooked.Store(true)
}

func checkHook(t testing.TB, what string) {
	t.Helper()
	if !hooked.Load() {
		t.Fatalf("acptest: %s: this test binary is the agent, and needs a TestMain that begins with acptest.Hook()", what)
	}
}

// Script returns the command of an agent that follows a script, honest or hostile:
//
//	on session/prompt
//	  text "Hello, $prompt"
//
// It needs no build step and no network: the agent is this test binary, which calls [Hook].
// docs/scripted-agent.md describes the language. A script that cannot be parsed fails the
// test.
func Script(t testing.TB, src string) client.Command {
	t.Helper()
	checkHook(t, "Script")
	parse(t, "Script", src)
	path, args := script.Command(t, src)
	return client.Command{Path: path, Args: args}
}

// ScriptPipe is the agent of [Script] inside this process: for a parent under test that
// takes pipes, such as client.NewConn, or acp.NewClientSideConnection. It reads what is
// written to in, and writes to out; its stderr is logged. It ends when in is closed, and with
// the test. Statements of the script that act on its process act on the test's; spawn needs
// [Hook].
func ScriptPipe(t testing.TB, src string) (in io.WriteCloser, out io.ReadCloser) {
	t.Helper()
	s := parse(t, "ScriptPipe", src)
	return servePipe(t, func(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) {
		s.Run(ctx, stdin, stdout, stderr)
	})
}

func parse(t testing.TB, what, src string) *script.Script {
	t.Helper()
	s, err := script.Parse("script", []byte(src))
	if err != nil {
		t.Fatalf("acptest: %s: %v", what, err)
	}
	return s
}

// servePipe runs an agent on a pair of pipes until it ends, or the test does.
func servePipe(t testing.TB, serve func(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer)) (io.WriteCloser, io.ReadCloser) {
	t.Helper()
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { // ends with the agent, at the latest with the test
		defer close(ended)
		stderr := &logged{t: t}
		defer stderr.end()
		defer stdin.Close()
		defer stdout.Close()
		serve(ctx, stdin, stdout, stderr)
	}()
	t.Cleanup(func() {
		defer cancel()
		in.Close()
		out.Close()
		timer := time.NewTimer(pipeGrace)
		defer timer.Stop()
		select {
		case <-ended:
		case <-timer.C:
			cancel()
			<-ended
		}
	})
	return in, out
}

// pipeGrace is how long an agent on pipes may take to end by itself at the end of the test:
// one that is deaf to the end of its stdin does not.
const pipeGrace = time.Second

// logged logs lines, and what is not to be seen in them so that it is.
type logged struct {
	t testing.TB

	mu   sync.Mutex // guards rest
	rest []byte     // the beginning of a line
}

// longestLine is the most of a line, in bytes, that is logged at once.
const longestLine = 64 << 10

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := len(p); ; {
		part, rest, ended := bytes.Cut(p, []byte("\n"))
		if room := longestLine - len(l.rest); len(part) > room {
			part, rest, ended = p[:room], p[room:], true
		}
		l.rest = append(l.rest, part...)
		if !ended {
			return n, nil
		}
		l.log()
		p = rest
	}
}

// log logs what there is of a line; with mu held.
func (l *logged) log() {
	l.t.Log("agent: " + visible.Line(string(l.rest)))
	l.rest = l.rest[:0]
}

// end logs a last line without its end.
func (l *logged) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rest) > 0 {
		l.log()
	}
}
