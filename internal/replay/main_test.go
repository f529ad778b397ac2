package replay

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/internal/script/built"
)

const (
	asReplay = "__replay" // with a file, as arguments: this binary is the agent of the recording
	lenient  = "--lenient"
)

func TestMain(m *testing.M) {
	script.Hook()
	if len(os.Args) > 2 && os.Args[1] == asReplay {
		t, err := transcript.ReadFile(os.Args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			syscall.Exit(2)
		}
		agent, err := New(t, Options{Lenient: len(os.Args) > 3 && os.Args[3] == lenient})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			syscall.Exit(2)
		}
		// Not os.Exit: with the race detector that waits for a second.
		syscall.Exit(agent.Main())
	}
	leak.Main(built.Agent(m))
}
