package blackbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/client/acptest"
	"github.com/errand-acp/errand/client/transcript"
)

// options are for an agent with a model behind it, which takes its time, and may write
// its files itself or have us write them.
var options = &acptest.Options{Timeout: 2 * time.Minute, Client: client.Options{Files: client.FilesWrite}}

func TestAnswers(t *testing.T) {
	agent := acptest.Start(t, underTest(t), options)
	turn := agent.Session(t.TempDir()).Prompt("What is 6 times 7? Reply with the number alone")
	turn.Text("42") // which the prompt does not say: an echo is no answer
	turn.Stop("end_turn")
	agent.Close().Clean() // its stdin was closed: it went, with status 0 and all of its group
}

func TestWritesWhatItMay(t *testing.T) {
	agent := acptest.Start(t, underTest(t), options)
	dir := t.TempDir()
	turn := agent.Session(dir).Prompt("Write the word hello into the file hello.txt, with your tool for that")
	edit := turn.ToolCall("edit")
	turn.Permission("edit").Allow()
	edit.Status("completed").Path("hello.txt")
	turn.Stop("end_turn")
	if text, err := os.ReadFile(filepath.Join(dir, "hello.txt")); err != nil || strings.TrimSpace(string(text)) != "hello" {
		t.Errorf("hello.txt has %q, %v", text, err)
	}
}

func TestWritesNotWhatItMayNot(t *testing.T) {
	agent := acptest.Start(t, underTest(t), options)
	dir := t.TempDir()
	turn := agent.Session(dir).Prompt("Write the word hello into the file hello.txt, with your tool for that")
	turn.Permission("edit").Reject()
	turn.Output() // waits for the end: some agents end such a turn as cancelled
	if _, err := os.Stat(filepath.Join(dir, "hello.txt")); err == nil {
		t.Error("hello.txt was written")
	}
}

func TestCancelWhileItSpeaks(t *testing.T) {
	agent := acptest.Start(t, underTest(t), options)
	session := agent.Session(t.TempDir())
	turn := session.Prompt("Please count from 1 to 1000, one number a line")
	turn.Text("2")
	turn.Cancel()
	turn.Stop("cancelled")

	turn = session.Prompt("What is 6 times 7? Reply with the number alone") // it is as good as before
	turn.Text("42")
	turn.Stop("end_turn")
}

func TestCancelWhileItAsks(t *testing.T) {
	agent := acptest.Start(t, underTest(t), options)
	dir := t.TempDir()
	turn := agent.Session(dir).Prompt("Write the word hello into the file hello.txt, with your tool for that")
	turn.Permission("edit") // and no answer
	turn.Cancel()
	turn.Stop("cancelled")
	if _, err := os.Stat(filepath.Join(dir, "hello.txt")); err == nil {
		t.Error("hello.txt was written")
	}
}

// What the kit collects of a turn is plain data, to be compared as a whole.
func TestSaysAndDoes(t *testing.T) {
	if *agent != "" {
		t.Skip("a model does not say the same twice")
	}
	agent := acptest.Start(t, underTest(t), options)
	dir := t.TempDir()
	turn := agent.Session(dir).Prompt("Write hello.txt")
	edit := turn.ToolCall("edit")
	turn.Permission("edit").Allow()
	turn.Stop("end_turn")
	if diff := cmp.Diff([]string{"Done."}, turn.Messages()); diff != "" {
		t.Errorf("what it says (-want +got):\n%s", diff)
	}
	done := acp.ToolCallUpdate{
		ToolCallId: "write-1", Title: new("Write hello.txt"), Kind: new(acp.ToolKindEdit), Status: new(acp.ToolCallStatusCompleted),
		Locations: []acp.ToolCallLocation{{Path: filepath.Join(dir, "hello.txt")}},
	}
	if diff := cmp.Diff(done, edit.Call()); diff != "" {
		t.Errorf("the tool call, as it ended (-want +got):\n%s", diff)
	}
	var kinds []string
	for _, update := range turn.Updates() {
		kinds = append(kinds, update.Kind)
	}
	if diff := cmp.Diff([]string{"tool_call", "tool_call_update", "agent_message_chunk"}, kinds); diff != "" {
		t.Errorf("the updates (-want +got):\n%s", diff)
	}
}

// What the agent and its client say to each other is what it was last time. After a change
// that is meant: go test -run TestConversation -update.
func TestConversation(t *testing.T) {
	if *agent != "" {
		t.Skip("a model does not say the same twice")
	}
	agent := acptest.Start(t, underTest(t), options)
	dir := t.TempDir()
	turn := agent.Session(dir).Prompt("Write hello.txt")
	turn.Permission("edit").Allow()
	turn.Stop("end_turn")
	agent.Close()
	acptest.Golden(t, "testdata/hello.ndjson", agent.Transcript(),
		transcript.IDs(), transcript.Times(), transcript.Versions(), transcript.Command("agent"),
		transcript.Path(dir, "$DIR"), transcript.Path(agent.Client().Dir(), "$AGENT"))
}

// The agent keeps the protocol, rule by rule. docs/conformance.md lists the rules.
func TestProtocol(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts many agents")
	}
	acptest.Conformance(t, underTest(t), &acptest.ConformanceOptions{
		Prompts: map[string]string{ // what makes the agent do it
			"tool": "Write the word hello into the file hello.txt, with your tool for that",
			"long": "Please count from 1 to 1000, one number a line",
		},
		Known: nil, // the ids of rules that it is known to break, and why that is accepted
	})
}
