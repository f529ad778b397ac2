package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/stopreason"
)

// conversation reads a transcript of one.
func conversation(t *testing.T, elem ...string) *transcript.Transcript {
	t.Helper()
	got, err := transcript.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// talk is a script that says one thing.
const talk = "on session/prompt\n  text hello\n  stop end_turn\n"

// --transcript writes one conversation, for its owner only, in place of what was there.
func TestTranscriptFile(t *testing.T) {
	p := newProgram(t)
	writeFile(t, strings.Repeat("an older one, and longer\n", 1000), p.Dir, "old")
	for _, file := range []string{"new", "old", "new"} {
		got := p.run(append([]string{"run", "--json", "--transcript", file, "a question"}, scripted(t, talk)...)...)
		res := got.result(t)
		if got.status != statusOK || len(res.Warnings) > 0 {
			t.Errorf("%s: status %d, warnings %q", file, got.status, res.Warnings)
		}
		c := conversation(t, p.Dir, file)
		if c.Cut || c.Header.RunID != res.RunID || c.Header.Dir != res.Dir || !cmp.Equal(c.Header.Command, res.Agent.Command) {
			t.Errorf("%s: cut %v, %+v", file, c.Cut, c.Header)
		}
		has(t, "the transcript", c.String(), "session/prompt #3", "a question", "hello", "end: exit status 0, after eof")
	}
	if info, err := os.Stat(filepath.Join(p.Dir, "new")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, mode %v", err, info.Mode())
	}

	// A start that fails is told too; what was wrong before it makes no file.
	p.run("run", "--transcript", "failed", "hi", "--", filepath.Join(p.Dir, "no-such-agent"))
	if c := conversation(t, p.Dir, "failed"); c.End() == nil || *c.End() != (transcript.End{}) {
		t.Errorf("%v", c)
	}
	p.run("run", "--transcript", "none", "--sweep", "x", "hi", "--agent", "demo")
	if exists(p.Dir, "none") {
		t.Error("a mistake in usage makes a file")
	}
}

func TestBadTranscript(t *testing.T) {
	p := newProgram(t)
	const policy = `{"rules": []}`
	writeFile(t, policy, p.Dir, "policy.json")
	for file, want := range map[string]string{
		"":            "--transcript is empty",
		"-":           "--transcript takes a file",
		".":           "--transcript: . is no regular file",
		"no/such/x":   "--transcript: open no/such/x: ",
		"policy.json": "--transcript: policy.json is the file of another flag",
		"audit":       "--transcript: audit is the file of another flag",
	} {
		got := p.run(append([]string{"run", "--json", "--transcript", file, "--policy", "policy.json", "--audit", "audit", "hi"}, scripted(t, "write started\n")...)...)
		if got.status != statusUsage || exists(p.Dir, "started") {
			t.Errorf("%q: status %d", file, got.status)
		}
		has(t, "stderr", got.stderr, want)
	}
	if got := readFile(t, p.Dir, "policy.json"); got != policy {
		t.Errorf("the policy is %q now", got)
	}
}

// What cannot be written of a transcript is a warning, and costs nothing else.
func TestTranscriptOnAFullDisk(t *testing.T) {
	if !exists("/dev/full") {
		t.Skip("this machine has no /dev/full")
	}
	got := newProgram(t).run(append([]string{"run", "--json", "--transcript", "/dev/full", "hi"}, scripted(t, talk)...)...)
	res := got.result(t)
	if got.status != statusOK || res.Output != "hello" || len(res.Warnings) != 1 || !strings.HasPrefix(res.Warnings[0], transcriptIncomplete) {
		t.Errorf("status %d, output %q, warnings %q", got.status, res.Output, res.Warnings)
	}
}

// The secrets of a run are not in its transcript.
func TestTranscriptHasNoSecret(t *testing.T) {
	p := newProgram(t)
	const secret = "s3cret-0123456789"
	p.Env = append(p.Env, "SOME_TOKEN="+secret)
	p.run(append([]string{"run", "--transcript", "talk", "--env", "SOME_TOKEN", "my key is " + secret},
		scripted(t, "stderr \"key $env.SOME_TOKEN \"\non session/prompt\n  text \"it is s3cret-0123\"\n  raw \"{\\\"x\\\":\\\"s3cret-\"\n  raw \"0123456789\\\"}\\n\"\n  stop end_turn\n")...)...)
	if text := readFile(t, p.Dir, "talk"); strings.Contains(text, secret) || !strings.Contains(text, "my key is [redacted]") || !strings.Contains(text, `{"x":"[redacted]"}`) {
		t.Error(text)
	}
}

// A fan's runs have a file each.
func TestFanTranscripts(t *testing.T) {
	p := newProgram(t)
	args := func(flags ...string) []string {
		return append(append([]string{"fan", "--json", "--agent", "demo", "--transcript", "talks"}, flags...), append([]string{"hi"}, scripted(t, talk)...)...)
	}
	r := p.run(args("--retries", "1")...).report(t)
	for i, name := range []string{"0000-demo.ndjson", "0001-errand.test.ndjson"} {
		if runtime.GOOS == "windows" && i == 1 {
			name = "0001-errand.test.exe.ndjson"
		}
		c := conversation(t, p.Dir, "talks", name)
		if res := r.Results[i]; c.Cut || c.Header.RunID != res.RunID || len(res.Warnings) > 0 {
			t.Errorf("%s: cut %v, run %q, want %q; warnings %q", name, c.Cut, c.Header.RunID, res.RunID, res.Warnings)
		}
	}

	// One that cannot be recorded runs all the same.
	if err := os.Remove(filepath.Join(p.Dir, "talks", "0000-demo.ndjson")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(p.Dir, "talks", "0000-demo.ndjson"), 0o700); err != nil {
		t.Fatal(err)
	}
	r = p.run(args()...).report(t)
	if w := r.Results[0].Warnings; r.Results[0].Stop != stopreason.Completed || len(w) != 1 || !strings.HasPrefix(w[0], transcriptIncomplete) {
		t.Errorf("stop %s, warnings %q", r.Results[0].Stop, w)
	}

	// A directory that cannot be one is a mistake.
	writeFile(t, "", p.Dir, "file")
	for dir, want := range map[string]string{"": "--transcript is empty", "file": "--transcript: ", "journal": "is the --journal"} {
		if err := os.RemoveAll(filepath.Join(p.Dir, "journal")); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(p.Dir, "journal"), 0o700); err != nil {
			t.Fatal(err)
		}
		got := p.run(append([]string{"fan", "--transcript", dir, "--journal", "journal", "hi"}, scripted(t, "write started\n")...)...)
		if got.status != statusUsage || exists(p.Dir, "started") {
			t.Errorf("%q: status %d", dir, got.status)
		}
		has(t, "stderr", got.stderr, want)
	}
}

// A resumed fan leaves the transcripts of what had completed.
func TestFanTranscriptsResumed(t *testing.T) {
	p := newProgram(t)
	args := []string{"fan", "--agent", "demo", "--transcript", "talks", "--journal", "journal", "hi"}
	p.run(args...)
	before := readFile(t, p.Dir, "talks", "0000-demo.ndjson")
	p.run(append(args, "--resume")...)
	if after := readFile(t, p.Dir, "talks", "0000-demo.ndjson"); before == "" || after != before {
		t.Errorf("before %d bytes, after %d", len(before), len(after))
	}
}
