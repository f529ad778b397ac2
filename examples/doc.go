// Package examples has small programs to copy from, each in a directory of its own and
// run by a test: delegate, one task from start to result; orchestrate, several agents
// by name, followed as they work; blackbox, a test suite that drives an agent it knows
// nothing of. The tests here hold the README to them.
package examples
