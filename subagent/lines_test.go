package subagent_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/subagent"
)

// A protocol that is not ACP, as small as one can be. The parent writes `ASK "text"`
// and may write STOP; the agent writes any number of `SAY "text"`, and at the end
// `DONE reason` or `FAIL "why"`.

// lineAgentArg makes this test binary an agent of that protocol.
const lineAgentArg = "__line-agent"

// lineAgent is the agent. It does what subagenttest asks for.
func lineAgent(in io.Reader, out io.Writer) {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		word, quoted, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "STOP" {
			fmt.Fprintln(out, "DONE", acp.StopReasonCancelled)
			continue
		}
		text, err := strconv.Unquote(quoted)
		if err != nil {
			fmt.Fprintf(out, "FAIL %q\n", err)
			continue
		}
		task, _, _ := strings.Cut(text, " ")
		switch task {
		case "fail":
			fmt.Fprintf(out, "FAIL %q\n", "it failed")
		case "hang": // until STOP
			fmt.Fprintf(out, "SAY %q\n", text)
		default:
			fmt.Fprintf(out, "SAY %q\nDONE %s\n", text, acp.StopReasonEndTurn)
		}
	}
}

// lineProvider is a provider of agents that speak it.
func lineProvider(t *testing.T) subagent.Provider {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := subagent.NewProvider("lines", func(ctx context.Context, req subagent.Request) (*subagent.Session, error) {
		return openLines(self, req)
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// openLines starts the agent.
func openLines(path string, req subagent.Request) (*subagent.Session, error) {
	cmd := exec.Command(path, lineAgentArg)
	cmd.Dir = req.Dir
	cmd.Env = append(os.Environ(), raceEnv...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &subagent.Session{
		ID:    strconv.Itoa(cmd.Process.Pid),
		Agent: subagent.Agent{Command: cmd.Args, Path: &cmd.Path},
		Turn: func(ctx context.Context, update func(acp.SessionUpdate)) (acp.StopReason, error) {
			return lineTurn(ctx, req.Prompt, stdin, bufio.NewReader(stdout), update)
		},
		Close: func(final *subagent.Result) {
			stdin.Close()
			cmd.Wait()
			code := cmd.ProcessState.ExitCode()
			final.Exit = &client.Exit{Code: &code, Rung: client.RungEOF}
		},
	}, nil
}

// lineTurn asks and reads the answer.
func lineTurn(ctx context.Context, prompt []acp.ContentBlock, in io.Writer, out *bufio.Reader, update func(acp.SessionUpdate)) (acp.StopReason, error) {
	if _, err := fmt.Fprintf(in, "ASK %q\n", prompt[0].Text.Text); err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { fmt.Fprintln(in, "STOP") })
	defer stop()
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			return "", fmt.Errorf("the agent has gone: %w", err)
		}
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		text, _ := strconv.Unquote(rest)
		switch word {
		case "SAY":
			update(acp.UpdateAgentMessageText(text))
		case "DONE":
			return acp.StopReason(rest), nil
		case "FAIL":
			return "", errors.New(text)
		}
	}
}
