package modelserver_test

import (
	"testing"

	"github.com/errand-acp/errand/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }
