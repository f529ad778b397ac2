//go:build unix

package proc

import (
	"errors"
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
	pgid := f.proc.Pid
	if f.gone() || pgid <= 1 || pgid == unix.Getpgrp() {
		return
	}
	unix.Kill(-pgid, sig)
}

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
	// As process 1, or as a subreaper, we have inherited what the child has left.
	for pid, err := 1, error(nil); err == unix.EINTR || err == nil && pid > 0; {
		pid, err = unix.Wait4(-f.proc.Pid, nil, unix.WNOHANG, nil)
	}
	f.over = errors.Is(unix.Kill(-f.proc.Pid, 0), unix.ESRCH) || !f.memberAlive()
	return f.over
}

// signalName returns the name of s as in the headers, such as "SIGKILL".
func signalName(s unix.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(s))
}
