package subagent_test

import (
	"context"
	"fmt"
	"log"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// Three agents at once work on the same repository, and none of them sees the others. What
// each has changed is a patch for git apply.
func ExampleWorktree() {
	agent, err := subagent.NewACP("opencode", client.Command{Path: "opencode", Args: []string{"acp"}},
		&subagent.ACPOptions{Permission: permission.Allow()})
	if err != nil {
		log.Fatal(err)
	}
	isolated, err := subagent.Worktree(agent, nil)
	if err != nil {
		log.Fatal(err)
	}
	task := subagent.Task{Provider: isolated, Request: subagent.Request{
		Dir: "/abs/project", Prompt: subagent.Text("Fix the failing test in ./parser"),
	}}
	for _, res := range subagent.Gather(context.Background(), []subagent.Task{task, task, task}, nil) {
		for _, c := range res.Changes {
			fmt.Println(res.RunID, c.Status, c.Path)
		}
	}
}
