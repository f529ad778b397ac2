package conform

import (
	cmdline "flag" // a package-level name here is flag
	"testing"

	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/internal/script/built"
)

func TestMain(m *testing.M) {
	script.Hook()                                              // this binary, started as tryScript does, is the agent
	if err := cmdline.Set("test.parallel", "16"); err != nil { // suites wait more than they work
		panic(err)
	}
	largeFrame = 256 << 10
	leak.Main(built.Agent(m))
}
