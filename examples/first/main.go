// First has several agents race for the same task: the first that completes it wins, and
// the rest are cancelled. When it has ended, so have all of them.
//
//	go run ./examples/first "Which of the tests is flaky, and why?" opencode gemini claude
//	go run ./examples/first "Hello" "bin/errand demo" "bin/errand demo"    (without any model)
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/subagent"
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: first TASK AGENT...   (a preset, errand agents lists them, or a command)")
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
	var tasks []subagent.Task
	for _, name := range os.Args[2:] {
		agent, err := newAgent(name)
		if err != nil {
			log.Fatal(err)
		}
		tasks = append(tasks, subagent.Task{Provider: agent, Request: subagent.Request{
			Dir: dir, Prompt: subagent.Text(os.Args[1]),
		}})
	}

	// Agents that wait for a place are not in the race: all of them at once.
	race := &subagent.FanOutOptions{Want: 1, Limit: subagent.NoLimit}
	won := false
	for _, res := range subagent.FanOut(ctx, tasks, race) {
		log.Printf("%s: %s after %.1f s", res.Provider, res.Stop, res.Timing.TotalMs/1000)
		switch {
		case res.Stop.Success() && !won:
			won = true
			fmt.Println(res.Output)
		case res.Error != nil:
			log.Print(res.Error)
		}
	}
	if !won {
		log.Fatal("nobody has completed it")
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
