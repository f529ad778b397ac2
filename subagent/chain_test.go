package subagent_test

import (
	"context"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/subagent"
)

// chainAgentArg makes this test binary an agent that delegates, see chainAgent.
const chainAgentArg = "__chain-agent"

// chainAgent is an ACP agent that answers with where it stands, as its environment says,
// and with what it is answered by an agent like itself that it delegates to. The prompt says
// how: each word is for one level, and how that starts the next: "self", or by a "shell" or
// "env", which know nothing of delegation; ":1" after it is the request's MaxDepth. The last
// word is for all the levels below.
func chainAgent(in io.Reader, out io.Writer) {
	a := &chain{}
	a.conn = acp.NewAgentSideConnection(a, out, in)
	<-a.conn.Done()
}

type chain struct {
	acp.Agent // what nobody calls
	conn      *acp.AgentSideConnection
	dir       string
}

func (a *chain) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	return acp.InitializeResponse{ProtocolVersion: acp.ProtocolVersionNumber}, nil
}

func (a *chain) NewSession(_ context.Context, r acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	a.dir = r.Cwd
	return acp.NewSessionResponse{SessionId: "s"}, nil
}

func (a *chain) Cancel(context.Context, acp.CancelNotification) error { return nil }

func (a *chain) Prompt(ctx context.Context, r acp.PromptRequest) (acp.PromptResponse, error) {
	text := os.Getenv(subagent.DepthVariable) + "/" + os.Getenv(subagent.MaxDepthVariable) + " > " + delegate(ctx, a.dir, r.Prompt[0].Text.Text)
	err := a.conn.SessionUpdate(ctx, acp.SessionNotification{SessionId: r.SessionId, Update: acp.UpdateAgentMessageText(text)})
	return acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, err
}

// delegate starts the next one of a chain and returns what it says, or why it was not
// started.
func delegate(ctx context.Context, dir, words string) string {
	word, rest, more := strings.Cut(words, " ")
	if !more {
		rest = word
	}
	how, levels, limited := strings.Cut(word, ":")
	p, err := subagent.NewACP("next", chainCommand(how), nil)
	if err != nil {
		return err.Error()
	}
	req := subagent.Request{Prompt: subagent.Text(rest), Dir: dir}
	if limited {
		n, _ := strconv.Atoi(levels)
		req.MaxDepth = &n
	}
	res, err := subagent.Delegate(ctx, p, req)
	switch {
	case err != nil:
		return err.Error()
	case res.Err() != nil:
		return res.Err().Error()
	}
	return res.Output
}

func chainCommand(how string) client.Command {
	self, _ := os.Executable()
	cmd := client.Command{Path: self, Args: []string{chainAgentArg}, Env: raceEnv}
	switch how {
	case "shell":
		cmd.Path, cmd.Args = "sh", []string{"-c", `"$@"; :`, "sh", self, chainAgentArg}
	case "env":
		cmd.Path, cmd.Args = "env", []string{"A=b", self, chainAgentArg}
	}
	return cmd
}
