//go:build unix

package replay

import "golang.org/x/sys/unix"

// signalNumber returns the number of a signal, 0 where there is no such.
func signalNumber(name string) int { return int(unix.SignalNum(name)) }
