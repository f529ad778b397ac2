package conform

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/internal/script"
)

// A recording as text, for the fuzzer: a line for each entry, as a transcript has it, and
// before it "@label waited note" for each mark on it.

func recordingText(r *recording) string {
	var b strings.Builder
	marks := r.marks
	for i := 0; i <= len(r.entries); i++ {
		for len(marks) > 0 && marks[0].index <= i {
			b.WriteString("@" + marks[0].label + " " + strconv.FormatInt(int64(marks[0].waited), 10) + " " + strconv.Quote(marks[0].note) + "\n")
			marks = marks[1:]
		}
		if i < len(r.entries) {
			line, _ := json.Marshal(r.entries[i])
			b.Write(append(line, '\n'))
		}
	}
	return b.String()
}

func parseRecording(scene, text string) *recording {
	r := &recording{scene: scene}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "@"); ok {
			label, rest, _ := strings.Cut(rest, " ")
			waited, note, _ := strings.Cut(rest, " ")
			ns, _ := strconv.ParseInt(waited, 10, 64)
			note, _ = strconv.Unquote(note)
			r.marks = append(r.marks, mark{label: label, index: len(r.entries), waited: time.Duration(ns), note: note})
			continue
		}
		var e transcript.Entry
		if json.Unmarshal([]byte(line), &e) != nil {
			e = transcript.Entry{From: transcript.FromAgent, Text: line}
		}
		r.entries = append(r.entries, e)
	}
	return r
}

// recordScenes plays all scenes with a scripted agent.
func recordScenes(t testing.TB, src, scratch string) []*recording {
	t.Helper()
	o, err := (&Options{Timeout: 5 * time.Second, ExitTimeout: 2 * time.Second, AuthMethod: "key"}).complete()
	if err != nil {
		t.Fatal(err)
	}
	path, args := script.Command(t, src)
	trial := newTrial(t.Context(), Command{Path: path, Args: args, Env: []string{"GORACE=atexit_sleep_ms=0"}}, o, scratch)
	var list []*recording
	for _, s := range scenes {
		list = append(list, trial.play(s))
	}
	return list
}

// FuzzJudges: no judge panics, and none passes a rule without an entry that shows it,
// whatever was recorded. The corpus in testdata is what an honest agent did:
// ERRAND_RECORD=1 go test -run TestRecordCorpus makes it anew.
func FuzzJudges(f *testing.F) {
	files, err := filepath.Glob("testdata/recordings/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatalf("there are no recordings: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(strings.TrimSuffix(filepath.Base(file), ".txt"), string(text))
	}
	rules := Rules()
	f.Fuzz(func(t *testing.T, scene, text string) {
		r := parseRecording(scene, text)
		for _, rule := range rules {
			o := rule.judge(r)
			switch {
			case o.verdict == Pass && len(o.entries) == 0:
				t.Errorf("%s passes, and nothing shows it", rule.ID)
			case o.why == "":
				t.Errorf("%s: %s, and nothing says why", rule.ID, o.verdict)
			case o.verdict != Pass && o.verdict != Fail && o.verdict != NotApplicable:
				t.Errorf("%s: there is no verdict %q for one recording", rule.ID, o.verdict)
			}
		}
		if b, err := json.Marshal(judge(rules[0], r)); err != nil || !json.Valid(b) {
			t.Errorf("the JSON: %v", err)
		}
	})
}

// What is cut off anywhere, or lacks one line, makes no judge panic either.
func TestJudgesOfDamage(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("testdata/recordings/*.txt")
	for _, file := range files {
		text := read(t, file)
		scene := strings.TrimSuffix(filepath.Base(file), ".txt")
		lines := strings.SplitAfter(text, "\n")
		for i := 0; i < len(lines); i += 3 { // each of them takes long with the race detector
			for _, damaged := range []string{strings.Join(lines[:i], ""), strings.Join(lines[:i], "") + strings.Join(lines[i+1:], "")} {
				r := parseRecording(scene, damaged)
				for _, rule := range Rules() {
					if o := rule.judge(r); o.verdict == Pass && len(o.entries) == 0 || o.why == "" {
						t.Errorf("%s of %s without line %d: %s %q", rule.ID, scene, i, o.verdict, o.why)
					}
				}
			}
		}
	}
}

// TestRecordCorpus makes testdata/recordings from what an honest agent does.
func TestRecordCorpus(t *testing.T) {
	if os.Getenv("ERRAND_RECORD") == "" {
		t.Skip("ERRAND_RECORD is not set: the recordings stay as they are")
	}
	if err := os.MkdirAll("testdata/recordings", 0o755); err != nil {
		t.Fatal(err)
	}
	honest, err := os.ReadFile("testdata/honest.script")
	if err != nil {
		t.Fatal(err)
	}
	scratch := t.TempDir()
	for _, r := range recordScenes(t, string(honest), scratch) {
		for i := range r.entries {
			if len(r.entries[i].Frame) > shownFrame { // large frames make a fuzzer slow, and show nothing
				r.entries[i].Frame, r.entries[i].Text = nil, "large"
			}
		}
		if err := os.WriteFile(filepath.Join("testdata/recordings", r.scene+".txt"), []byte(strings.ReplaceAll(recordingText(r), scratch, "/scratch")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
