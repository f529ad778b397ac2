package client_test

import "testing"

// TestParity has a subtest for each row of PARITY.md that an agent and its sessions answer
// for; those of a whole run are in package subagent. The first word of a subtest's name is
// the row's.
func TestParity(t *testing.T) {
	parityStart(t)
	parityEnd(t)
	paritySession(t)
	parityWire(t)
	parityPermission(t)
	parityQuestion(t)
	parityPlatform(t)
}
