// Orchestrate asks several agents the same at once and shows what each made of it.
//
//	go run ./examples/orchestrate "Where are errors swallowed?" opencode gemini
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/subagent"
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: orchestrate TASK PRESET...   (example-go is one without a model; errand agents lists them)")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.Getwd()
	if err != nil {
		log.Fatal(err)
	}
	agents, err := registry(os.Args[2:])
	if err != nil {
		log.Fatal(err)
	}
	askAll(ctx, agents, subagent.Request{Dir: dir, Prompt: subagent.Text(os.Args[1])}, func(name string, res *subagent.Result, err error) {
		if err != nil {
			log.Print(err) // it never started; the text names the agent
			return
		}
		fmt.Printf("== %s: %s after %.1f s\n%s\n", name, res.Stop, res.Timing.TotalMs/1000, res.Output)
	})
}

// registry holds the agents of these presets under their names.
func registry(names []string) (*subagent.Registry, error) {
	agents := &subagent.Registry{}
	for _, name := range names {
		preset, ok := client.LookupPreset(name)
		if !ok {
			return nil, fmt.Errorf("there is no preset %q", name)
		}
		agent, err := subagent.NewACP(name, preset.Command(), &subagent.ACPOptions{
			Graces: preset.Graces, Sweep: preset.Sweep, Hints: preset.SecretEnv,
		})
		if err != nil {
			return nil, err
		}
		if err := agents.Add(agent); err != nil {
			return nil, err
		}
	}
	return agents, nil
}

// askAll hands req to every agent, four at a time, and tells each result as it comes.
// An agent that fails costs the others nothing; the end of ctx ends them all.
func askAll(ctx context.Context, agents *subagent.Registry, req subagent.Request,
	tell func(name string, res *subagent.Result, err error)) {
	var one sync.Mutex // held while tell runs
	var group errgroup.Group
	group.SetLimit(4)
	for _, name := range agents.Names() {
		group.Go(func() error {
			var res *subagent.Result
			run, err := agents.Start(ctx, name, req)
			if err == nil {
				for u := range run.Updates() { // as they come; ends with the turn
					log.Printf("%s: %s", name, u.Kind)
				}
				res = run.Close() // always: it ends whatever the run started
			}
			one.Lock()
			defer one.Unlock()
			tell(name, res, err)
			return nil
		})
	}
	group.Wait()
}
