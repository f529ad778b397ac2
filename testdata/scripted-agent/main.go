// Command scripted-agent is an ACP agent on stdin and stdout that follows a script,
// honest or hostile: what it says on which request, whom it asks, when it dies. Test
// suites use it to see what a client does with the agent from hell.
//
//	go build ./testdata/scripted-agent
//	scripted-agent SCRIPT-FILE
//	scripted-agent -e SCRIPT
//
// docs/scripted-agent.md describes the language; scripts/ has examples.
package main

import (
	"os"

	"github.com/errand-acp/errand/internal/script"
)

func main() {
	script.Hook()
	os.Exit(script.Main(os.Args[1:]))
}
