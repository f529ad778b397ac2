package subagent_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/errand-acp/errand/subagent"
)

// An agent that is slow to start is ready before there is something to do for it. Where it
// is not, the run starts as any other.
func ExampleNewPool() {
	dir, err := os.MkdirTemp("", "project")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	agents, err := subagent.NewPool("helper", example(`on session/prompt; text "here I am"`), nil, &subagent.PoolOptions{
		Dirs: []string{dir}, Spares: 2,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer agents.Close()

	res, err := subagent.Delegate(context.Background(), agents, subagent.Request{Dir: dir, Prompt: subagent.Text("where are you?")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Output)
	// Output: here I am
}

// Runs at the same time that share nothing: each finds the same settings in a home of its
// own, and what it leaves there goes with it.
func ExampleHome() {
	settings, err := os.CreateTemp("", "settings")
	if err != nil {
		log.Fatal(err)
	}
	defer os.Remove(settings.Name())
	fmt.Fprint(settings, "theme: dark")
	settings.Close()

	agent, err := subagent.NewACP("helper", example(`
		on session/prompt
			read "$env.HOME/.helper/settings"
			text "$answer"`), &subagent.ACPOptions{
		Home: &subagent.Home{Seed: []subagent.HomeFile{{From: settings.Name(), To: ".helper/settings"}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	res, err := subagent.Delegate(context.Background(), agent, subagent.Request{Dir: os.TempDir(), Prompt: subagent.Text("how do you look?")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Output)
	// Output: theme: dark
}
