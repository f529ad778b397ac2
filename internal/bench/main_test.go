package bench

import (
	"os"
	"testing"

	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/internal/script"
)

func TestMain(m *testing.M) {
	script.Hook()
	if len(os.Args) > 1 && os.Args[1] == rawAgentArg {
		rawAgent(os.Args[2])
		return
	}
	leak.Main(m)
}
