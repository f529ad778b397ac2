package subagent_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// example is an agent for the examples. In their place stands any ACP agent's command,
// such as client.Command{Path: "opencode", Args: []string{"acp"}}.
func example(src string) client.Command {
	path, args := script.Command(fatal{}, src)
	return client.Command{Path: path, Args: args, Env: raceEnv}
}

// fatal is what script.Command wants of a *testing.T.
type fatal struct{}

func (fatal) Helper()           {}
func (fatal) Fatal(args ...any) { log.Fatal(args...) }

// An explicit variable reaches the agent, a secret of the environment does not.
func Example() {
	ctx, key := context.Background(), os.Getenv("OPENROUTER_API_KEY")

	agent, err := subagent.NewACP("opencode", client.Command{
		Path: "opencode", Args: []string{"acp"},
		Env: []string{"OPENROUTER_API_KEY=" + key},
	}, &subagent.ACPOptions{Permission: permission.Allow()})
	if err != nil {
		log.Fatal(err)
	}
	res, err := subagent.Delegate(ctx, agent, subagent.Request{
		Dir:    "/abs/project",
		Prompt: subagent.Text("Fix the failing test in ./parser"),
	})
	if err != nil {
		log.Fatal(err) // a *subagent.Error: it never started, and nothing was left behind
	}
	if err := res.Err(); err != nil {
		log.Print(err) // it ended otherwise; res has the text so far
	}
	fmt.Println(res.Output)
}

// A parent agent hands one task to a fresh agent, in its own session's directory, and
// reads what came of it.
func ExampleDelegate() {
	agent, err := subagent.NewACP("writer", example(`
		on session/prompt
			permission c1 "Write notes.txt" kind=edit path=notes.txt
				option yes allow_once "Yes"
				option no reject_once "No"
				when allowed
					write notes.txt "done"
					text "I have written notes.txt."
				when rejected
					text "Then I have not."
			end`), nil) // nil: reject what it asks for
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "session")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	res, err := subagent.Delegate(context.Background(), agent, subagent.Request{
		ParentDir: dir,
		Prompt:    subagent.Text("Take notes"),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Stop, res.Output)
	for _, p := range res.Permissions {
		fmt.Printf("%s: %s\n", *p.Title, p.Decision)
	}
	// Output:
	// completed Then I have not.
	// Write notes.txt: denied
}

// An orchestrator holds providers by name, runs them at once, and follows what they do.
func ExampleRegistry() {
	var agents subagent.Registry
	for name, src := range map[string]string{
		"fast":     `on session/prompt; text "42"`,
		"careful":  `on session/prompt; tool c1 "Look it up" status=completed; text "42, I looked it up"`,
		"unlucky":  `on session/prompt; text "4"; exit 3`,
		"unwilled": `on session/prompt; text "I would rather not"; stop refusal`,
	} {
		agent, err := subagent.NewACP(name, example(src), nil)
		if err != nil {
			log.Fatal(err)
		}
		if err := agents.Add(agent); err != nil {
			log.Fatal(err)
		}
	}

	results := make([]*subagent.Result, len(agents.Names()))
	tools := make([]int, len(results))
	var group sync.WaitGroup
	for i, name := range agents.Names() {
		group.Go(func() {
			run, err := agents.Start(context.Background(), name, subagent.Request{
				Dir: os.TempDir(), Prompt: subagent.Text("What is six times seven?"),
			})
			if err != nil {
				log.Fatal(err)
			}
			for u := range run.Updates() { // as they come; ends with the turn
				if u.Value.ToolCall != nil {
					tools[i]++
				}
			}
			results[i] = run.Close() // always: it ends whatever the run started
		})
	}
	group.Wait()
	for i, res := range results {
		fmt.Printf("%s: %s with %d tool calls: %s\n", res.Provider, res.Stop, tools[i], res.Output)
	}
	// Output:
	// careful: completed with 1 tool calls: 42, I looked it up
	// fast: completed with 0 tool calls: 42
	// unlucky: error with 0 tool calls: 4
	// unwilled: refusal with 0 tool calls: I would rather not
}

// A test suite drives an agent as a black box: it knows its command, and looks at what
// it did and at how it ended.
func ExampleNewACP() {
	underTest := example(`
		on session/prompt
			tool c1 "Write hello.txt" kind=edit status=in_progress
			permission c1 "Write hello.txt" kind=edit path=hello.txt
				option yes allow_once "Yes"
				when allowed
					write hello.txt "hello"
			end
			tool-update c1 status=completed
			text "done"`)
	agent, err := subagent.NewACP("under test", underTest, &subagent.ACPOptions{Permission: permission.Allow()})
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "suite")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	res, err := subagent.Delegate(context.Background(), agent, subagent.Request{Dir: dir, Prompt: subagent.Text("write hello.txt")})
	if err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "hello.txt"))
	call := res.ToolCalls[0]
	fmt.Println("file:", string(text), err)
	fmt.Println("call:", *call.Title, call.Status, *call.Permitted)
	fmt.Println("stop:", *res.StopReason, "exit:", res.Exit, "stderr:", len(res.StderrTail))
	// Output:
	// file: hello <nil>
	// call: Write hello.txt completed true
	// stop: end_turn exit: exit status 0 stderr: 0
}

// A function in this process is a provider like any other.
func ExampleNewFunc() {
	shout, err := subagent.NewFunc("shout", func(ctx context.Context, req subagent.Request, update func(acp.SessionUpdate)) (acp.StopReason, error) {
		update(acp.UpdateAgentMessageText(req.Prompt[0].Text.Text + "!"))
		return acp.StopReasonEndTurn, nil
	})
	if err != nil {
		log.Fatal(err)
	}
	res, err := subagent.Delegate(context.Background(), shout, subagent.Request{Dir: os.TempDir(), Prompt: subagent.Text("hello")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Output)
	// Output: hello!
}
