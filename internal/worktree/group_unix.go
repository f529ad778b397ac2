//go:build unix

package worktree

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the command into a process group of its own: a Ctrl-C at the terminal is
// not for it, and when its context ends, what it has started goes with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
