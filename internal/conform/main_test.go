package conform

import (
	cmdline "flag" // a package-level name here is flag
	"testing"

	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/internal/script/built"
)

func TestMain(m *testing.M) {
	script.Hook() // this binary, started as tryScript does, is the agent
	// Suites wait more than they work, and side by side.
	cmdline.Set("test.parallel", "16")
	largeFrame = 256 << 10
	leak.Main(built.Agent(m))
}
