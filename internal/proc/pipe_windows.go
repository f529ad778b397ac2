package proc

import (
	"crypto/rand"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// inPipe returns a pipe for the child to read from: the child's end and ours.
func inPipe() (child, ours *os.File, err error) {
	ours, child, err = pipe(windows.PIPE_ACCESS_OUTBOUND, windows.GENERIC_READ)
	return child, ours, err
}

// outPipe returns a pipe for the child to write to: our end and the child's.
func outPipe() (ours, child *os.File, err error) {
	return pipe(windows.PIPE_ACCESS_INBOUND, windows.GENERIC_WRITE)
}

// pipe makes a named pipe, because os.Pipe makes pipes that know no deadline and
// whose Close waits for a blocked Write. Our end is overlapped, the child's is not,
// as programs expect it of their standard handles.
func pipe(server, client uint32) (ours, child *os.File, err error) {
	path := `\\.\pipe\errand-` + rand.Text()
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, nil, err
	}
	const size = 64 << 10
	o, err := windows.CreateNamedPipe(name, server|windows.FILE_FLAG_OVERLAPPED|windows.FILE_FLAG_FIRST_PIPE_INSTANCE,
		windows.PIPE_TYPE_BYTE|windows.PIPE_REJECT_REMOTE_CLIENTS, 1, size, size, 0, nil)
	if err != nil {
		return nil, nil, os.NewSyscallError("CreateNamedPipe", err)
	}
	c, err := windows.CreateFile(name, client, 0, nil, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		windows.CloseHandle(o)
		return nil, nil, os.NewSyscallError("CreateFile", err)
	}
	return os.NewFile(uintptr(o), path), os.NewFile(uintptr(c), path), nil
}

// readNow reads from a pipe that holds something.
func readNow(f *os.File, p []byte) (int, error) { return f.Read(p) }

var peekNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")

// pending returns how many bytes can be read from a pipe at once.
func pending(f *os.File) int {
	var n uint32
	if conn, err := f.SyscallConn(); err == nil {
		conn.Control(func(h uintptr) {
			peekNamedPipe.Call(h, 0, 0, 0, uintptr(unsafe.Pointer(&n)), 0)
		})
	}
	return int(n)
}
