//go:build unix && !linux

package replay

import (
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// raise ends the process by this signal, which is one that ends processes.
func raise(name string) {
	sig := unix.Signal(signalNumber(name))
	signal.Reset(sig)
	if unix.Kill(unix.Getpid(), sig) == nil {
		time.Sleep(time.Second) // the signal takes a moment
	}
}
