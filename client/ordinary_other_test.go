//go:build unix && !linux

package client_test

import (
	"os"
	"testing"
)

func asOrdinaryUser(t *testing.T, f func(), _ ...string) {
	t.Helper()
	if os.Geteuid() == 0 {
		t.Skip("root may do anything")
	}
	f()
}
