//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/errand-acp/errand/internal/check"
)

// What kill -9 leaves of a transcript can be read, up to the last thing that was said.
func TestTranscriptAfterKill(t *testing.T) {
	p := newProgram(t)
	cmd := p.command(append([]string{"run", "--quiet", "--transcript", "talk", "hi"}, scripted(t, `on session/prompt
		text "the last words"
		wait file said
		wait forever`)...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(tooLong); !exists(p.Dir, "talk") || !strings.Contains(readFile(t, p.Dir, "talk"), "agent_message_chunk"); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("nothing is recorded")
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	c := conversation(t, p.Dir, "talk")
	check.Equal(t, "cut", c.Cut, true)
	has(t, "the transcript", c.String(), "session/prompt #3", "the last words", "(the recording was cut off here)")
}

// Who has seen enough of a transcript closes the pipe, as head does, and nothing is said of
// it.
func TestTranscriptCommandUntilEnough(t *testing.T) {
	p := newProgram(t)
	writeFile(t, strings.Repeat(strings.TrimSuffix(recordedTalk, `{"ms":2,"from":"agent","te`), 1000), p.Dir, "talk")
	cmd := p.command("transcript", "talk")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.Read(make([]byte, 10))
	out.Close()
	cmd.Wait()
	if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signal() != syscall.SIGPIPE || stderr.Len() > 0 {
		t.Errorf("%s, stderr %q", cmd.ProcessState, &stderr)
	}
}

// What is no file is refused before anything is started.
func TestTranscriptIsAFile(t *testing.T) {
	p := newProgram(t)
	if err := syscall.Mkfifo(filepath.Join(p.Dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"fifo", "/dev/stdout"} {
		got := p.run(append([]string{"run", "--json", "--transcript", file, "hi"}, scripted(t, "write started\n")...)...)
		check.Equal(t, file, got.status, statusUsage)
		has(t, "stderr", got.stderr, "--transcript: "+file+" is no regular file")
	}
	got := p.run(append([]string{"run", "--transcript", "/dev/null", "hi"}, scripted(t, talk)...)...)
	check.Equal(t, "/dev/null", got.status, statusOK)
}
