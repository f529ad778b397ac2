package faults

import (
	"flag"
	"testing"

	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/internal/script/built"
)

func TestMain(m *testing.M) {
	script.Hook() // re-executed as a scripted agent, this does not return
	sdkHook()     // nor as a client over the SDK's connection
	parentHook()  // nor as a program that delegates
	setAmbient()
	if err := flag.Set("test.parallel", "6"); err != nil { // they mostly wait
		panic(err)
	}
	leak.Main(built.Agent(m))
}
