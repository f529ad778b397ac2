package conform

import (
	"testing"

	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/internal/script"
)

func TestMain(m *testing.M) {
	script.Hook() // this binary, started as tryScript does, is the agent
	leak.Main(m)
}
