package script

import (
	"testing"

	"github.com/errand-acp/errand/internal/leak"
)

func TestMain(m *testing.M) {
	Hook()
	leak.Main(m)
}
