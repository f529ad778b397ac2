package ptrace

import (
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// KeepFromExiting traces a process so that it stops on its way out, by SIGKILL too, until
// release is called, which returns once it is traced no more and may be called again. The
// error says that nothing can be traced here; release does nothing then.
func KeepFromExiting(pid int) (release func(), err error) {
	seized, let, over := make(chan error), make(chan struct{}), make(chan struct{})
	go func() { // ends when it is released
		defer close(over)
		// The tracer is a thread. It detaches by itself: that it ends with this goroutine
		// is not certain, the program's first thread does not.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, unix.PTRACE_O_TRACEEXIT, 0, 0)
		if errno != 0 {
			seized <- errno
			return
		}
		seized <- nil
		<-let
		unix.PtraceDetach(pid)
	}()
	return sync.OnceFunc(func() { close(let); <-over }), <-seized
}
