// Package threats keeps docs/security.md true: its tables of threats and attacks are made
// from a list here, and each names a test that must exist.
//
//	go test ./internal/threats -update
package threats
