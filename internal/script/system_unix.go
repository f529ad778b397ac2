//go:build unix

package script

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// signalByName knows them without the SIG.
func signalByName(name string) (syscall.Signal, error) {
	if sig := unix.SignalNum("SIG" + name); sig != 0 {
		return sig, nil
	}
	return 0, fmt.Errorf("%q is no signal (TERM, KILL, STOP, …)", name)
}

func setProcess(cmd *exec.Cmd, group, session bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: group && !session, Setsid: session}
}

func processGroup() int { return syscall.Getpgrp() }

func processSession() int {
	sid, _ := unix.Getsid(0)
	return sid
}

// workingDirectory asks the system, not $PWD.
func workingDirectory() string {
	dir, _ := syscall.Getwd()
	return dir
}

func openTerminal() (*os.File, error) { return os.OpenFile("/dev/tty", os.O_RDWR, 0) }

// interruptible returns stdin such that a read can be called off and a close takes
// effect at once, if it is a pipe: a terminal's mode is not ours to change.
func interruptible(stdin *os.File) *os.File {
	info, err := stdin.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return stdin
	}
	if stdin.SetReadDeadline(time.Time{}) == nil {
		return stdin // it is so already: we have it from one that did this
	}
	fd := stdin.Fd()
	if unix.SetNonblock(int(fd), true) != nil {
		return stdin
	}
	return os.NewFile(fd, stdin.Name())
}
