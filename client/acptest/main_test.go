package acptest_test

import (
	"testing"

	"github.com/errand-acp/errand/client/acptest"
	"github.com/errand-acp/errand/internal/leak"
)

func TestMain(m *testing.M) {
	acptest.Hook() // re-executed as an agent, this does not return
	acptest.UpdateFlag()
	leak.Main(m)
}
