package subagent_test

import (
	"flag"
	"os"
	"testing"

	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/internal/script/built"
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
	if err := flag.Set("test.parallel", "6"); err != nil { // they mostly wait
		panic(err)
	}
	leak.Main(built.Agent(m))
}
