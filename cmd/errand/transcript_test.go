package main

import (
	"encoding/json"
	"fmt"
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
	writeFile(t, "{\"transcript\":1}\n"+strings.Repeat("an older one, and longer\n", 1000), p.Dir, "old")
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

// A file that is of use to the same command, or that is no transcript, is not emptied.
func TestTranscriptDestroysNothing(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	const old = `{"transcript":1,"runId":"r","client":{"name":"e","version":"1"},"command":["a"],"dir":"/d"}` + "\n"
	texts := map[string]string{
		"recording": old, "script": "# " + old + "write started\n", "sub/recording": old, "prompt": "a question\n", "env": "A=b\n",
		"json": `{"transcript":"of a talk"}`, "list": `["transcript"]`, "keep": old, "blank": "\n",
	}
	for _, dir := range []string{"sub", "talks"} {
		if err := os.Mkdir(filepath.Join(p.Dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	texts["talks/0000-errand.test.ndjson"] = old
	if runtime.GOOS == "windows" {
		texts["talks/0000-errand.test.exe.ndjson"] = old
	}
	for name, text := range texts {
		writeFile(t, text, p.Dir, name)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	agent := scripted(t, "write started\n")
	own := "talks/0000-" + filepath.Base(self) + ".ndjson"
	for name, tt := range map[string]struct {
		args  []string
		stdin string
		want  string
	}{
		"stdin":               {append([]string{"run", "--transcript", "keep", "-"}, agent...), "keep", "keep is stdin"},
		"stdin of a fan":      {append([]string{"fan", "--transcript", "talks", "hi"}, agent...), own, own + " is stdin"},
		"what is replayed":    {[]string{"run", "--transcript", "recording", "hi", "--", self, "replay", "recording"}, "", "recording is a file of the agent's command"},
		"from elsewhere":      {[]string{"run", "--transcript", "sub/recording", "--dir", "sub", "hi", "--", self, "replay", "recording"}, "", "sub/recording is a file of the agent's command"},
		"by another name":     {[]string{"run", "--transcript", "sub/../recording", "hi", "--", self, "replay", filepath.Join(p.Dir, "recording")}, "", "is a file of the agent's command"},
		"the value of a flag": {[]string{"run", "--transcript", "recording", "hi", "--", self, "replay", "--file=recording"}, "", "is a file of the agent's command"},
		"what a fan replays":  {[]string{"fan", "--transcript", "talks", "hi", "--", self, "replay", own}, "", own + " is a file of the agent's command"},
		"a script":            {[]string{"run", "--transcript", "script", "hi", "--", self, "demo", "script"}, "", "script is a file of the agent's command"},
		"a wrap's":            {append([]string{"run", "--transcript", "recording", "--wrap", "cat recording", "hi"}, agent...), "", "recording is a file of the agent's command"},
		"a prompt":            {append([]string{"run", "--transcript", "prompt", "hi"}, agent...), "", "prompt is not empty, and no transcript"},
		"other JSON":          {append([]string{"run", "--transcript", "json", "hi"}, agent...), "", "json is not empty, and no transcript"},
		"a list":              {append([]string{"run", "--transcript", "list", "hi"}, agent...), "", "list is not empty, and no transcript"},
		"an empty line":       {append([]string{"run", "--transcript", "blank", "hi"}, agent...), "", "blank is not empty, and no transcript"},
		"a file of variables": {append([]string{"run", "--transcript", "env", "--env-file", "env", "hi"}, agent...), "", "env is the file of another flag"},
		"what is asked":       {append([]string{"run", "--transcript", "recording", "--permission-command", "cat ./recording", "hi"}, agent...), "", "recording is the file of another flag"},
	} {
		p.Stdin = nil
		if tt.stdin != "" {
			f, err := os.Open(filepath.Join(p.Dir, tt.stdin))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			p.Stdin = f
		}
		got := p.run(tt.args...)
		if got.status != statusUsage || exists(p.Dir, "started") {
			t.Errorf("%s: status %d", name, got.status)
		}
		has(t, name, got.stderr, "--transcript: ", tt.want)
	}
	for name, text := range texts {
		if got := readFile(t, p.Dir, name); got != text {
			t.Errorf("%s is %q now", name, got)
		}
	}
}

// A run that others write into the file of is told.
func TestTranscriptOfTwoRuns(t *testing.T) {
	for name, tt := range map[string]struct {
		write string // by another run
		want  string
	}{
		"left alone": {"", ""},
		"longer":     {"line\nother\n", " is not what was written to it: something else writes there, too"},
		"shorter":    {"x", " is shorter than what was written to it"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "talk")
			a, err := openRecord("--transcript", transcriptIncomplete, file, os.Stdout)
			if err == nil {
				err = a.empty()
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := a.Write([]byte("line\n")); err != nil {
				t.Fatal(err)
			}
			if tt.write != "" {
				writeFile(t, tt.write, file)
			}
			want := tt.want
			if want != "" {
				want = transcriptIncomplete + ": " + file + want
			}
			if got := a.end(); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
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

	// Who asked for one learns of it, with --quiet too.
	got = newProgram(t).run(append([]string{"run", "--quiet", "--transcript", "/dev/full", "hi"}, scripted(t, talk)...)...)
	if got.status != statusOK || got.stdout != "hello\n" || strings.Count(got.stderr, transcriptIncomplete) != 1 {
		t.Errorf("status %d, stdout %q, stderr %q", got.status, got.stdout, got.stderr)
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

// Nor are they as URLs have them: in its transcript, in what is shown of the agent's stderr,
// and in its error.
func TestTranscriptHasNoSecretInAURL(t *testing.T) {
	const secret = "ab+/cd=ef/gh+12345"
	forms := []string{"ab%2B/cd%3Def/gh%2B12345", "ab%2b%2fcd%3def%2fgh%2b12345", `ab\\u00252B\\/cd%3Def\\/gh%2B12345`}
	p := newProgram(t)
	p.Env = append(p.Env, "MY_TOKEN="+secret)
	var script strings.Builder
	for _, form := range forms {
		fmt.Fprintf(&script, "stderr \"GET /?key=%[1]s&x=1\\n\"\nnoise \"noise %[1]s\"\n", form)
	}
	script.WriteString("on session/prompt\n")
	for _, form := range forms {
		fmt.Fprintf(&script, "  text \"it is %[1]s.\"\n", form)
	}
	fmt.Fprintf(&script, "  fail -32603 \"no: %s\"\n", strings.Join(forms, " "))
	got := p.run(append([]string{"run", "--json", "--transcript", "talk", "--env", "MY_TOKEN", "x"}, scripted(t, script.String())...)...)
	var result struct {
		Error      struct{ Message string }
		StderrTail string
	}
	if err := json.Unmarshal([]byte(got.stdout), &result); err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{"transcript": readFile(t, p.Dir, "talk"), "stderr": got.stderr, "message": result.Error.Message, "tail": result.StderrTail}
	for what, text := range shown {
		if strings.Contains(text, "12345") {
			t.Errorf("%s: %s", what, text)
		}
	}
	has(t, "message", shown["message"], "no: [redacted] [redacted] [redacted]")
	has(t, "tail", shown["tail"], "GET /?key=[redacted]&x=1")
	has(t, "transcript", shown["transcript"], "GET /?key=[redacted]&x=1", "noise [redacted]", "it is [redacted].")
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

	// One that cannot be recorded any more once others run runs all the same, and is told of.
	spoiling := []string{"fan", "--jobs", "1", "--transcript", "spoiled", "--prompts", p.promptFile("one", "two")}
	second := "spoiled/0001-" + filepath.Base(scripted(t, "")[1]) + ".ndjson"
	spoiling = append(spoiling, scripted(t, "write "+second+"\n"+talk)...)
	r = p.run(append(spoiling[:1:1], append([]string{"--json"}, spoiling[1:]...)...)...).report(t)
	if w := r.Results[1].Warnings; r.Results[1].Stop != stopreason.Completed || len(w) != 1 || !strings.HasPrefix(w[0], transcriptIncomplete) {
		t.Errorf("stop %s, warnings %q", r.Results[1].Stop, w)
	}
	if err := os.RemoveAll(filepath.Join(p.Dir, "spoiled")); err != nil {
		t.Fatal(err)
	}
	has(t, "stderr", p.run(append(spoiling[:1:1], append([]string{"--quiet"}, spoiling[1:]...)...)...).stderr, transcriptIncomplete)

	// What is no file from the beginning, or only leads to one, is refused before anything runs.
	victim := writeFile(t, "{\"transcript\":1}\n", p.Dir, "victim")
	for what, make := range map[string]func(name string) error{
		"a directory": func(name string) error { return os.Mkdir(name, 0o700) },
		"a link":      func(name string) error { return os.Symlink(victim, name) },
		"a link into nothing": func(name string) error {
			return os.Symlink(filepath.Join(p.Dir, "made"), name)
		},
	} {
		if err := os.RemoveAll(filepath.Join(p.Dir, "talks")); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(p.Dir, "talks"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := make(filepath.Join(p.Dir, "talks", "0000-demo.ndjson")); err != nil {
			t.Logf("%s: %v", what, err) // Windows has no links for everybody
			continue
		}
		got := p.run(append([]string{"fan", "--agent", "demo", "--transcript", "talks", "hi"}, scripted(t, "write started\n")...)...)
		if got.status != statusUsage || exists(p.Dir, "started") || exists(p.Dir, "made") {
			t.Errorf("%s: status %d", what, got.status)
		}
		has(t, "stderr", got.stderr, "--transcript: talks/0000-demo.ndjson is no regular file")
	}
	if got := readFile(t, victim); got != "{\"transcript\":1}\n" {
		t.Errorf("what a link leads to is %q", got)
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

// Nor is what the program itself reads or writes.
func TestTranscriptIsNoStream(t *testing.T) {
	file := writeFile(t, "{\"transcript\":1}\n", t.TempDir(), "talk")
	open := func(name string) *os.File {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	null := open(os.DevNull)
	for name, tt := range map[string]struct {
		con  *console
		want string
	}{
		"none":   {&console{in: null, out: null, err: null}, ""},
		"stdin":  {&console{in: open(file), out: null, err: null}, " is stdin"},
		"stdout": {&console{in: null, out: open(file), err: null}, " is stdout, which has the answer"},
		"stderr": {&console{in: null, out: null, err: open(file)}, " is stderr"},
		"closed": {&console{}, ""},
	} {
		why := ""
		if err := (&task{}).mayEmpty(file, tt.con); err != nil {
			why = strings.TrimPrefix(err.Error(), file)
		}
		if why != tt.want {
			t.Errorf("%s: %q, want %q", name, why, tt.want)
		}
	}
}
