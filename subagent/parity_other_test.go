//go:build !linux

package subagent_test

import (
	"os"
	"testing"
)

func parityPlatform(*testing.T) {}

// asOrdinaryUser calls f as a user whom permissions mean something to, who owns the
// files.
func asOrdinaryUser(t *testing.T, f func(), _ ...string) {
	t.Helper()
	if os.Geteuid() <= 0 {
		t.Skip("only an ordinary user of a Unix is kept out of a directory")
	}
	f()
}
