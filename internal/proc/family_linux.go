package proc

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// native is what Linux adds to a family: a way to wait that holds no thread, the
// life-line, and /proc to find who left the group.
type native struct {
	pidfd    *os.File // of the child, non-blocking; nil where the kernel has none
	line     lifeline
	runID    string
	sweeping bool // false: the group is all that is to be ended
	era      era

	looked  span        // where newcomers has looked last
	settled bool        // it found nobody new in the end
	blind   error       // why it could not look
	member  int         // who of the group was last seen alive
	strayed map[int]int // pid -> pidfd of descendants seen outside the group
}

// spawn starts the child as the leader of a session of its own.
func spawn(ctx context.Context, spec Spec, argv []string, stdio files) (*family, error) {
	line, err := newLifeline()
	if err != nil {
		return nil, err
	}
	era := newEra()
	pidfd := -1
	proc, err := startProcess(ctx, spec.Path, argv, &os.ProcAttr{
		Dir:   spec.Dir,
		Env:   spec.Env,
		Files: append(stdio[:len(stdio):len(stdio)], line.read),
		Sys:   &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd},
	})
	if err != nil {
		line.close()
		return nil, err
	}
	leaders.add(proc.Pid)
	line.tie(proc.Pid)
	f := &family{proc: proc, native: native{
		line:     line,
		runID:    spec.RunID,
		sweeping: spec.Sweep == SweepRun,
		era:      era,
		strayed:  map[int]int{},
	}}
	if pidfd >= 0 {
		unix.SetNonblock(pidfd, true) // for the runtime's poller
		f.pidfd = os.NewFile(uintptr(pidfd), "pidfd")
	}
	return f, nil
}

// leaders are the children that lead a group and are not reaped: the first process of each
// run there is. None of them belongs to another run, and in a crowd most of the young
// processes are of them.
var leaders pidSet

// pidSet is a set of processes. Its methods may be called from any goroutine.
type pidSet struct {
	mu   sync.RWMutex // guards pids
	pids map[int]bool
}

func (s *pidSet) add(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pids == nil {
		s.pids = map[int]bool{}
	}
	s.pids[pid] = true
}

func (s *pidSet) remove(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pids, pid)
}

func (s *pidSet) has(pid int) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.pids[pid]
}

// await returns when the child has exited, and leaves it unreaped: as long as it is,
// its number, the group's, cannot be given to anybody else.
func (f *family) await() Exit {
	var info childInfo
	wait := func(kind, id, options int) error {
		return info.wait(kind, id, unix.WEXITED|unix.WNOWAIT|options)
	}
	if f.pidfd != nil {
		err := errors.ErrUnsupported
		if conn, connErr := f.pidfd.SyscallConn(); connErr == nil {
			// The poller says when to look again; an idle child costs no thread.
			connErr = conn.Read(func(fd uintptr) bool {
				err = wait(unix.P_PIDFD, int(fd), unix.WNOHANG)
				return err != nil || info.pid() != 0
			})
			err = errors.Join(err, connErr)
		}
		if err == nil {
			return info.exit()
		}
	}
	if wait(unix.P_PID, f.proc.Pid, 0) != nil {
		return Exit{Code: -1} // somebody else has waited for it
	}
	return info.exit()
}

// release lets go of what the family holds. The child has exited.
func (f *family) release() {
	leaders.remove(f.proc.Pid) // before its number can be given away
	f.proc.Wait()
	if f.pidfd != nil {
		f.pidfd.Close()
	}
	f.line.close()
	for _, fd := range f.strayed {
		unix.Close(fd)
	}
}

// childInfo is what waitid tells about a child.
type childInfo struct{ unix.Siginfo }

func (c *childInfo) wait(kind, id, options int) error {
	for {
		err := unix.Waitid(kind, id, &c.Siginfo, options, nil)
		if err != unix.EINTR {
			return err
		}
	}
}

// childFields are the fields of siginfo_t for SIGCHLD, which x/sys leaves opaque.
type childFields struct {
	signo, errno, code int32
	_                  [0]uintptr // what follows is aligned like a pointer
	pid                int32
	uid                uint32
	status             int32
}

func (c *childInfo) fields() *childFields {
	return (*childFields)(unsafe.Pointer(&c.Siginfo))
}

// pid is 0 as long as there is nothing to tell.
func (c *childInfo) pid() int { return int(c.fields().pid) }

func (c *childInfo) exit() Exit {
	const exited = 1 // CLD_EXITED
	status := int(c.fields().status)
	if c.Code == exited {
		return Exit{Code: status}
	}
	return Exit{Code: -1, Signal: signalName(syscall.Signal(status))}
}
