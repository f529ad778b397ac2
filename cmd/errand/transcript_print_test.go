package main

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client/transcript"
)

// recordedTalk has two conversations, the second of which was cut off.
const recordedTalk = `{"transcript":1,"startedAt":"2026-01-02T15:04:05Z","runId":"run-1","client":{"name":"errand","version":"v1"},"command":["agent","a\u001b[2Jb"],"dir":"/project"}
{"ms":1.5,"from":"client","frame":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}}
{"ms":2,"from":"stderr","text":"a \u202e line"}
{"ms":30.001,"from":"agent","frame":{"jsonrpc":"2.0","id":1,"result":{"title":"\u001b]0;x\u0007"}}}
{"ms":31,"end":{"code":3,"signal":null,"rung":"eof"}}
{"transcript":1,"runId":"run-2","client":{"name":"errand","version":"v1"},"command":["agent"],"dir":"/project"}
{"ms":1,"from":"agent","text":"no frame"}
{"ms":2,"from":"agent","te`

func TestTranscriptCommand(t *testing.T) {
	p := newProgram(t)
	writeFile(t, recordedTalk, p.Dir, "talk")
	got := p.run("transcript", "talk")
	const want = `run run-1: agent a\u{1b}[2Jb, in /project
     1.500 client -> initialize #1 {"protocolVersion":1}
     2.000 stderr |  a \u{202e} line
    30.001 agent  -> initialize #1 = {"title":"\u001b]0;x\u0007"}
    31.000 end: exit status 3, after eof

run run-2: agent, in /project
     1.000 agent  |  no frame
           (the recording was cut off here)
`
	if diff := cmp.Diff(want, got.stdout); diff != "" || got.status != statusOK || got.stderr != "" {
		t.Errorf("status %d, stderr %q, stdout (-want +got):\n%s", got.status, got.stderr, diff)
	}

	// Of a file with a bad line, what comes before it.
	writeFile(t, recordedTalk+"\n"+recordedTalk, p.Dir, "bad")
	got = p.run("transcript", "bad")
	if diff := cmp.Diff(want, got.stdout); diff != "" || got.status != statusUsage {
		t.Errorf("status %d, stdout (-want +got):\n%s", got.status, diff)
	}
	has(t, "stderr", got.stderr, "bad:8: unexpected end of JSON input")

	// It is what the library shows of a run that was recorded.
	p.run(append([]string{"run", "--transcript", "run.ndjson", "hi"}, scripted(t, talk)...)...)
	c, err := transcript.ReadFile(filepath.Join(p.Dir, "run.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.run("transcript", "run.ndjson"); got.stdout != c.String() || c.Cut || got.status != statusOK {
		t.Errorf("status %d, stdout %q, want %q", got.status, got.stdout, c)
	}
}
