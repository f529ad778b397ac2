package conform

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/errand-acp/errand/client/transcript"
)

// An agent that writes and writes is not kept in memory: its scene ends, and says why; what
// came of the others counts, and the check is incomplete.
func TestFlood(t *testing.T) {
	defer setBounds(maxRecording, 500)()
	report := tryScript(t, `on session/prompt
  repeat 600
    text "x"
  end
  stop end_turn`, &Options{Only: []string{"initialize-version", "session-id", "prompt-*", "update-shape"}, Timeout: 5 * time.Minute, ExitTimeout: 2 * time.Second})
	for id, want := range map[string]Verdict{
		"initialize-version": Pass, "session-id": Pass, "prompt-text": NotApplicable, "prompt-again": NotApplicable,
		"prompt-not-advertised": NotApplicable, "prompt-while-busy": NotApplicable,
	} {
		if f := finding(t, report, id); f.Verdict != want {
			t.Error(explain(f))
		}
	}
	const why = "it wrote more than 500 lines in this scene"
	for _, s := range report.Scenes {
		if s.Name == "content" && (s.Stopped != why || s.died) {
			t.Errorf("stopped: %q, died %v", s.Stopped, s.died)
		}
	}
	if !strings.Contains(report.Incomplete, why) || !report.Failed(Must) || !strings.Contains(report.Table(), why) {
		t.Errorf("incomplete: %q\n%s", report.Incomplete, report.Table())
	}
}

// What is long counts as well as what is many.
func TestFloodOfBytes(t *testing.T) {
	defer setBounds(1<<20, maxEntries)()
	report := tryScript(t, `on session/prompt
  repeat 40
    text size=100KB
  end`, &Options{Only: []string{"prompt-text"}, Timeout: 5 * time.Minute, ExitTimeout: 2 * time.Second})
	if f := finding(t, report, "prompt-text"); f.Verdict != NotApplicable || !strings.Contains(f.Why, "it wrote more than 1 MiB in this scene") {
		t.Error(explain(f))
	}
}

func setBounds(bytes int64, entries int) (undo func()) {
	wasBytes, wasEntries := maxRecording, maxEntries
	maxRecording, maxEntries = bytes, entries
	return func() { maxRecording, maxEntries = wasBytes, wasEntries }
}

// A thousand questions at once cost no more than one, and a turn that never ends no more
// than its time.
func TestFloodOfQuestions(t *testing.T) {
	t.Parallel()
	report := tryScript(t, `on session/prompt
  repeat 1000
    send {"jsonrpc": "2.0", "id": $i, "method": "session/request_permission", "params": {"sessionId": "$session", "toolCall": {"toolCallId": "c$i"}, "options": [{"optionId": "y", "name": "Y", "kind": "allow_once"}]}}
  end
  wait forever`, &Options{Only: []string{"permission-rejected"}, Timeout: 3 * time.Second, ExitTimeout: 5 * time.Second})
	// Each waits for its answer for a moment: all of them wait longer than a scene may take.
	if f := finding(t, report, "permission-rejected"); f.Verdict != NotApplicable || f.Why != `the prompt "allow" was not answered` {
		t.Error(explain(f))
	}
}

// Whatever an agent does: a scene has an end.
func TestSceneEnds(t *testing.T) {
	t.Parallel()
	report := tryScript(t, `on session/new
  repeat forever
    text "x" session="s"
    wait 20ms
  end`, &Options{Only: []string{"cancel-early"}, Timeout: time.Second, ExitTimeout: time.Second})
	if report.Incomplete == "" {
		t.Error(report.Table())
	}
}

// It has one also where each wait in it ends in time.
func TestSceneBound(t *testing.T) {
	defer func(was time.Duration) { sceneBound = was }(sceneBound)
	sceneBound = 1
	report := tryScript(t, `on session/prompt
  wait 200ms
  text "x"`, &Options{Only: []string{"prompt-*"}, Timeout: time.Second, ExitTimeout: 500 * time.Millisecond})
	f := finding(t, report, "prompt-again")
	if f.Verdict != NotApplicable || !strings.Contains(report.Incomplete, "the scene was not over within 1.5s") {
		t.Errorf("%s\n%s", explain(f), report.Incomplete)
	}
}

// A bound that passes while the scene ends is recorded before anybody reads the recording.
func TestSceneBoundAtTheEnd(t *testing.T) {
	opts, err := (*Options)(nil).complete()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newTrial(t.Context(), Command{}, opts, dir).play(scene{name: "late", play: func(a *actor) {
			time.Sleep(sceneBound * (opts.Timeout + opts.ExitTimeout))
		}})
		if r.cut != (r.stopped != "") {
			t.Errorf("cut %v, stopped %q", r.cut, r.stopped)
		}
	})
}

// An agent that stops reading in the middle of a request gets nothing more: the rest of it
// would be read as the beginning of the next.
func TestHalfWritten(t *testing.T) {
	t.Parallel()
	// The fourth is the one after which the large one comes.
	report := tryScript(t, `on _errand.example/unknown
  fail -32601 "no"
  if $n is 4
    stdin stop
    wait forever
  end`, &Options{Only: []string{"frame-*", "stray-answer", "odd-frames"}, Timeout: 6 * time.Second, ExitTimeout: 6 * time.Second})
	f := finding(t, report, "frame-large")
	if f.Verdict != Warn || !strings.Contains(f.Why, "it did not read what was written to it within 6s") {
		t.Error(explain(f))
	}
	if f := finding(t, report, "stray-answer"); f.Verdict != NotApplicable {
		t.Error(explain(f))
	}
}

// Frames that are nested so deep that nobody's reader takes them are shown as text.
func TestShownDeep(t *testing.T) {
	deep := func(n int) transcript.Entry {
		return transcript.Entry{From: transcript.FromAgent, Frame: json.RawMessage(`{"]}":"\"[[[[","x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`)}
	}
	if e := shown([]transcript.Entry{deep(50)})[0]; e.Frame == nil {
		t.Errorf("a frame is shown as %+v", e)
	}
	if e := shown([]transcript.Entry{deep(500)})[0]; e.Frame != nil || !strings.HasPrefix(e.Text, `{"]}"`) {
		t.Errorf("a deep frame is shown as %+v", e)
	}
}
