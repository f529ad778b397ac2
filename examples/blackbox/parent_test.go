package blackbox

import (
	"context"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/client/acptest"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// ask is the parent under test: it gives a task to an agent. Put yours here.
func ask(t *testing.T, agent client.Command, task string) *subagent.Result {
	t.Helper()
	provider, err := subagent.NewACP("agent", agent, &subagent.ACPOptions{Permission: permission.Allow()})
	if err != nil {
		t.Fatal(err)
	}
	res, err := subagent.Delegate(t.Context(), provider, subagent.Request{Dir: t.TempDir(), Prompt: subagent.Text(task)})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// What a parent makes of an agent that dies, as a process.
func TestAgentDies(t *testing.T) {
	res := ask(t, acptest.Script(t, `on session/prompt; text "half of it"; exit 3`), "go")
	if res.Output != "half of it" || res.Error == nil || res.Error.Kind != client.KindExit {
		t.Errorf("output %q, error %v", res.Output, res.Error)
	}
}

// What a parent makes of an agent that was recorded.
func TestRecordedAgent(t *testing.T) {
	res := ask(t, acptest.Replay(t, "testdata/hello.ndjson", &acptest.ReplayOptions{Lenient: true}), "Write hello.txt")
	if res.Output != "Done." || !res.Stop.Success() {
		t.Errorf("output %q, stop %s, error %v", res.Output, res.Stop, res.Error)
	}
}

// An agent on a pair of pipes, in this process, for a client that takes those.
func TestOnPipes(t *testing.T) {
	in, out := acptest.ScriptPipe(t, `on session/prompt; text "hi"; stop refusal`)
	said := ""
	conn := client.NewConn(&client.Handlers{
		OnUpdate: func(_ context.Context, u client.Update) {
			text, _ := u.Text()
			said += text
		},
	}, in, out, nil)
	session, err := conn.NewSession(t.Context(), acp.NewSessionRequest{Cwd: t.TempDir(), McpServers: []acp.McpServer{}})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := conn.Prompt(t.Context(), acp.PromptRequest{
		SessionId: session.SessionId, Prompt: []acp.ContentBlock{acp.TextBlock("hello")},
	})
	if err != nil || answer.StopReason != acp.StopReasonRefusal || said != "hi" {
		t.Errorf("it said %q and ended with %q, %v", said, answer.StopReason, err)
	}
}
