package first

import (
	"os"
	"testing"

	"github.com/errand-acp/errand/client/acptest"
)

func TestMain(m *testing.M) {
	acptest.Hook()       // for acptest.Script: the test binary is the agent then
	acptest.UpdateFlag() // -update, for golden files
	os.Exit(m.Run())
}

func TestHello(t *testing.T) {
	// In place of yours: client.Command{Path: "/the/path/of/my-agent", Args: []string{"--acp"}}
	command := acptest.Script(t, `on session/prompt; text "Hello, $prompt"`)

	agent := acptest.Start(t, command, nil)
	turn := agent.Session(t.TempDir()).Prompt("world")
	turn.Text("Hello, world")
	turn.Stop("end_turn")
	agent.Close().Clean() // its stdin was closed: it went, with status 0 and all of its group
}
