//go:build unix

package proc

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// program returns the file that path, an absolute one, is run from.
func program(path string, _ []string) (string, error) { return path, checkProgram(path) }

// canExecute reports, as an error, whether this process's effective user may run
// the file, or enter the directory, at path.
func canExecute(path string) error {
	err := unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS)
	if err == unix.EACCES || err == unix.EPERM {
		return fs.ErrPermission
	}
	return os.NewSyscallError("access", err)
}
