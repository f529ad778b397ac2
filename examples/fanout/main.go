// Fanout asks several agents the same at once, shows their answers side by side, and what
// it took.
//
//	go run ./examples/fanout "Where are errors swallowed?" opencode gemini claude
//	go run ./examples/fanout "Hello" "bin/errand demo" "bin/errand demo"    (without any model)
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"strings"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: fanout QUESTION AGENT...   (a preset, errand agents lists them, or a command)")
	}
	if err := client.Undumpable(); err != nil { // or the agents could read our environment
		log.Print(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.Getwd()
	if err != nil {
		log.Fatal(err)
	}
	question := subagent.Request{Dir: dir, Prompt: subagent.Text(os.Args[1])}
	var tasks []subagent.Task
	for _, name := range os.Args[2:] {
		agent, err := newAgent(name)
		if err != nil {
			log.Fatal(err)
		}
		tasks = append(tasks, subagent.Task{Provider: agent, Request: question})
	}

	// In the order of the tasks. One that fails costs the others nothing, and Ctrl-C keeps
	// what is finished.
	results := subagent.Gather(ctx, tasks, nil)
	total := subagent.Total(results)
	show(os.Stdout, results, total)
	if total.Outcomes[stopreason.Completed] < total.Runs {
		os.Exit(1)
	}
}

// newAgent makes the provider of a preset, or else of a command.
func newAgent(name string) (subagent.Provider, error) {
	preset, ok := client.LookupPreset(name)
	if !ok {
		path, args, _ := strings.Cut(name, " ")
		preset = client.Preset{Path: path, Args: strings.Fields(args)}
	}
	return subagent.NewACP(name, preset.Command(), &subagent.ACPOptions{
		Graces: preset.Graces, Sweep: preset.Sweep, Hints: preset.SecretEnv,
	})
}
