//go:build unix

package journal

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lock takes the file until it is closed, which the end of the program does too.
func lock(f *os.File) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var lockErr error
	if err := c.Control(func(fd uintptr) {
		for lockErr = unix.EINTR; lockErr == unix.EINTR; {
			lockErr = unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB)
		}
	}); err != nil {
		return err
	}
	if errors.Is(lockErr, unix.EWOULDBLOCK) {
		return ErrInUse
	}
	if lockErr != nil {
		return fmt.Errorf("locking %s: %w", f.Name(), lockErr)
	}
	return nil
}
