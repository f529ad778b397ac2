package subagent_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/subagent"
)

// agent is a provider for the examples that answers each prompt with its name.
func agent(name string) subagent.Provider {
	p, err := subagent.NewFunc(name, func(_ context.Context, _ subagent.Request, update func(acp.SessionUpdate)) (acp.StopReason, error) {
		update(acp.UpdateAgentMessageText("so says " + name))
		return acp.StopReasonEndTurn, nil
	})
	if err != nil {
		log.Fatal(err)
	}
	return p
}

// A race: the first agent that completes wins, the others are cancelled.
func ExampleFanOut() {
	slow, err := subagent.NewFunc("slow", func(ctx context.Context, _ subagent.Request, _ func(acp.SessionUpdate)) (acp.StopReason, error) {
		<-ctx.Done()
		return acp.StopReasonCancelled, nil
	})
	if err != nil {
		log.Fatal(err)
	}
	req := subagent.Request{Dir: os.TempDir(), Prompt: subagent.Text("Which of these tests is flaky?")}
	tasks := []subagent.Task{{Provider: slow, Request: req}, {Provider: agent("gemini"), Request: req}}
	for i, res := range subagent.FanOut(context.Background(), tasks, &subagent.FanOutOptions{Want: 1}) {
		if res.Stop.Success() {
			fmt.Println(i, res.Output)
		}
	}
	// Output:
	// 1 so says gemini
}

// The same question to several agents, side by side, and what it came to.
func ExampleGather() {
	var tasks []subagent.Task
	for _, name := range []string{"opencode", "gemini", "claude"} {
		tasks = append(tasks, subagent.Task{
			Provider: agent(name),
			Request:  subagent.Request{Dir: os.TempDir(), Prompt: subagent.Text("What does this package do?")},
		})
	}
	results := subagent.Gather(context.Background(), tasks, nil)
	for _, res := range results {
		fmt.Println(res.Provider+":", res.Output)
	}
	fmt.Println(subagent.Total(results).Outcomes["completed"], "completed")
	// Output:
	// opencode: so says opencode
	// gemini: so says gemini
	// claude: so says claude
	// 3 completed
}

// Providers under the same limits share them, whoever uses them.
func ExampleLimits() {
	limits, err := subagent.NewLimits(subagent.LimitOptions{
		Runs:      20,                          // at once, of all of them
		Providers: map[string]int{"claude": 4}, // at once, of this one
		Total:     1000,                        // in all: one more is refused
		Starts:    1,                           // of one command at once: npx start after start
	})
	if err != nil {
		log.Fatal(err)
	}
	claude := limits.Provider(agent("claude"))
	res, err := subagent.Delegate(context.Background(), claude, subagent.Request{Dir: os.TempDir(), Prompt: subagent.Text("go")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Output)
	// Output:
	// so says claude
}

// Where an agent cannot take the prompt the next one gets it.
func ExampleFallback() {
	opencode, err := subagent.NewACP("opencode", client.Command{Path: "/not/installed/opencode", Args: []string{"acp"}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	p, err := subagent.Fallback("any", &subagent.FallbackOptions{Retries: 2, Backoff: time.Second}, opencode, agent("gemini"))
	if err != nil {
		log.Fatal(err)
	}
	res, err := subagent.Delegate(context.Background(), p, subagent.Request{Dir: os.TempDir(), Prompt: subagent.Text("go")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Output)
	for _, a := range res.Attempts {
		if a.Error != nil {
			fmt.Println(a.Provider, a.Error.Kind)
		} else {
			fmt.Println(a.Provider)
		}
	}
	// Output:
	// so says gemini
	// opencode spawn
	// gemini
}
