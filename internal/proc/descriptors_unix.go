//go:build unix

package proc

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// markEach marks every descriptor above 2 that dir lists close-on-exec.
func markEach(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}
