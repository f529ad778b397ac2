// Package subagent hands a task to another agent and returns one honest result. It
// is the seam between a program that delegates and whatever carries the task out:
// usually an ACP agent that is started afresh for each run.
//
//	agent, err := subagent.NewACP("opencode", client.Command{
//		Path: "opencode", Args: []string{"acp"},
//		Env:  []string{"OPENROUTER_API_KEY=" + key}, // explicit: reaches the agent
//	}, &subagent.ACPOptions{Permission: permission.Allow()})
//	...
//	res, err := subagent.Delegate(ctx, agent, subagent.Request{
//		Dir:    "/abs/project",
//		Prompt: subagent.Text("Fix the failing test in ./parser"),
//	})
//	if err != nil { ... }     // a *subagent.Error: it never started, nothing was left behind
//	if err := res.Err(); err != nil { ... } // it ended otherwise; res has the text so far
//	fmt.Println(res.Output)
//
// A [Provider] starts runs, a [Registry] holds providers by name, a [Run] is one task
// under way, and a [Result] is what came of it. What the agent does is never a Go
// error once the run has started: a crash, a refusal, a broken pipe are results.
//
// Of many runs there are [FanOut] and [Gather], which carry out tasks at once, and [Total].
// What a run is to have beside it is put around its provider: [Limits] a bound on how many
// there may be, [Fallback] another try or another agent, [Worktree] a git work tree of its
// own. A [Pool] is a provider that keeps agents ready, and [Home] a home of a run's own.
package subagent
