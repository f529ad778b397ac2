package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const recordedScript = `
on session/prompt
  text "Let me see. "
  tool c1 "Write a.txt" kind=edit path=a.txt
  permission c1 "Write a.txt" kind=edit path=a.txt
    option yes allow_once "Yes"
    option no reject_once "No"
    when allowed
      tool-update c1 status=completed
      text "You said: $prompt"
    when other
      text "Then not."
  end
  stderr "all done\n"
  stop end_turn
on eof
  exit 0
`

// recording is the transcript of a run of the program with these flags.
func (p *program) recording(flags ...string) string {
	p.t.Helper()
	file := filepath.Join(p.t.TempDir(), "talk.ndjson")
	args := append(append([]string{"run", "--json", "--transcript", file}, flags...), "hello", "--", mustExecutable(p.t), "demo", "-e", recordedScript)
	if got := p.run(args...); got.status != statusOK {
		p.t.Fatalf("status %d: %s", got.status, got.stderr)
	}
	return file
}

func mustExecutable(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// resultInShort is a result that was printed, without what differs from run to run.
func resultInShort(t *testing.T, stdout string) map[string]any {
	t.Helper()
	var res map[string]any
	if err := json.Unmarshal([]byte(stdout), &res); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	for _, name := range []string{"runId", "startedAt", "timing", "dir", "provider"} {
		delete(res, name)
	}
	agent := res["agent"].(map[string]any)
	delete(agent, "command")
	delete(agent, "path")
	for _, permission := range res["permissions"].([]any) {
		delete(permission.(map[string]any), "ms")
	}
	return res
}

// What the parent makes of the child it makes of the child's replay, in another directory
// too; and a parent that has changed is caught.
func parityReplay(t *testing.T) {
	p := newProgram(t)
	self := mustExecutable(t)
	file := p.recording("--permission", "allow")
	original := p.run("run", "--json", "--permission", "allow", "hello", "--", self, "demo", "-e", recordedScript)
	got := newProgram(t).run("run", "--json", "--permission", "allow", "hello", "--", self, "replay", file)
	if got.status != statusOK {
		t.Fatalf("status %d: %s", got.status, got.stderr)
	}
	if diff := cmp.Diff(resultInShort(t, original.stdout), resultInShort(t, got.stdout)); diff != "" {
		t.Errorf("(-agent +replay):\n%s", diff)
	}
	for _, changed := range []struct {
		args []string
		want string
	}{
		{[]string{"--permission", "allow", "goodbye"}, `session/prompt differs from the recording (entry 5) at params.prompt[0].text: recorded "hello", got "goodbye"`},
		{[]string{"--permission", "reject", "hello"}, `the answer to session/request_permission differs from the recording (entry 9) at result.outcome.optionId: recorded "yes", got "no"`},
		{[]string{"--fs", "read", "--permission", "allow", "hello"}, "initialize differs from the recording (entry 1) at params.clientCapabilities"},
	} {
		got := newProgram(t).run(append(append([]string{"run"}, changed.args...), "--", self, "replay", file)...)
		if got.status != statusFailed {
			t.Errorf("%q: status %d", changed.args, got.status)
		}
		has(t, "stderr", got.stderr, "errand replay: "+changed.want)
		if strings.Count(got.stderr, changed.want) != 1 || strings.Contains(got.stderr, "errand: errand: ") {
			t.Errorf("%q: it is told twice:\n%s", changed.args, got.stderr)
		}
	}
}

func TestReplay(t *testing.T) {
	p := newProgram(t)
	self := mustExecutable(t)
	file := p.recording("--permission", "allow")

	t.Run("lenient", func(t *testing.T) {
		got := newProgram(t).run("run", "--permission", "reject", "--quiet", "goodbye", "--", self, "replay", "--lenient", file)
		if got.status != statusOK {
			t.Errorf("status %d: %s", got.status, got.stderr)
		}
		has(t, "stdout", got.stdout, "You said: hello")
	})

	t.Run("a recording of the replay is the recording", func(t *testing.T) {
		again := filepath.Join(t.TempDir(), "again.ndjson")
		if got := newProgram(t).run("run", "--transcript", again, "--permission", "allow", "hello", "--", self, "replay", file); got.status != statusOK {
			t.Fatalf("status %d: %s", got.status, got.stderr)
		}
		got := newProgram(t).run("run", "--permission", "allow", "--quiet", "hello", "--", self, "replay", again)
		if got.status != statusOK {
			t.Errorf("status %d: %s", got.status, got.stderr)
		}
	})

	t.Run("another parent, which says no more than it must and goes", func(t *testing.T) {
		p := newProgram(t)
		p.run(append([]string{"run", "--transcript", "talk.ndjson", "hello"}, scripted(t, "on initialize\n  answer {\"agentCapabilities\": {\"sessionCapabilities\": {\"close\": {}}}}\non session/prompt\n  text \"You said: $prompt\"\n  stop end_turn\n")...)...)
		has(t, "the recording", readFile(t, p.Dir, "talk.ndjson"), `"session/close"`, `"auth":{}`)
		p.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":1}}
{"jsonrpc":"2.0","id":"b","method":"session/new","params":{"cwd":"/","mcpServers":[]}}
{"jsonrpc":"2.0","id":"c","method":"session/prompt","params":{"sessionId":"session-1","prompt":[{"type":"text","text":"hello"}]}}
`)
		got := p.run("replay", "talk.ndjson")
		if got.status != statusOK || got.stderr != "" {
			t.Errorf("status %d: %s", got.status, got.stderr)
		}
		has(t, "stdout", got.stdout, "You said: hello", `{"jsonrpc":"2.0","id":"c","result":{"stopReason":"end_turn"}}`)
	})

	t.Run("the first of several conversations", func(t *testing.T) {
		first, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		several := filepath.Join(t.TempDir(), "several.ndjson")
		if err := os.WriteFile(several, []byte(string(first)+strings.ReplaceAll(string(first), "hello", "second")), 0o600); err != nil {
			t.Fatal(err)
		}
		got := newProgram(t).run("run", "--permission", "allow", "--quiet", "hello", "--", self, "replay", several)
		if got.status != statusOK {
			t.Errorf("status %d: %s", got.status, got.stderr)
		}
	})
}

// A file that is no recording is told before anything is served.
func TestBadRecording(t *testing.T) {
	dir := t.TempDir()
	const none = "\x00" // there is no such file
	const help = "Run 'errand replay --help'"
	tests := []struct {
		name, text string
		args       []string
		want       string
	}{
		{"no argument", none, nil, "name one FILE, the recording\n" + help},
		{"two", none, []string{"a", "b"}, "name one FILE, the recording\n" + help},
		{"not there", none, []string{"missing.ndjson"}, "missing.ndjson"},
		{"a directory", none, []string{dir}, dir},
		{"empty", "", []string{"bad.ndjson"}, "bad.ndjson: this is no transcript: no conversation in it"},
		{"no transcript", "hello\nworld\n", []string{"bad.ndjson"}, "bad.ndjson:1: this is no transcript: invalid character 'h'"},
		{"no transcript, in one line", "\x00\x1b[2Jhello", []string{"bad.ndjson"}, "bad.ndjson:1: this is no transcript: invalid character"},
		{"no header", `{"ms":1,"from":"agent","text":"x"}` + "\n", []string{"bad.ndjson"}, "bad.ndjson:1: this is no transcript: no header"},
		{"other JSON", "\n{\n  \"a\": 1\n}\n", []string{"bad.ndjson"}, "bad.ndjson:2: this is no transcript: unexpected end of JSON input"},
		{"other JSON in a line", `{"from": 1}` + "\n", []string{"bad.ndjson"}, "bad.ndjson:1: this is no transcript: "},
		{"another version", `{"transcript":2}` + "\n", []string{"bad.ndjson"}, "bad.ndjson:1: version 2"},
		{"a line in the middle", `{"transcript":1}` + "\n{\n" + `{"end":{"code":0,"signal":null,"rung":"eof"}}` + "\n", []string{"bad.ndjson"}, "bad.ndjson:2: "},
	}
	for _, command := range []string{"replay", "transcript"} {
		for _, tt := range tests {
			t.Run(command+", "+tt.name, func(t *testing.T) {
				p := newProgram(t)
				if tt.text != none {
					if err := os.WriteFile(filepath.Join(p.Dir, "bad.ndjson"), []byte(tt.text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				got := p.run(append([]string{command}, tt.args...)...)
				shown := command == "transcript" && tt.name == "a line in the middle" // what comes before it
				if got.status != statusUsage || (got.stdout != "") != shown {
					t.Errorf("status %d, stdout %q", got.status, got.stdout)
				}
				want := strings.NewReplacer("recording", map[string]string{"replay": "recording", "transcript": "transcript"}[command], "errand replay", "errand "+command).Replace(tt.want)
				has(t, "stderr", got.stderr, "errand: ", want)
				if strings.Contains(got.stderr, "--help") != strings.Contains(tt.want, "--help") {
					t.Errorf("it is about the file, and names the help, or the other way round: %s", got.stderr)
				}
			})
		}
	}
}

// So is one that no process could be the agent of.
func TestUnplayableRecording(t *testing.T) {
	const head, noise = `{"transcript":1}` + "\n", `{"from":"agent","text":"x","bytes":%}` + "\n"
	for _, tt := range []struct{ name, text, want string }{
		{"a signal that stops", head + `{"end":{"code":null,"signal":"SIGSTOP","rung":"exit"}}`, "bad.ndjson:2: the agent ended by SIGSTOP"},
		{"an unknown signal", head + `{"end":{"code":null,"signal":"SIGBOGUS\u001b[31m","rung":"exit"}}`, `bad.ndjson:2: the agent ended by SIGBOGUS\u{1b}[31m`},
		{"a status", head + `{"end":{"code":777,"signal":null,"rung":"exit"}}`, "bad.ndjson:2: the agent ended with status 777"},
		{"a status below zero", head + `{"end":{"code":-5,"signal":null,"rung":"exit"}}`, "bad.ndjson:2: the agent ended with status -5"},
		{"a line without end", head + strings.Replace(noise, "%", "9000000000000000000", 1), "bad.ndjson:2: bytes is 9000000000000000000"},
	} {
		for _, flags := range [][]string{nil, {"--lenient"}} {
			p := newProgram(t)
			if err := os.WriteFile(filepath.Join(p.Dir, "bad.ndjson"), []byte(tt.text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			got := p.run(append(append([]string{"replay"}, flags...), "bad.ndjson")...)
			if got.status != statusUsage || got.stdout != "" || !strings.Contains(got.stderr, "errand: "+tt.want) || strings.Contains(got.stderr, "--help") {
				t.Errorf("%s: status %d, stdout %q, stderr %q, want %q", tt.name, got.status, got.stdout, got.stderr, tt.want)
			}
		}
	}
}
