package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/permission"
)

// One agent process, one session, one prompt.
func ExampleStart() {
	ctx := context.Background()
	dir, command := exampleAgent(`on session/prompt
		text "You said: $prompt\n"
		permission call-1 "Write hello.txt" kind=edit
			option yes allow_once "Write it"
			option no reject_once "Do not"
			when rejected
				text "Then I did nothing."
		end`)
	defer os.RemoveAll(dir)

	agent, err := client.Start(ctx, command, &client.Options{
		Permission: permission.Reject(), // the default
		Update: func(_ context.Context, u client.Update) {
			if chunk := u.Value.AgentMessageChunk; chunk != nil {
				fmt.Print(chunk.Content.Text.Text)
			}
		},
		OnPermission: func(r permission.Record) { fmt.Println(*r.Title, "->", r.Decision) },
	})
	if err != nil {
		log.Fatal(err) // step, reason, exit status, the end of stderr; nothing was left behind
	}
	defer agent.Close()

	session, err := agent.NewSession(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	answer, err := session.Prompt(ctx, []acp.ContentBlock{acp.TextBlock("hello")}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println()
	fmt.Println("stop reason:", *answer.StopReason)
	fmt.Println("ended by:", agent.Close().Exit.Rung)
	// Output:
	// You said: hello
	// Write hello.txt -> denied
	// Then I did nothing.
	// stop reason: end_turn
	// ended by: eof
}

// A connection alone, with a client made of functions: what is not there is refused,
// as the protocol has it.
func ExampleHandlers() {
	ctx := context.Background()
	fromAgent, toAgent := exampleAgentInProcess(`on session/prompt
		request fs/read_text_file {"sessionId":"$session","path":"/notes.txt"}
		text "read: $answer"
		request fs/write_text_file {"sessionId":"$session","path":"/notes.txt","content":"x"}
		text "write: $error.message"
		request _acme/weather {"town":"Ulm"}
		text "weather: $answer.sky"`)
	defer toAgent.Close()

	conn := client.NewConn(&client.Handlers{
		OnReadTextFile: func(_ context.Context, r acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
			return acp.ReadTextFileResponse{Content: "what is in " + r.Path}, nil
		},
		OnMethod: func(_ context.Context, method string, params json.RawMessage) (any, error) {
			if method != "_acme/weather" {
				return nil, acp.NewMethodNotFound(method)
			}
			return map[string]string{"sky": "clear"}, nil
		},
		OnUpdate: func(_ context.Context, u client.Update) {
			fmt.Println(u.Value.AgentMessageChunk.Content.Text.Text)
		},
	}, toAgent, fromAgent, nil)

	session, err := conn.NewSession(ctx, acp.NewSessionRequest{Cwd: os.TempDir(), McpServers: []acp.McpServer{}})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := conn.Prompt(ctx, acp.PromptRequest{SessionId: session.SessionId, Prompt: []acp.ContentBlock{acp.TextBlock("hi")}}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// read: {"content":"what is in /notes.txt"}
	// write: Method not found
	// weather: clear
}

// exampleFatal is what a test is to script.Command.
type exampleFatal struct{}

func (exampleFatal) Helper()           {}
func (exampleFatal) Fatal(args ...any) { log.Fatal(args...) }

// exampleAgent returns a command that starts an agent, in a directory of its own.
func exampleAgent(src string) (dir string, c client.Command) {
	dir, err := os.MkdirTemp("", "example")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		log.Fatal(err)
	}
	path, args := script.Command(exampleFatal{}, src)
	return dir, client.Command{Path: path, Args: args, Dir: dir, Env: []string{"GORACE=atexit_sleep_ms=0"}}
}

// exampleAgentInProcess returns the pipes from and to an agent in this process.
func exampleAgentInProcess(src string) (fromAgent io.Reader, toAgent io.WriteCloser) {
	agent, err := script.Parse("example", []byte(src))
	if err != nil {
		log.Fatal(err)
	}
	fromAgent, stdout := io.Pipe()
	stdin, toAgent := io.Pipe()
	go func() { // ends with the agent's stdin
		agent.Run(context.Background(), stdin, stdout, io.Discard)
		stdout.Close()
	}()
	return fromAgent, toAgent
}
