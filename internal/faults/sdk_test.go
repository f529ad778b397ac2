package faults

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
)

// sdkArg, as the first argument, makes this binary a client over the SDK's connection.
// It is a process of its own: some faults crash it, or keep it for ever.
const sdkArg = "__sdk-client"

// sdkPatience is how long the SDK's client is given for a call, and its agent to exit
// after its stdin was closed, before the table says that it hangs.
const sdkPatience = 5 * time.Second

// sdkRun is what the SDK's client is to do: start a command and hand it a prompt, as
// the examples of the SDK do it.
type sdkRun struct {
	Path      string
	Args, Env []string
	Dir       string
	Slow      time.Duration // of each update's handler
	CancelOn  string        // cancel the prompt's context when the agent has said this
	Allow     bool          // the permission that is asked for
	Patience  time.Duration
}

// sdkOutcome is what came of it.
type sdkOutcome struct {
	Step    string // the last one that was tried
	Stop    string // the stop reason, if the prompt was answered
	Err     string // why not
	Hung    bool   // the call did not return in time
	Killed  bool   // the agent did not exit when its stdin was closed
	Updates int
	Text    string
	Asked   int // permission requests
}

// sdkHook makes this process such a client, if it was started as one.
func sdkHook() {
	if len(os.Args) != 3 || os.Args[1] != sdkArg {
		return
	}
	var r sdkRun
	if err := json.Unmarshal([]byte(os.Args[2]), &r); err != nil {
		panic(err)
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // it logs lines whole
	json.NewEncoder(os.Stdout).Encode(r.play())
	syscall.Exit(0) // not os.Exit, which waits for a second in a race build
}

// play is the client's life.
func (r *sdkRun) play() *sdkOutcome {
	o := &sdkOutcome{Step: "spawn"}
	cmd := exec.Command(r.Path, r.Args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = r.Dir, append(os.Environ(), r.Env...), time.Second
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		o.Err = err.Error()
		return o
	}
	c := &sdkClient{run: r, cancel: func() {}}
	conn := acp.NewClientSideConnection(c, stdin, stdout)
	r.converse(conn, c, o)
	c.report(o)
	stdin.Close()
	kill := time.AfterFunc(r.Patience, func() { o.Killed = true; cmd.Process.Kill() })
	cmd.Wait()
	kill.Stop()
	return o
}

func (r *sdkRun) converse(conn *acp.ClientSideConnection, c *sdkClient, o *sdkOutcome) {
	// call makes one of the calls, and reports whether to go on.
	call := func(step string, f func(context.Context) error) bool {
		ctx, cancel := context.WithCancel(context.Background())
		c.set(cancel)
		o.Step = step
		done := make(chan error, 1)
		go func() { done <- f(ctx) }() // ends with the call, or with the process
		select {
		case err := <-done:
			if err != nil {
				o.Err = err.Error()
			}
			return err == nil
		case <-time.After(r.Patience):
			o.Hung = true
			return false
		}
	}
	var session acp.NewSessionResponse
	_ = call("initialize", func(ctx context.Context) error {
		_, err := conn.Initialize(ctx, acp.InitializeRequest{ProtocolVersion: acp.ProtocolVersionNumber})
		return err
	}) && call("session/new", func(ctx context.Context) (err error) {
		session, err = conn.NewSession(ctx, acp.NewSessionRequest{Cwd: r.Dir, McpServers: []acp.McpServer{}})
		return err
	}) && call("session/prompt", func(ctx context.Context) error {
		answer, err := conn.Prompt(ctx, acp.PromptRequest{SessionId: session.SessionId, Prompt: []acp.ContentBlock{acp.TextBlock("go")}})
		if err == nil {
			o.Stop = string(answer.StopReason)
		}
		return err
	})
}

// sdkClient takes the updates and answers what it is asked.
type sdkClient struct {
	run *sdkRun

	mu     sync.Mutex // guards what is below
	cancel func()     // of the call under way
	seen   sdkOutcome
}

func (c *sdkClient) set(cancel func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancel = cancel
}

func (c *sdkClient) report(o *sdkOutcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o.Updates, o.Text, o.Asked = c.seen.Updates, c.seen.Text, c.seen.Asked
}

func (c *sdkClient) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	time.Sleep(c.run.Slow)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen.Updates++
	if chunk := n.Update.AgentMessageChunk; chunk != nil && chunk.Content.Text != nil {
		c.seen.Text += chunk.Content.Text.Text
		if c.run.CancelOn != "" && strings.Contains(chunk.Content.Text.Text, c.run.CancelOn) {
			c.cancel()
		}
	}
	return nil
}

func (c *sdkClient) RequestPermission(_ context.Context, p acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen.Asked++
	for _, o := range p.Options {
		if strings.HasPrefix(string(o.Kind), "allow") == c.run.Allow {
			return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(o.OptionId)}, nil
		}
	}
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
}

func (*sdkClient) ReadTextFile(context.Context, acp.ReadTextFileRequest) (r acp.ReadTextFileResponse, _ error) {
	return r, acp.NewMethodNotFound("fs/read_text_file")
}

func (*sdkClient) WriteTextFile(context.Context, acp.WriteTextFileRequest) (r acp.WriteTextFileResponse, _ error) {
	return r, acp.NewMethodNotFound("fs/write_text_file")
}

func (*sdkClient) CreateTerminal(context.Context, acp.CreateTerminalRequest) (r acp.CreateTerminalResponse, _ error) {
	return r, acp.NewMethodNotFound("terminal/create")
}

func (*sdkClient) KillTerminal(context.Context, acp.KillTerminalRequest) (r acp.KillTerminalResponse, _ error) {
	return r, acp.NewMethodNotFound("terminal/kill")
}

func (*sdkClient) TerminalOutput(context.Context, acp.TerminalOutputRequest) (r acp.TerminalOutputResponse, _ error) {
	return r, acp.NewMethodNotFound("terminal/output")
}

func (*sdkClient) ReleaseTerminal(context.Context, acp.ReleaseTerminalRequest) (r acp.ReleaseTerminalResponse, _ error) {
	return r, acp.NewMethodNotFound("terminal/release")
}

func (*sdkClient) WaitForTerminalExit(context.Context, acp.WaitForTerminalExitRequest) (r acp.WaitForTerminalExitResponse, _ error) {
	return r, acp.NewMethodNotFound("terminal/wait_for_exit")
}

// throughSDK plays a form through the SDK's connection, and says in one line what came of it.
func throughSDK(t testing.TB, f *form, patience time.Duration) string {
	t.Helper()
	s := newScene(t, f)
	r := sdkRun{
		Path: s.command.Path, Args: s.command.Args, Env: s.command.Env, Dir: cmp.Or(s.command.Dir, s.request.Dir),
		Slow: f.slow, CancelOn: f.cancelOn, Allow: s.opts.Permission != nil, Patience: patience,
	}
	if f.slow != 0 {
		r.Patience *= 4
	}
	config, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(self, sdkArg, string(config))
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &stdout, &stderr, time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(hang, func() { cmd.Process.Kill() })
	err = cmd.Wait()
	late.Stop()
	left := marked(s.mark)
	for _, pid := range left {
		end(pid)
	}
	var o sdkOutcome
	summary := "its own process never ends"
	switch json.Unmarshal(stdout.Bytes(), &o) {
	case nil:
		summary = o.summary()
	default:
		if strings.Contains(stderr.String(), "panic:") || strings.Contains(stderr.String(), "DATA RACE") {
			summary = "the client's process crashes"
		} else if err != nil && !errors.Is(err, exec.ErrWaitDelay) && late.Stop() {
			summary = "the client's process ends: " + err.Error()
		}
	}
	if len(left) > 0 {
		summary += fmt.Sprintf("; %d left behind", len(left))
	}
	return summary
}

// summary is like scene.summary.
func (o *sdkOutcome) summary() string {
	var b strings.Builder
	switch {
	case o.Hung:
		fmt.Fprintf(&b, "hangs in %s", o.Step)
	case o.Err != "":
		var e struct {
			Code    int
			Message string
			Data    any
		}
		text := o.Err
		if json.Unmarshal([]byte(text), &e) == nil && e.Code != 0 {
			text = fmt.Sprintf("%d %s", e.Code, e.Message)
			if d, ok := e.Data.(map[string]any); ok && d["error"] != nil {
				text = fmt.Sprintf("%d %v", e.Code, d["error"])
			}
		}
		if len(text) > 80 {
			text = strings.ToValidUTF8(text[:80], "") + "…"
		}
		fmt.Fprintf(&b, "fails in %s: %q", o.Step, text)
	default:
		fmt.Fprintf(&b, "%q", o.Stop)
	}
	switch {
	case len(o.Text) > 40:
		fmt.Fprintf(&b, "; %d bytes of text", len(o.Text))
	case o.Text != "":
		fmt.Fprintf(&b, "; %q", o.Text)
	case o.Step == "session/prompt":
		b.WriteString("; no text")
	}
	if o.Updates > 0 {
		fmt.Fprintf(&b, "; %d updates", o.Updates)
	}
	if o.Asked > 0 {
		fmt.Fprintf(&b, "; asked %d times", o.Asked)
	}
	if o.Killed {
		b.WriteString("; does not exit, is killed")
	}
	return b.String()
}

// TestSDK: what the table says of the SDK's connection is what is seen, here for
// faults of which it is certain.
func TestSDK(t *testing.T) {
	for _, tt := range []struct {
		script, want string
		patience     time.Duration
	}{
		{"honest", `"end_turn"; "Hello. Goodbye."; 5 updates`, hang / 2},
		{`on session/prompt; text "x" size=11MB`, `fails in session/prompt: "-32603 `, hang / 2},
		{`on session/prompt; never reply`, `hangs in session/prompt; no text`, 2 * ample}, // which must do for the start
		{`on session/prompt
			spawn session
				write up
				wait forever
			end
			wait file up
			text "x"`, `"end_turn"; "x"; 1 updates; 1 left behind`, hang / 2},
	} {
		if got := throughSDK(t, &form{script: tt.script}, tt.patience); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s\ngot  %s\nwant %s", tt.script, got, tt.want)
		}
	}
}

var _ acp.Client = (*sdkClient)(nil)
