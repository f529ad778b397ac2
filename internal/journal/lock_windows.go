package journal

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// lock takes the file until it is closed, which the end of the program does too. What is
// locked is a byte far behind the text, so that others can read that.
func lock(f *os.File) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var lockErr error
	if err := c.Control(func(fd uintptr) {
		lockErr = windows.LockFileEx(windows.Handle(fd), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	}); err != nil {
		return err
	}
	if errors.Is(lockErr, windows.ERROR_LOCK_VIOLATION) {
		return ErrInUse
	}
	if lockErr != nil {
		return fmt.Errorf("locking %s: %w", f.Name(), lockErr)
	}
	return nil
}
