package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// Undumpable keeps other processes of this user from reading this process's memory
// and environment: a child that was not given a secret could otherwise take it from
// /proc. It also forbids core dumps and debuggers. It holds for this process until
// its next exec, not for its children. On other systems than Linux it does nothing
// and returns nil.
func Undumpable() error {
	return os.NewSyscallError("prctl", unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
}
