//go:build unix

package proc

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// family is the child and everything it has started, as far as the system can tell:
// on Unix the process group the child leads, and what the file of the system adds.
// But for await, its methods are called by one goroutine at a time, the one that
// ends the child.
type family struct {
	proc   *os.Process
	exited <-chan struct{} // closed after await has returned
	over   bool            // the group was seen empty: its number may be anybody's now
	native
}

// canTerminate says that there is a SIGTERM rung.
const canTerminate = true

// terminate asks the group to end, and wakes those of it that are stopped, so that
// they hear it.
func (f *family) terminate() {
	f.signal(unix.SIGTERM)
	f.signal(unix.SIGCONT)
}

func (f *family) kill() { f.signal(unix.SIGKILL) }

// signal sends sig to the group, unless it is gone. Whoever is in it keeps its
// number from being given away: before the leader is reaped the leader does, and
// afterwards the member that was seen by gone a moment ago.
func (f *family) signal(sig unix.Signal) {
	if f.gone() || !isChilds(f.proc.Pid) {
		return
	}
	unix.Kill(-f.proc.Pid, sig)
}

// isChilds reports whether pgid can be the group of a child: neither everybody, nor
// the first process's, nor our own.
func isChilds(pgid int) bool { return pgid > 1 && pgid != unix.Getpgrp() }

// gone reports whether the child has exited and nothing of its group is alive. What
// is ours is reaped on the way; zombies that are not ours do not count.
func (f *family) gone() bool {
	if f.over {
		return true
	}
	if !isClosed(f.exited) {
		return false
	}
	f.proc.Wait() // reaps where await did not
	pgid := -f.proc.Pid
	if f.over = unix.Kill(pgid, 0) == unix.ESRCH; f.over {
		return true
	}
	f.over = !f.memberAlive()
	// As process 1, or as a subreaper, we have inherited what the child left behind:
	// as zombies, too, when their parent died after them.
	for {
		pid, err := unix.Wait4(pgid, nil, unix.WNOHANG, nil)
		if err != unix.EINTR && pid <= 0 {
			return f.over
		}
	}
}

// signalName returns the name of s as in the headers, such as "SIGKILL".
func signalName(s unix.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(s))
}
