package main

import (
	"io"
	"log"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/subagent"
)

func TestMain(m *testing.M) {
	script.Hook()
	log.SetOutput(io.Discard)
	leak.Main(m)
}

func TestAskAll(t *testing.T) {
	agents := &subagent.Registry{}
	for name, src := range map[string]string{
		"good":    `on session/prompt; text "$prompt? Yes."`,
		"crash":   `on session/prompt; text "half of"; exit 3`,
		"refused": `on initialize; exit 2`,
	} {
		path, args := script.Command(t, src)
		agent, err := subagent.NewACP(name, client.Command{Path: path, Args: args}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := agents.Add(agent); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	askAll(t.Context(), agents, subagent.Request{Dir: t.TempDir(), Prompt: subagent.Text("well")}, func(name string, res *subagent.Result, err error) {
		if err != nil {
			got[name] = "not started"
			return
		}
		got[name] = string(res.Stop) + ": " + res.Output
	})
	want := map[string]string{"good": "completed: well? Yes.", "crash": "error: half of", "refused": "not started"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRegistry(t *testing.T) {
	agents, err := registry([]string{"opencode", "gemini"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"gemini", "opencode"}, agents.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if _, err := registry([]string{"no such agent"}); err == nil {
		t.Error("an unknown preset is taken")
	}
}
