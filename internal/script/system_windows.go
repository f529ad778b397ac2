package script

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// signalByName knows those that Windows has something like.
func signalByName(name string) (syscall.Signal, error) {
	known := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}
	if sig, ok := known[name]; ok {
		return sig, nil
	}
	return 0, fmt.Errorf("%q is no signal here (INT, TERM, KILL)", name)
}

// raise can only kill.
func raise(sig syscall.Signal) error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return self.Signal(sig)
}

func setProcess(cmd *exec.Cmd, group, session bool) {
	if group || session {
		cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	}
}

func processGroup() int { return 0 }

func processSession() int { return 0 }

func workingDirectory() string {
	dir, _ := os.Getwd()
	return dir
}

func openTerminal() (*os.File, error) { return os.OpenFile("CONIN$", os.O_RDWR, 0) }

func interruptible(stdin *os.File) *os.File { return stdin }
