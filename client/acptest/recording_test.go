package acptest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
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

// failing takes so many lines and then fails.
type failing int

func (f *failing) Write(line []byte) (int, error) {
	if *f--; *f < 0 {
		return 0, errors.New("no space left on \x1b[31mdevice")
	}
	return len(line), nil
}

// Where the test's own transcript cannot be written the kit's is whole all the same, and the
// test fails for it once.
func TestOwnTranscriptFails(t *testing.T) {
	t.Parallel()
	room := failing(5)
	f := try(t, func(t testing.TB) {
		a := acptest.Start(t, acptest.Script(t, `on session/prompt; text "Hello"`), &acptest.Options{
			Client: client.Options{Transcript: transcript.NewWriter(&room)},
		})
		turn := a.Session("").Prompt("go")
		turn.Text("Hello")
		turn.Stop("end_turn")
		a.Close().Clean()
		if talk := a.Transcript(); talk.Cut || len(talk.Entries) < 7 {
			t.Errorf("the kit's transcript is not whole:\n%s", talk)
		}
	})
	const want = `acptest: Options.Client.Transcript is not whole: no space left on \u{1b}[31mdevice`
	if diff := cmp.Diff(want, f.text()); !f.Failed() || diff != "" {
		t.Errorf("it says (-want +got):\n%s", diff)
	}
}

// An agent that says more than is kept fails the test, with what it said till then. The
// transcript of the test's own has all of it.
func TestFlood(t *testing.T) {
	t.Parallel()
	const lines, bytes = "more was said than the test kit keeps of a conversation: 20 lines", "more was said than the test kit keeps of a conversation: 4000 bytes"
	for name, tt := range map[string]struct {
		src  string
		test func(turn *acptest.Turn)
		want string
	}{
		"it goes on for ever": {`repeat forever; text "$i "; end`, func(turn *acptest.Turn) { turn.Stop("end_turn") }, `acptest: Stop("end_turn"): ` + lines},
		"large updates":       {`repeat 3; text "` + strings.Repeat("x", 2000) + `"; end; wait forever`, func(turn *acptest.Turn) { turn.Text("no") }, `acptest: Text("no"): ` + bytes},
		"on stderr":           {`repeat forever; stderr "x\n"; wait 1ms; end`, func(turn *acptest.Turn) { turn.Stop("end_turn") }, `acptest: Stop("end_turn"): ` + lines},
		"it asks":             {`repeat 30; text "x"; end; permission a "A"; option no reject_once "No"; end`, func(turn *acptest.Turn) { turn.Stop("end_turn") }, `acptest: Stop("end_turn"): ` + lines},
		"nobody waits for it": {`repeat 30; text "x"; end; stop end_turn; exit 0`, func(turn *acptest.Turn) { <-turn.Agent().Client().Exited() }, "acptest: the end of the test: " + lines},
		"enough":              {`repeat 5; text "x"; end`, func(turn *acptest.Turn) { turn.Stop("end_turn") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := try(t, func(t testing.TB) {
				a := acptest.Start(t, acptest.Script(t, "on session/prompt; "+tt.src), nil)
				a.SetRoom(4000, 20)
				tt.test(a.Session("").Prompt("go"))
				a.Close()
				if talk := a.Transcript(); talk.Cut || len(talk.Entries) > 25 {
					t.Errorf("the transcript:\n%s", talk)
				}
			})
			if f.Failed() != (tt.want != "") || !strings.HasPrefix(f.text(), tt.want) {
				t.Errorf("it says: %s", f.text())
			}
		})
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
