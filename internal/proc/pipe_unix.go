//go:build unix

package proc

import (
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

// pending returns how many bytes can be read from a pipe at once.
func pending(f *os.File) (n int) {
	if conn, err := f.SyscallConn(); err == nil {
		conn.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), fionread) })
	}
	return n
}
