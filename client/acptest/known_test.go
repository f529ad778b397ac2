package acptest

import (
	"testing"

	"github.com/errand-acp/errand/client"
)

// A failure waits for what was said to be recorded, lines that are no frames too: both sides
// count the same.
func TestNoiseIsKnown(t *testing.T) {
	t.Parallel()
	a := Start(t, Script(t, `on session/prompt; text "half"; stderr "oh\n"; noise "panicking"; noise "more"; noise "[]"; exit 2`), nil)
	a.Session("").Prompt("go").Error(client.KindExit)
	a.Close()
	want := frames{sent: 3, heard: 3 + 3}
	if got := a.known(); got != want {
		t.Errorf("%+v are known, want %+v", got, want)
	}
	if _, _, got, _ := a.talk.state(); got != want {
		t.Errorf("%+v are recorded, want %+v", got, want)
	}
}
