// Package recipes has the code that docs/fan-out.md, docs/policy.md and docs/transcripts.md show, to copy from.
package recipes

import (
	"context"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/subagent"
)

// firstGood returns the first answer that will do, and stops the agents that still work.
func firstGood(ctx context.Context, tasks []subagent.Task, good func(*subagent.Result) bool) *subagent.Result {
	for _, res := range subagent.FanOut(ctx, tasks, &subagent.FanOutOptions{Limit: 4}) {
		if res.Stop.Success() && good(res) {
			return res // the rest are cancelled now, and have ended when it returns
		}
	}
	return nil
}

// limited puts providers under limits that hold for all of them together, wherever their
// runs are started.
func limited(agents ...subagent.Provider) ([]subagent.Provider, error) {
	limits, err := subagent.NewLimits(subagent.LimitOptions{
		Runs:        16,                          // at once
		PerProvider: 4,                           // of each at once
		Providers:   map[string]int{"gemini": 2}, // of this one
		Total:       1000,                        // ever: one more is refused
		Starts:      1,                           // of one command at once
	})
	if err != nil {
		return nil, err
	}
	for i, agent := range agents {
		agents[i] = limits.Provider(agent)
	}
	return agents, nil
}

// robust tries the one agent three times before it tries the other, as long as nothing of
// the prompt was written.
func robust(one, other subagent.Provider) (subagent.Provider, error) {
	return subagent.Fallback("coder", &subagent.FallbackOptions{Retries: 2}, one, other)
}

// prewarmed keeps two agents ready for a directory. Close it when it is not needed any more.
func prewarmed(cmd client.Command, dir string) (*subagent.Pool, error) {
	return subagent.NewPool("coder", cmd, nil, &subagent.PoolOptions{Spares: 2, Dirs: []string{dir}})
}

// private gives each run a home of its own, with the file that the agent logs in by.
func private(cmd client.Command, login string) (subagent.Provider, error) {
	return subagent.NewACP("coder", cmd, &subagent.ACPOptions{Home: &subagent.Home{
		Seed: []subagent.HomeFile{{From: login, To: ".config/coder/login.json"}},
	}})
}

// patches has all the agents do the same task in the same repository, and returns what each
// has changed, by the agent's name. Nothing of the repository is touched.
func patches(ctx context.Context, agents []subagent.Provider, task subagent.Request) (map[string]string, error) {
	var tasks []subagent.Task
	for _, agent := range agents {
		isolated, err := subagent.Worktree(agent, nil)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, subagent.Task{Provider: isolated, Request: task})
	}
	found := map[string]string{}
	for _, res := range subagent.Gather(ctx, tasks, nil) {
		if res.Stop.Success() && res.Patch != nil {
			found[res.Provider] = *res.Patch
		}
	}
	return found, nil
}
