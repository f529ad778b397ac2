package acptest

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/errand-acp/errand/client/transcript"
)

// Unhook makes it as if Hook had not been called, until what it returns is called.
func Unhook() (restore func()) {
	hooked.Store(false)
	return func() { hooked.Store(true) }
}

// Recording is what an agent's conversation is recorded in.
type Recording struct {
	*transcript.Writer
	r *recording
}

func NewRecording() Recording {
	r := newRecording(nil, func(string) {})
	return Recording{r.writer, r}
}

// State is what somebody looks at who waits for it.
func (r Recording) State() (begun, over bool, sent, heard int64) {
	begun, over, n, _ := r.r.state()
	return begun, over, n.sent, n.heard
}

// SetTimeout bounds each wait from here on.
func (a *Agent) SetTimeout(d time.Duration) { a.timeout = d }

// Session is that of the turn.
func (t *Turn) Session() *Session { return t.s }

// Agent is that of the turn.
func (t *Turn) Agent() *Agent { return t.a }

// AwaitAsk waits until the agent has asked for a permission.
func (a *Agent) AwaitAsk() {
	a.wait("AwaitAsk", "it did not come", func() (bool, string) { return len(a.asks) > 0, "" }, nil)
}

// SetRoom bounds what is kept of the conversation from here on.
func (a *Agent) SetRoom(bytes, lines int) {
	less := room{maxBytes: bytes, maxLines: lines}
	a.change(func() { a.room = less })
	a.talk.change(func() { a.talk.room = less })
}

// LastMoment is for the arithmetic of it.
var LastMoment = lastMoment

// Apart runs a test, which is to fail, in a process of its own, and returns what it prints.
func Apart(t *testing.T, test string, env ...string) (out string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self, "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(append(os.Environ(), env...), "GORACE=atexit_sleep_ms=0")
	text, err := cmd.CombinedOutput()
	return string(text), err
}
