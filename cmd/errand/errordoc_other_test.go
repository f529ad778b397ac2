//go:build !linux

package main

import "testing"

func leftover(t *testing.T, _ string) error {
	t.Skip("no process is held here")
	return nil
}
