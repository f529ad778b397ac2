package replay_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/internal/replay"
)

func ExampleAgent_Serve() {
	all, err := transcript.Read(strings.NewReader(`
{"transcript":1,"client":{"name":"errand","version":"v0.1.0"},"command":["agent"],"dir":"/project"}
{"ms":1,"from":"client","frame":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}}
{"ms":2,"from":"agent","frame":{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}}
{"ms":3,"end":{"code":0,"signal":null,"rung":"eof"}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	agent, err := replay.New(all[0], replay.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, version := range []string{"1", "2"} {
		parent := strings.NewReader(`{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":` + version + `}}` + "\n")
		status, err := agent.Serve(context.Background(), parent, os.Stdout, os.Stderr)
		fmt.Println(status, err)
	}
	// Output:
	// {"jsonrpc":"2.0","id":"a","result":{"protocolVersion":1}}
	// 0 <nil>
	// {"jsonrpc":"2.0","id":"a","error":{"code":-32600,"message":"errand replay: initialize differs from the recording (entry 1) at params.protocolVersion: recorded 1, got 2"}}
	// 1 initialize differs from the recording (entry 1) at params.protocolVersion: recorded 1, got 2
}
