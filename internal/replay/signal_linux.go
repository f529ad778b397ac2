package replay

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// raise ends the process by this signal, which is one that ends processes. The runtime
// has handlers for those of a crash, so the system's own way is put in their place first.
func raise(name string) {
	sig := unix.Signal(signalNumber(name))
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) // nobody wants to look into this process
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var byDefault [64]byte // struct sigaction; SIG_DFL is 0
	const maskSize = 8
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&byDefault)), 0, maskSize, 0, 0)
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), sig)
}
