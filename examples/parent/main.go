// Parent is an ACP agent that gives its work away: it has no model, but one that has
// would be made like this. It hands what it is asked to other agents, all of them at
// once, and answers with what they say.
//
//	errand run "Where are errors swallowed?" -- parent /abs/agents.json
//
// where agents.json names them and says how each is started, and which of the variables
// that are held back it needs:
//
//	{"reviewer": {"command": ["opencode", "acp"], "pass": ["OPENROUTER_API_KEY"]}}
//
// Without any model: {"demo": {"command": ["errand", "demo"]}}.
//
// delegate.go has the tool that a model would be given, agent.go what there is between the
// tool and whoever started us.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/envscrub"
	"github.com/errand-acp/errand/subagent"
)

func main() {
	total := flag.Int("total", 0, "how many `runs` to start in all; 0 is no limit")
	atOnce := flag.Int("at-once", 4, "how many `runs` there may be at once; 0 is no limit")
	show := flag.Bool("tool", false, "print the tool as a model is told of it, and exit")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: parent [-total RUNS] [-at-once RUNS] [-tool] AGENTS.json")
	}
	if err := client.Undumpable(); err != nil { // or the agents could read our environment
		log.Print(err)
	}
	slog.SetLogLoggerLevel(slog.LevelWarn) // the SDK tells of every connection that it was closed
	agents, err := readAgents(flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	limits, err := subagent.NewLimits(subagent.LimitOptions{Total: *total, Runs: *atOnce})
	if err != nil {
		log.Fatal(err)
	}

	// The end of stdin says that nobody needs us any more, and agents are ended as agents
	// are; a signal, that whoever started us has no more time for that.
	kill, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Nor must a client that is gone end us before our agents have ended.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	tool := &delegateTool{agents: agents, limits: limits, kill: kill}
	if *show {
		out := json.NewEncoder(os.Stdout)
		out.SetIndent("", "  ")
		if err := out.Encode(tool.definition()); err != nil {
			log.Fatal(err)
		}
		return
	}
	a := newAgent(tool, think, os.Stdin, os.Stdout)
	select {
	case <-a.done():
	case <-kill.Done():
	}
	a.close()
}

// readAgents reads how agents are started, by their names.
func readAgents(file string) (map[string]client.Command, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list map[string]struct {
		Command []string `json:"command"`
		Pass    []string `json:"pass"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	agents := map[string]client.Command{}
	for name, a := range list {
		if len(a.Command) == 0 {
			return nil, fmt.Errorf("%s: %q has no command", file, name)
		}
		agents[name] = client.Command{Path: a.Command[0], Args: a.Command[1:], Inherit: envscrub.Policy{Pass: a.Pass}}
	}
	if len(agents) == 0 {
		return nil, fmt.Errorf("%s: there are no agents in it", file)
	}
	return agents, nil
}

// think stands where a model belongs, which would be given the tool's definition and call
// it as it sees fit. This one asks all the agents the same, and answers with what they say.
func think(task string, tool *delegateTool, call func(input json.RawMessage) string) string {
	names := slices.Sorted(maps.Keys(tool.agents))
	answers := make([]string, len(names))
	var calls sync.WaitGroup
	for i, name := range names {
		calls.Go(func() {
			input, _ := json.Marshal(delegateInput{Agent: name, Prompt: task})
			answers[i] = call(input)
		})
	}
	calls.Wait()
	if len(names) == 1 {
		return answers[0]
	}
	for i, name := range names {
		answers[i] = name + ": " + answers[i]
	}
	return strings.Join(answers, "\n\n")
}

// taskOf is a prompt as text. Every agent has to take text and links.
func taskOf(prompt []acp.ContentBlock) string {
	var parts []string
	for _, b := range prompt {
		switch {
		case b.Text != nil:
			parts = append(parts, b.Text.Text)
		case b.ResourceLink != nil:
			parts = append(parts, b.ResourceLink.Name+": "+b.ResourceLink.Uri)
		}
	}
	return strings.Join(parts, "\n")
}
