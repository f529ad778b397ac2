//go:build unix

package main

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// endAll ends the processes that a test has left on purpose.
func endAll(t *testing.T, mark string) {
	t.Helper()
	for _, p := range processesOf(mark) {
		number, _, _ := strings.Cut(p, ":")
		pid, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
}
