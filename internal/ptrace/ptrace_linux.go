package ptrace

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// KeepFromExiting traces a process so that it stops on its way out, by SIGKILL too, until
// release is called, which returns once it is traced no more and may be called again. The
// error says that nothing can be traced here; release does nothing then.
func KeepFromExiting(pid int) (release func(), err error) {
	seized, let, ended := make(chan error), make(chan struct{}), make(chan struct{})
	go func() { // ends when it is released
		defer close(ended)
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
		detach(pid)
	}()
	return sync.OnceFunc(func() { close(let); <-ended }), <-seized
}

// detach lets a process go. That is only possible while it is stopped, and one that is being
// ended may just be on its way from one stop to the next: so it is tried until it is done, or
// there is nothing left to let go.
func detach(pid int) {
	for unix.PtraceDetach(pid) != nil && !over(pid) {
		unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_INTERRUPT, uintptr(pid), 0, 0, 0, 0)
		time.Sleep(time.Millisecond)
	}
}

// over reports whether a process is gone, or a zombie.
func over(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err != nil || strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")
}
