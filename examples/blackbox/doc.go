// Package blackbox is a test suite that drives an agent as a black box: it knows nothing of
// it but its command. The tests are the example. They drive an agent that comes with
// errand and follows a script, and any other that they are told:
//
//	go test ./examples/blackbox
//	go test ./examples/blackbox -agent "opencode acp"
//	go test ./examples/blackbox -agent "$PWD/my-agent --config $PWD/test.json"
//
// A test runs in the directory of its package, not where go test was started, and the agent
// in a directory made for it: paths are given whole.
//
// To copy it, see docs/testing.md. agent_test.go is the suite of an agent; parent_test.go is for the other side, for who
// tests a client or a parent agent.
package blackbox
