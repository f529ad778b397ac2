package client

import (
	"runtime/debug"
	"sync"
)

// Implementation names a program and its version, as clientInfo and agentInfo do.
// See https://agentclientprotocol.com/protocol/initialization#implementation-information.
type Implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Self is what this module tells agents of itself in clientInfo.
func Self() Implementation { return Implementation{Name: "errand", Version: selfVersion()} }

// selfVersion is the version of this module as the build knows it.
var selfVersion = sync.OnceValue(func() string {
	const path = "github.com/errand-acp/errand"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
			if m.Path == path && m.Version != "" {
				return m.Version
			}
		}
	}
	return "(devel)"
})
