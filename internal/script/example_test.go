package script_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/errand-acp/errand/internal/script"
)

// An agent inside the program that talks to it.
func Example() {
	agent, err := script.Parse("example", []byte(`
		on session/prompt
		  text "You said: $prompt"
		  exit 3
	`))
	if err != nil {
		fmt.Println(err)
		return
	}
	stdin, toAgent := io.Pipe()
	fromAgent, stdout := io.Pipe()
	status := make(chan int)
	go func() { status <- agent.Run(context.Background(), stdin, stdout, os.Stderr) }()

	fmt.Fprintln(toAgent, `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"hi"}]}}`)
	line, _ := bufio.NewReader(fromAgent).ReadString('\n')
	fmt.Print(line)
	fmt.Println("status", <-status)
	toAgent.Close()
	// Output:
	// {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"content":{"text":"You said: hi","type":"text"},"sessionUpdate":"agent_message_chunk"}}}
	// status 3
}
