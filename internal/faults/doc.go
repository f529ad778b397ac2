// Package faults holds no code but its tests: each fault that an agent, a launcher or a
// consumer has been seen to commit, played by a scripted agent through a whole run of
// package subagent, and what the run must make of it.
//
//	go test ./internal/faults -run 'TestFaults/T5'    # the forms of one row
//	go test ./internal/faults -update                 # and docs/faults.md anew
//
// A row (row_test.go) is a kind of fault with its forms: the first is the plainest, and
// the one that docs/faults.md shows beside what acp-go-sdk's own connection makes of it
// (sdk_test.go). To add one, write it into the rows_….go of its letter: T transport, O order,
// L lifecycle, P permission, S protocol and results, E environment and start, F fan-out.
package faults
