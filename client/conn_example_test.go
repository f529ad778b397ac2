package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
)

// A connection over any reader and writer, here to a parrot of an agent in the same
// process.
func ExampleNewConn() {
	fromAgent, out := io.Pipe()
	in, toAgent := io.Pipe()
	go parrot(in, out)

	conn := client.NewConn(&client.Handlers{
		OnSessionUpdate: func(_ context.Context, n acp.SessionNotification) error {
			if c := n.Update.AgentMessageChunk; c != nil && c.Content.Text != nil {
				fmt.Println(c.Content.Text.Text)
			}
			return nil
		},
	}, toAgent, fromAgent, nil)

	answer, err := conn.Prompt(context.Background(), acp.PromptRequest{
		SessionId: "s", Prompt: []acp.ContentBlock{acp.TextBlock("hello")},
	})
	fmt.Println(answer.StopReason, err)

	toAgent.Close()
	<-conn.Done()
	// Output:
	// hello
	// end_turn <nil>
}

// parrot is an agent that repeats what it is told until its input ends.
func parrot(in io.Reader, out io.WriteCloser) {
	defer out.Close()
	for dec := json.NewDecoder(in); ; {
		var prompt struct {
			ID     int
			Params struct {
				SessionId string
				Prompt    []json.RawMessage
			}
		}
		if dec.Decode(&prompt) != nil {
			return
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":"agent_message_chunk","content":%s}}}`+"\n",
			prompt.Params.SessionId, prompt.Params.Prompt[0])
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%d,"result":{"stopReason":"end_turn"}}`+"\n", prompt.ID)
	}
}
