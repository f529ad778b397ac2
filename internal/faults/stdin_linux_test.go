package faults

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// stdinWaits reports whether there is something in the agent's stdin that it has not
// read.
func (s *scene) stdinWaits() bool {
	for _, pid := range marked(s.mark) {
		f, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/0", pid), os.O_RDONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		defer f.Close()
		c, err := f.SyscallConn()
		if err != nil {
			continue
		}
		n := 0
		c.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
		if err == nil && n > 0 {
			return true
		}
	}
	return false
}
