package main

import "testing"

func TestParity(t *testing.T) {
	t.Run("A57 with a key an agent answers and writes a file, without one it is skipped", testLive)
	t.Run("C26 every package that interop installs is pinned by version and digest", testPinned)
	t.Run("C26 what is installed comes from the lock files alone", testInstalled)
	t.Run("C26 what is not as it is pinned is a failure, and only what cannot be had is skipped", testInstallFails)
	t.Run("C27 the agents that are promised were driven for real", testDriven)
}
