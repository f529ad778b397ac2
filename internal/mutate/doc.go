// Mutate breaks the code in small ways and looks whether a test notices.
//
//	go run ./internal/mutate            all of mutations.txt
//	go run ./internal/mutate A18 T24    only what is for these rows
//	go run ./internal/mutate TestCancel only what is for this test and its subtests
//
// Each mutation names what it breaks: rows of PARITY or FAULTS, which stand for their
// subtests (TestParity/A18…, TestFaults/T24…), or a test by its name, as go test prints
// it. That must fail with the mutation in place and pass without it: one that passes both
// times checks nothing. The tree is never touched; the changed files
// reach the compiler through go test's -overlay.
//
// The list is mutations.txt. Its first line says which rows need a mutation:
//
//	need A1-A48 B1
//
//	A18 A30 TestCancel/initialize: what is broken
//	in client/session.go
//	test ./subagent
//	- text that is in the file exactly once
//	+ text that takes its place
//
// A text of several lines has several "-" or "+" lines; it may begin and end within a
// line of the file, and without a "+" line it is taken out. A behaviour that is secured
// twice takes two changes to switch off: then there are several "in".
package main
