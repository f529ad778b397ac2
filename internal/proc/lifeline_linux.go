package proc

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// lifeline ends the child's group when this process is gone, by kill -9 too.
//
// It is a pipe that nobody writes to. The child and those it starts inherit the
// reading end, and the pipe is told to send SIGKILL to the child's group when
// something happens to it. What happens is that the last writing end is closed, by
// this process or by its death. Unlike a parent-death signal this reaches the whole
// group and is not tied to the thread that started the child.
//
// The pipe remembers the group itself, not its number, so it never hits another one.
// It cannot reach: a process that left the group; a child that gave itself another
// user (setuid); and a parent that is killed between the child's exec and tie, some
// microseconds. For all of these stdin's EOF remains.
//
// This process keeps the reading end as well, because launchers close descriptors
// they do not know: Linux runs the last closes of a dying process backwards, so the
// writing end goes while the reading end is still there to tell. That order is
// nothing it promises; where it is otherwise, the one in the child counts.
type lifeline struct {
	read, write *os.File
	name        string // of the pipe, as /proc shows it
}

// lineInChild is the life-line's number in the child.
const lineInChild = 3

func newLifeline() (lifeline, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return lifeline{}, os.NewSyscallError("pipe2", err)
	}
	if fds[0] == lineInChild {
		// It would be the same in a process that we have forked and that has not come
		// to its exec yet: another run's child.
		defer unix.Close(fds[0])
		fd, err := unix.FcntlInt(uintptr(fds[0]), unix.F_DUPFD_CLOEXEC, lineInChild+1)
		if err != nil {
			unix.Close(fds[1])
			return lifeline{}, os.NewSyscallError("fcntl", err)
		}
		fds[0] = fd
	}
	name, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(fds[0]))
	// Not os.Pipe: neither end has anything for the runtime's poller.
	return lifeline{os.NewFile(uintptr(fds[0]), "life-line"), os.NewFile(uintptr(fds[1]), "life-line"), name}, nil
}

// held reports whether a process has the life-line as the child was given it: then it
// descends from the child, whatever else it has put away.
func (l lifeline) held(pid int) bool {
	if l.name == "" {
		return false
	}
	var buf [64]byte
	n, err := unix.Readlink("/proc/"+strconv.Itoa(pid)+"/fd/"+strconv.Itoa(lineInChild), buf[:])
	return err == nil && string(buf[:n]) == l.name
}

// tie makes the line end the group of pid, which leads it. Where the system has no
// such signals the child is without a life-line, which takes nothing else from it.
func (l lifeline) tie(pid int) {
	fd := l.read.Fd()
	unix.FcntlInt(fd, unix.F_SETSIG, int(unix.SIGKILL))
	unix.FcntlInt(fd, unix.F_SETOWN, -pid)
	unix.FcntlInt(fd, unix.F_SETFL, unix.O_ASYNC)
}

// close is for a group that is gone; it would end one that is not.
func (l lifeline) close() {
	l.write.Close()
	l.read.Close()
}
