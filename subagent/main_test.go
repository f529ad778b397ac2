package subagent_test

import (
	"os"
	"testing"

	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/internal/script"
)

func TestMain(m *testing.M) {
	script.Hook() // re-executed as a scripted agent, this does not return
	if len(os.Args) > 1 && os.Args[1] == lineAgentArg {
		lineAgent(os.Stdin, os.Stdout)
		return
	}
	if len(os.Args) > 1 && os.Args[1] == chainAgentArg {
		chainAgent(os.Stdin, os.Stdout)
		return
	}
	leak.Main(m)
}
