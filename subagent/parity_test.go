package subagent_test

import "testing"

// TestParity has a subtest for each row of PARITY.md that can be seen through this
// package: what the systems we start from do, and what is better here. The first word
// of a subtest's name is the row's. Each fails when its behaviour is switched off:
// `make mutate` tries.
func TestParity(t *testing.T) {
	parityOutcome(t)
	parityPrompt(t)
	parityStart(t)
	parityCancel(t)
	parityClose(t)
	parityPermission(t)
	parityProcess(t)
	paritySeam(t)
	parityAudit(t)
	parityPlatform(t)
}
