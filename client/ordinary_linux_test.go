package client_test

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// asOrdinaryUser calls f as a user who is not root and to whom files belong.
func asOrdinaryUser(t *testing.T, f func(), files ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	const nobody = 65534
	for _, file := range files {
		require(t, os.Chown(file, nobody, nobody))
	}
	done := make(chan error)
	go func() { // ends with f
		// The thread alone changes its user. It ends with this goroutine, because
		// that never unlocks it.
		runtime.LockOSThread()
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
			done <- errno
			return
		}
		defer func() { done <- nil }()
		f()
	}()
	if err := <-done; errors.Is(err, unix.EPERM) {
		t.Skip("this root cannot become another user")
	} else if err != nil {
		t.Fatal(err)
	}
}
