// Package first is the smallest test of an agent that is whole: one file, which docs/testing.md
// begins with. The test is the example.
package first
