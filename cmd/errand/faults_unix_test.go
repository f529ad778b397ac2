//go:build unix

package main

import "testing"

// TestFaults has the rows of docs/faults.md that are committed upon the program itself;
// the others are in internal/faults.
func TestFaults(t *testing.T) {
	t.Run("L18 a signal", testL18Signals)
	t.Run("L18 a second signal", testL18SecondSignalKills)
	t.Run("L18 a second signal during the start", testL18SecondSignalKillsTheStart)
	t.Run("L18 a closed stdout", testL18ClosedStdout)
	t.Run("L19 a full disk", testL19FullDisk)
}
