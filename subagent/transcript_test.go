package subagent_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// conversations reads a transcript.
func conversations(t testing.TB, text string, n int) []*transcript.Transcript {
	t.Helper()
	all, err := transcript.Read(strings.NewReader(text))
	if err != nil || len(all) != n {
		t.Fatalf("%d conversations, want %d; %v:\n%.2000s", len(all), n, err, text)
	}
	return all
}

func TestRequestTranscript(t *testing.T) {
	s := play(t, "on session/prompt; text hello; stop end_turn", nil)
	var file bytes.Buffer
	req := s.request("go")
	req.Transcript = transcript.NewWriter(&file)
	res := s.do(req)
	ended(t, res, stopreason.Completed, "")
	check.Equal(t, "warnings", strings.Join(res.Warnings, ", "), "")
	got := conversations(t, file.String(), 1)[0]
	check.Equal(t, "run", got.Header.RunID, res.RunID)
	check.Equal(t, "rung", got.End().Rung, string(client.RungEOF))
	check.Has(t, got.String(), "client -> session/prompt #3", `"text":"hello"`, "agent  -> session/prompt #3 = ")
}

// Each agent that a fallback tried has a conversation, one that was not there too.
func TestFallbackTranscript(t *testing.T) {
	var file bytes.Buffer
	p := fallback(t, nil, missing(t), unready(t), scripted(t, "on session/prompt; text hello; stop end_turn", nil))
	req := subagent.Request{Dir: t.TempDir(), Prompt: subagent.Text("go"), Transcript: transcript.NewWriter(&file)}
	res, err := subagent.Delegate(bounded(t), p, req)
	if err != nil {
		t.Fatal(err)
	}
	ended(t, res, stopreason.Completed, "")
	all := conversations(t, file.String(), 3)
	check.Equal(t, "the one that is missing", all[0].End().String(), "it was not started")
	check.Equal(t, "its command", all[0].Header.Command[0], "/does/not/exist")
	check.Lacks(t, all[1].String(), "hello")
	check.Has(t, all[2].String(), "hello")
	for i, talk := range all {
		check.Equal(t, "cut", talk.Cut, false)
		if i > 0 {
			check.Equal(t, "first", talk.Entries[0].Method(), "initialize")
		}
	}
	check.Equal(t, "the run", all[2].Header.RunID, res.RunID)
}

// A run that is recorded takes no spare: the beginning would be missing.
func TestPoolTranscript(t *testing.T) {
	dir := t.TempDir()
	p := pool(t, "on session/prompt; text hello; stop end_turn", nil, &subagent.PoolOptions{Dirs: []string{dir}})
	ready(t, p, 1)
	var file bytes.Buffer
	res, err := subagent.Delegate(bounded(t), p, subagent.Request{Dir: dir, Prompt: subagent.Text("go"), Transcript: transcript.NewWriter(&file)})
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, "prewarmed", res.Prewarmed, false)
	check.Equal(t, "spares", p.Spares(), 1)
	check.Equal(t, "first", conversations(t, file.String(), 1)[0].Entries[0].Method(), "initialize")
	check.Equal(t, "the next one is prewarmed", in(t, p, dir).Prewarmed, true)

	p.Close()
	_, err = p.Start(t.Context(), subagent.Request{Dir: dir, Prompt: subagent.Text("go"), Transcript: transcript.NewWriter(io.Discard)})
	asError(t, err, client.KindConfig)
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

// What could not be recorded is told, and is no matter for the run.
func TestTranscriptWarning(t *testing.T) {
	const want = "the transcript is not complete: no space left"
	w := transcript.NewWriter(brokenWriter{errors.New("no space left")})
	s := play(t, "on session/prompt; text hello; stop end_turn", nil)
	req := s.request("go")
	req.Transcript = w
	res := s.do(req)
	ended(t, res, stopreason.Completed, "")
	check.Equal(t, "warnings", strings.Join(res.Warnings, ", "), want)

	for name, p := range map[string]subagent.Provider{
		"no program": missing(t), "no session": scripted(t, `on session/new; fail -32000 "log in"`, nil), "no start": scripted(t, "exit 1", nil),
	} {
		_, err := p.Start(bounded(t), req)
		if e, ok := errors.AsType[*subagent.Error](err); !ok || e.Partial == nil {
			t.Errorf("%s: %v", name, err)
		} else {
			check.Equal(t, name+": warnings", strings.Join(e.Partial.Warnings, ", "), want)
		}
	}
}

// A provider that has no conversation to record refuses to.
func TestTranscriptRefused(t *testing.T) {
	_, err := inProcess(t, "function").Start(t.Context(), subagent.Request{
		Dir: t.TempDir(), Prompt: subagent.Text("answer x"), Transcript: transcript.NewWriter(io.Discard),
	})
	check.Equal(t, "capability", asError(t, err, client.KindCapability).Capability, subagent.CapabilityTranscript)
}
