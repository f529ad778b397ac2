// Package examples has small programs to copy from, each in a directory of its own and
// run by a test: delegate, one task from start to result; fanout, the same question to
// several agents and their answers side by side; first, a race of several; orchestrate,
// agents by name, followed as they work; parent, an agent that itself delegates; blackbox, a
// test suite that drives an agent it knows nothing of; recipes, the code of the pages in
// docs. The tests here hold README, docs/fan-out.md and docs/policy.md to them.
package examples
