package script

import (
	"os"
	"runtime"
	"syscall"
)

// raise has taken effect when it returns: what is sent to the process may go to another
// thread, and the script goes on, or ends its turn, before a STOP or KILL stops it.
func raise(sig syscall.Signal) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return syscall.Tgkill(os.Getpid(), syscall.Gettid(), sig)
}
