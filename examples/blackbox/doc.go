// Package blackbox is a test suite that drives an agent as a black box: it knows nothing of
// it but its command. The tests are the example. They drive an agent that comes with
// errand and follows a script, and any other that they are told:
//
//	go test ./examples/blackbox
//	go test ./examples/blackbox -agent "opencode acp"
//
// agent_test.go is the suite of an agent; parent_test.go is for the other side, for who
// tests a client or a parent agent.
package blackbox
