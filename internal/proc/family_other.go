//go:build unix && !linux

package proc

import (
	"context"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// FIONREAD of <sys/filio.h>, which x/sys does not name.
const fionread = 0x4004667f

// native adds nothing: here the group is all, there is neither a life-line nor a
// sweep.
type native struct{}

// spawn starts the child as the leader of a session of its own.
func spawn(ctx context.Context, spec Spec, argv []string, stdio files) (*family, error) {
	proc, err := startProcess(ctx, spec.Path, argv, &os.ProcAttr{
		Dir:   spec.Dir,
		Env:   spec.Env,
		Files: stdio,
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return nil, err
	}
	return &family{proc: proc}, nil
}

// await returns when the child has exited. It holds a thread, and it reaps the child,
// so that the group's number is free if nobody else is in it: that is seen at once.
func (f *family) await() Exit {
	state, err := f.proc.Wait()
	f.over = !f.memberAlive()
	if err != nil {
		return Exit{Code: -1}
	}
	s := state.Sys().(syscall.WaitStatus)
	if s.Signaled() {
		return Exit{Code: -1, Signal: signalName(s.Signal())}
	}
	return Exit{Code: s.ExitStatus()}
}

// memberAlive reports whether the group has a member. What macOS says of a group of
// zombies is EPERM.
func (f *family) memberAlive() bool { return unix.Kill(-f.proc.Pid, 0) == nil }

func (f *family) track() {}

// sweep only says that somebody is left in the group; there is no way to tell who.
func (f *family) sweep(time.Time) []Leftover {
	if f.gone() {
		return nil
	}
	return []Leftover{{PID: f.proc.Pid, Ours: true, Reason: "its group is still there after SIGKILL"}}
}

func (f *family) release() {}

func closeOnExec() { markEach("/dev/fd") }

// Undumpable does nothing here; see the one for Linux.
func Undumpable() error { return nil }
