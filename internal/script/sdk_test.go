package script

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"
)

// sdkClient is a client made with the SDK, which writes down what it sees.
type sdkClient struct {
	decide func(acp.RequestPermissionRequest) acp.RequestPermissionOutcome

	mu    sync.Mutex // guards what follows
	log   []string
	asked []string           // beside the log: this client has no order between the two
	came  chan acp.SessionId // one for each update
}

func (c *sdkClient) note(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = append(c.log, line)
}

func (c *sdkClient) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	switch u := n.Update; {
	case u.AgentMessageChunk != nil:
		c.note("text " + u.AgentMessageChunk.Content.Text.Text)
	case u.AgentThoughtChunk != nil:
		c.note("thought " + u.AgentThoughtChunk.Content.Text.Text)
	case u.UserMessageChunk != nil:
		c.note("user " + u.UserMessageChunk.Content.Text.Text)
	case u.ToolCall != nil:
		c.note("tool " + string(u.ToolCall.ToolCallId) + " " + string(u.ToolCall.Status))
	case u.ToolCallUpdate != nil:
		c.note("tool " + string(u.ToolCallUpdate.ToolCallId) + " " + string(*u.ToolCallUpdate.Status))
	case u.Plan != nil:
		c.note("plan " + string(u.Plan.Entries[0].Status))
	case u.UsageUpdate != nil:
		c.note("usage")
	}
	c.came <- n.SessionId
	return nil
}

func (c *sdkClient) RequestPermission(_ context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	c.mu.Lock()
	c.asked = append(c.asked, string(r.ToolCall.ToolCallId)+" "+string(*r.ToolCall.Kind))
	c.mu.Unlock()
	return acp.RequestPermissionResponse{Outcome: c.decide(r)}, nil
}

func (c *sdkClient) ReadTextFile(context.Context, acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	return acp.ReadTextFileResponse{Content: "read"}, nil
}

func (c *sdkClient) WriteTextFile(context.Context, acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	return acp.WriteTextFileResponse{}, nil
}

func (c *sdkClient) CreateTerminal(context.Context, acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	return acp.CreateTerminalResponse{}, acp.NewMethodNotFound("terminal/create")
}

func (c *sdkClient) KillTerminal(context.Context, acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	return acp.KillTerminalResponse{}, acp.NewMethodNotFound("terminal/kill")
}

func (c *sdkClient) TerminalOutput(context.Context, acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	return acp.TerminalOutputResponse{}, acp.NewMethodNotFound("terminal/output")
}

func (c *sdkClient) ReleaseTerminal(context.Context, acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	return acp.ReleaseTerminalResponse{}, acp.NewMethodNotFound("terminal/release")
}

func (c *sdkClient) WaitForTerminalExit(context.Context, acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error) {
	return acp.WaitForTerminalExitResponse{}, acp.NewMethodNotFound("terminal/wait_for_exit")
}

func choose(option string) func(acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
	return func(acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
		return acp.NewRequestPermissionOutcomeSelected(acp.PermissionOptionId(option))
	}
}

// connect starts a session of the agent with an SDK client.
func connect(t *testing.T, p *peer, c *sdkClient) (*acp.ClientSideConnection, acp.SessionId) {
	t.Helper()
	c.came = make(chan acp.SessionId, 1000)
	conn := acp.NewClientSideConnection(c, p.stdin, p.stdout)
	t.Cleanup(func() {
		p.stdin.Close()
		p.wait()
		<-conn.Done()
	})
	init, err := conn.Initialize(t.Context(), acp.InitializeRequest{ProtocolVersion: acp.ProtocolVersionNumber})
	if err != nil || init.ProtocolVersion != 1 {
		t.Fatalf("initialize: %+v, %v", init, err)
	}
	session, err := conn.NewSession(t.Context(), acp.NewSessionRequest{Cwd: p.dir, McpServers: []acp.McpServer{}})
	if err != nil {
		t.Fatal(err)
	}
	return conn, session.SessionId
}

func prompt(t *testing.T, conn *acp.ClientSideConnection, id acp.SessionId, text string) acp.PromptResponse {
	t.Helper()
	resp, err := conn.Prompt(t.Context(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock(text)}})
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func example(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("../../testdata/scripted-agent/scripts/" + name + ".script")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestHonestExamplesWithSDKClient(t *testing.T) {
	for _, test := range []struct {
		example string
		decide  string
		want    []string
		file    string // what hello.txt has then
	}{
		{"honest", "", []string{"thought The task is: hi", "plan in_progress", "text Hello. ", "plan completed", "text Goodbye.", "end_turn"}, ""},
		{"honest-with-permission", "allow", []string{"tool write-1 pending", "tool write-1 completed", "text Written.", "end_turn"}, "hello\n"},
		{"honest-with-permission", "reject", []string{"tool write-1 pending", "tool write-1 failed", "text Not written.", "end_turn"}, ""},
		{"t19-calls-back", "", []string{"text one ", "text two ", "text three", "end_turn"}, ""},
	} {
		t.Run(test.example+" "+test.decide, func(t *testing.T) {
			t.Parallel()
			p := inProcess(t, example(t, test.example))
			c := &sdkClient{decide: choose(test.decide)}
			conn, id := connect(t, p, c)
			c.note(string(prompt(t, conn, id, "hi").StopReason))
			if diff := cmp.Diff(test.want, c.log); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if asks := strings.Contains(test.example, "permission"); asks != (len(c.asked) == 1 && c.asked[0] == "write-1 edit") {
				t.Errorf("it asked %q", c.asked)
			}
			if b, _ := os.ReadFile(filepath.Join(p.dir, "hello.txt")); string(b) != test.file {
				t.Errorf("hello.txt: %q, want %q", b, test.file)
			}
		})
	}
}

// TestDemo drives the built-in agent to each of its ends.
func TestDemo(t *testing.T) {
	const path = "errand-demo.txt"
	answer := func(c *sdkClient) string {
		var b strings.Builder
		for _, line := range c.log {
			text, _ := strings.CutPrefix(line, "text ")
			if text != line {
				b.WriteString(text)
			}
		}
		return b.String()
	}
	for _, test := range []struct {
		name    string
		outcome acp.RequestPermissionOutcome
		says    string
		written bool
	}{
		{"allowed", acp.NewRequestPermissionOutcomeSelected("allow"), "You allowed it: errand-demo.txt is written.", true},
		{"rejected", acp.NewRequestPermissionOutcomeSelected("reject"), "You did not allow it, so nothing was written.", false},
		{"undecided", acp.NewRequestPermissionOutcomeCancelled(), "You did not decide, so nothing was written.", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := inProcess(t, string(demo))
			c := &sdkClient{decide: func(acp.RequestPermissionRequest) acp.RequestPermissionOutcome { return test.outcome }}
			conn, id := connect(t, p, c)
			resp := prompt(t, conn, id, "say hello")
			if resp.StopReason != acp.StopReasonEndTurn || resp.Usage == nil {
				t.Errorf("%+v", resp)
			}
			got := answer(c)
			if !strings.Contains(got, "say hello") || !strings.Contains(got, test.says) {
				t.Errorf("it said %q", got)
			}
			b, err := os.ReadFile(filepath.Join(p.dir, path))
			if (err == nil) != test.written || test.written && !strings.Contains(string(b), "say hello") {
				t.Errorf("%s: %q, %v", path, b, err)
			}
		})
	}
	t.Run("cancelled at each point", func(t *testing.T) {
		t.Parallel()
		for after := 1; after <= 8; after++ { // updates; it asks after the eighth
			p := inProcess(t, string(demo))
			asked, cancelled := make(chan struct{}), make(chan struct{})
			c := &sdkClient{decide: func(acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
				close(asked)
				<-cancelled
				return acp.NewRequestPermissionOutcomeCancelled()
			}}
			conn, id := connect(t, p, c)
			stopped := make(chan acp.StopReason, 1)
			go func() { stopped <- prompt(t, conn, id, "hi").StopReason }() // ends with the turn
			for range after {
				<-c.came
			}
			if after == 8 {
				<-asked
			}
			if err := conn.Cancel(t.Context(), acp.CancelNotification{SessionId: id}); err != nil {
				t.Fatal(err)
			}
			close(cancelled)
			if got := <-stopped; got != acp.StopReasonCancelled {
				t.Errorf("cancelled after %d updates: %s", after, got)
			}
			if _, err := os.Stat(filepath.Join(p.dir, path)); err == nil {
				t.Errorf("cancelled after %d updates: it has written %s", after, path)
			}
		}
	})
}

func TestSessionsBesideEachOther(t *testing.T) {
	t.Parallel()
	p := inProcess(t, example(t, "honest-slow"))
	c := &sdkClient{}
	conn, first := connect(t, p, c)
	other, err := conn.NewSession(t.Context(), acp.NewSessionRequest{Cwd: p.dir, McpServers: []acp.McpServer{}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan acp.SessionId, 2)
	for _, id := range []acp.SessionId{first, other.SessionId} {
		go func() { // ends with the turn
			if got := prompt(t, conn, id, "go").StopReason; got != acp.StopReasonCancelled {
				t.Errorf("%s: %s", id, got)
			}
			ended <- id
		}()
	}
	for seen := map[acp.SessionId]bool{}; len(seen) < 2; {
		seen[<-c.came] = true // a cancel before the prompt is there would be for nothing
	}
	for _, id := range []acp.SessionId{other.SessionId, first} {
		if err := conn.Cancel(t.Context(), acp.CancelNotification{SessionId: id}); err != nil {
			t.Fatal(err)
		}
		if got := <-ended; got != id {
			t.Errorf("cancelled %s, and %s ended", id, got)
		}
	}
}
