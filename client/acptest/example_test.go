package acptest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/client/acptest"
	"github.com/errand-acp/errand/client/transcript"
)

var t *testing.T // the test's own

// A test of an agent: it may write one file, and writes it.
func Example() {
	agent := acptest.Start(t, client.Command{Path: "./my-agent"}, nil)
	dir := t.TempDir()
	turn := agent.Session(dir).Prompt("write hello.txt")
	edit := turn.ToolCall("edit")
	turn.Permission("edit").Allow()
	edit.Status("completed").Path("hello.txt")
	turn.Text("Done")
	turn.Stop("end_turn")
	if _, err := os.Stat(filepath.Join(dir, "hello.txt")); err != nil {
		t.Error(err)
	}
	agent.Close().Clean()
}

// A cancel is answered though a permission is pending.
func ExampleTurn_Cancel() {
	agent := acptest.Start(t, client.Command{Path: "./my-agent"}, nil)
	turn := agent.Session(t.TempDir()).Prompt("write hello.txt")
	turn.Permission("edit") // and no answer
	turn.Cancel()
	turn.Stop("cancelled")
}

func ExampleGolden() {
	agent := acptest.Start(t, client.Command{Path: "./my-agent"}, nil)
	agent.Session("").Prompt("hello").Stop("end_turn")
	agent.Close()
	talk := agent.Transcript()
	acptest.Golden(t, "testdata/hello.ndjson", talk,
		transcript.IDs(), transcript.Times(), transcript.Versions(), transcript.Command("my-agent"),
		transcript.Path(talk.Header.Dir, "$DIR"))
}

// A test of a client: what does it make of an agent that dies?
func ExampleScriptPipe() {
	in, out := acptest.ScriptPipe(t, `on session/prompt; text "half of it"; exit 3`)
	conn := client.NewConn(nil, in, out, nil)
	_ = conn // or the client under test
}

func ExampleScript() {
	cmd := acptest.Script(t, `
		on session/prompt
		  text "Hello, $prompt"
	`)
	_ = cmd // for what starts processes: subagent.NewACP, client.Start, os/exec
}

// Subtests share an agent that takes long to start.
func ExampleAgent_With() {
	agent := acptest.Start(t, client.Command{Path: "./my-agent"}, nil)
	for _, prompt := range []string{"hello", "goodbye"} {
		t.Run(prompt, func(t *testing.T) {
			agent.With(t).Session(t.TempDir()).Prompt(prompt).Stop("end_turn")
		})
	}
}
