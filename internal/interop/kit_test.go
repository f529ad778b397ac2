package main

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/client/acptest"
	"github.com/errand-acp/errand/internal/leak"
)

// conversationFile is given by the program; an ordinary test run has none.
var conversationFile = flag.String("conversation", "", "the `FILE` of the conversation that TestKit holds")

func TestMain(m *testing.M) {
	acptest.Hook()
	acptest.UpdateFlag()
	leak.Main(m)
}

// TestKit holds a conversation with somebody else's agent, for the program.
func TestKit(t *testing.T) {
	if *conversationFile == "" {
		t.Skip("make interop runs it, with an agent")
	}
	text, err := os.ReadFile(*conversationFile)
	if err != nil {
		t.Fatal(err)
	}
	var c conversation
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	hold(t, c)
}

// hold holds the conversation and checks what came of it.
func hold(t *testing.T, c conversation) {
	agent := acptest.Start(t, client.Command{Path: c.Command[0], Args: c.Command[1:], Env: c.Env, Dir: c.Dir}, &acptest.Options{Timeout: 2 * time.Minute})
	session := agent.Session(c.Dir)
	if c.Prompt != "" {
		turn := session.Prompt(c.Prompt)
		turn.Stop("end_turn")
		if !strings.Contains(turn.Output(), word) {
			t.Fatalf("the answer %q does not say %s", turn.Output(), word)
		}
	}
	if c.Write != "" {
		turn := session.Prompt(c.Write)
		turn.Permission("").Allow()
		turn.Stop("end_turn")
		if !strings.Contains(turn.Output(), c.Says) {
			t.Fatalf("the answer %q does not say %q", turn.Output(), c.Says)
		}
		if c.File != "" {
			written, err := os.ReadFile(c.File)
			if err != nil || strings.TrimSpace(string(written)) != word {
				t.Fatalf("the file has %q, %v; want %s", written, err, word)
			}
		}
	}
	agent.Close()
}

// The conversation works with an agent that does as it is told.
func TestConversation(t *testing.T) {
	c := acptest.Script(t, honest)
	dir := t.TempDir()
	hold(t, conversation{
		Command: append([]string{c.Path}, c.Args...), Env: append(c.Env, "KEY=of-the-interop-test"), Dir: dir,
		Prompt: "Answer with the one word " + word + ".",
		Write:  strings.ReplaceAll(writePrompt, "{dir}", dir), File: dir + "/" + wroteFile,
	})
}
