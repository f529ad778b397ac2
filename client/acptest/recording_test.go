package acptest_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/errand-acp/errand/client/acptest"
	"github.com/errand-acp/errand/client/transcript"
)

// Somebody who waits looks at the conversation with each line that comes: that must not cost
// more the longer it is.
func TestRecordingIsCounted(t *testing.T) {
	r := acptest.NewRecording()
	r.Begin(transcript.Header{})
	var looks []float64
	for n := range 2000 {
		r.Add(transcript.Entry{From: transcript.FromAgent, Frame: json.RawMessage(fmt.Sprintf(`{"jsonrpc":"2.0","method":"m","params":%d}`, n))})
		if n%1000 == 1 {
			looks = append(looks, testing.AllocsPerRun(10, func() { r.State() }))
		}
	}
	for _, allocs := range looks {
		if allocs > 0 {
			t.Errorf("%g allocations for a look", allocs)
		}
	}
	r.Add(transcript.Entry{From: transcript.FromClient, Frame: json.RawMessage(`[{"id":1,"method":"m"},{"id":2,"method":"m"}]`)})
	r.Add(transcript.Entry{From: transcript.FromStderr, Text: "a line"})
	if begun, over, sent, heard := r.State(); !begun || over || sent != 2 || heard != 2000 {
		t.Errorf("begun %v, over %v, sent %d, heard %d", begun, over, sent, heard)
	}
	r.Add(transcript.Entry{End: &transcript.End{}})
	if begun, over, _, _ := r.State(); !begun || !over || r.Err() != nil {
		t.Errorf("begun %v, over %v, error %v", begun, over, r.Err())
	}
}

// What a test does with its copy is nothing to the next.
func TestTranscriptIsACopy(t *testing.T) {
	t.Parallel()
	a := acptest.Start(t, acptest.Script(t, `on session/prompt; text "Hello"`), nil)
	a.Session("").Prompt("go").Stop("end_turn")
	a.Close()
	talk := a.Transcript()
	want := talk.String()
	for i := range talk.Entries {
		e := &talk.Entries[i]
		clear(e.Frame)
		if e.End != nil {
			e.End.Rung = "changed"
		}
		e.Text = "changed"
	}
	clear(talk.Header.Command)
	if got := a.Transcript().String(); got != want {
		t.Errorf("it has changed:\n%s", got)
	}
}
