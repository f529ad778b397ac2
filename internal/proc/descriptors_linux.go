package proc

import (
	"math"

	"golang.org/x/sys/unix"
)

const fionread = unix.TIOCINQ

// closeOnExec keeps the descriptors this process was given without the close-on-exec
// flag, and those that C code opened so, from its children.
func closeOnExec() {
	if unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) != nil {
		markEach("/proc/self/fd") // before Linux 5.11
	}
}
