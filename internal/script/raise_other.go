//go:build unix && !linux

package script

import (
	"os"
	"syscall"
)

// raise may return before the signal has taken effect.
func raise(sig syscall.Signal) error { return syscall.Kill(os.Getpid(), sig) }
