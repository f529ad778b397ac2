package home

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// asUser calls f as a user whom permissions mean something to.
func asUser(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	if os.Geteuid() != 0 {
		f(t)
		return
	}
	const nobody = 65534
	done := make(chan bool)
	go func() { // ends with f
		// The thread alone changes its user. It ends with this goroutine, which never
		// unlocks it.
		runtime.LockOSThread()
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
			done <- false
			return
		}
		defer func() { done <- true }()
		f(t)
	}()
	if !<-done {
		t.Skip("this root cannot become another user")
	}
}
