package faults

import (
	"testing"

	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/internal/script"
)

func TestMain(m *testing.M) {
	script.Hook() // re-executed as a scripted agent, this does not return
	sdkHook()     // nor as a client over the SDK's connection
	parentHook()  // nor as a program that delegates
	setAmbient()
	leak.Main(m)
}
