package gittest_test

import (
	"testing"

	"github.com/errand-acp/errand/internal/gittest"
)

// In a test of what reads a repository:
func Example() {
	_ = func(t *testing.T) {
		repo := gittest.New(t)
		repo.Write("a", "text\n").Commit("first")
		before := repo.Snapshot()
		repo.Git("log")
		repo.Untouched(before)
	}
}
