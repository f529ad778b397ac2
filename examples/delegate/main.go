// Delegate hands one task to an ACP agent and prints its answer.
//
//	go run ./examples/delegate "Fix the failing test" opencode acp
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: delegate TASK COMMAND [ARG...]")
	}
	if err := client.Undumpable(); err != nil { // or the agent could read our environment
		log.Print(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.Getwd()
	if err != nil {
		log.Fatal(err)
	}

	agent, err := subagent.NewACP("agent",
		client.Command{Path: os.Args[2], Args: os.Args[3:]},
		&subagent.ACPOptions{Permission: permission.Allow()}) // the default rejects
	if err != nil {
		log.Fatal(err)
	}
	res, err := subagent.Delegate(ctx, agent, subagent.Request{
		Dir:    dir,
		Prompt: subagent.Text(os.Args[1]),
	})
	if err != nil {
		log.Fatal(err) // it never started, and nothing was left behind
	}
	fmt.Println(res.Output)
	if err := res.Err(); err != nil {
		log.Fatal(err) // it ended otherwise than completed; res has the text so far
	}
}
