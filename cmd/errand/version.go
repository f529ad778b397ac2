package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/coder/acp-go-sdk"
	"github.com/spf13/cobra"

	"github.com/errand-acp/errand/client"
)

func newVersion(con *console) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of errand, the protocol and the SDK",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(con.out, "errand %s\nACP protocol %d\nacp-go-sdk %s\n%s %s/%s\n",
				client.Self().Version, acp.ProtocolVersionNumber, moduleVersion("github.com/coder/acp-go-sdk"),
				runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// moduleVersion is the version of a dependency as the build knows it.
func moduleVersion(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return "unknown"
}
