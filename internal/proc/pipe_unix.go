//go:build unix

package proc

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// inPipe returns a pipe for the child to read from: the child's end and ours.
func inPipe() (child, ours *os.File, err error) { return pipe() }

// outPipe returns a pipe for the child to write to: our end and the child's.
func outPipe() (ours, child *os.File, err error) { return pipe() }

// pipe is os.Pipe, whose ends know deadlines as long as nobody asks for their Fd,
// and neither end is numbered below 3: in a program that has closed its stdout or
// stderr, package os would answer a torn pipe of that number with SIGPIPE.
func pipe() (r, w *os.File, err error) {
	r, w, err = os.Pipe()
	if err != nil || descriptor(r) > 2 && descriptor(w) > 2 {
		return r, w, err
	}
	// They hold the low numbers while the next pair is made.
	defer r.Close()
	defer w.Close()
	return pipe()
}

// descriptor returns f's and leaves f as it is, which Fd does not.
func descriptor(f *os.File) (n int) {
	if conn, err := f.SyscallConn(); err == nil {
		conn.Control(func(fd uintptr) { n = int(fd) })
	}
	return n
}

// readNow reads what a pipe holds, and nothing later: it ends where that is nothing.
// A process that has the pipe as its stdout can open it for reading, too, and may have
// been here first.
func readNow(f *os.File, p []byte) (n int, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	controlErr := conn.Read(func(fd uintptr) bool {
		for {
			if n, err = unix.Read(int(fd), p); err != unix.EINTR {
				return true
			}
		}
	})
	switch {
	case controlErr != nil:
		return 0, controlErr
	case err == unix.EAGAIN || err == nil && n == 0:
		return 0, io.EOF
	}
	return max(0, n), os.NewSyscallError("read", err)
}

// pending returns how many bytes can be read from a pipe at once.
func pending(f *os.File) (n int) {
	if conn, err := f.SyscallConn(); err == nil {
		conn.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), fionread) })
	}
	return n
}
