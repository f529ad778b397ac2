//go:build unix

package main

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// watchClosed calls closed when the reader of stdout has gone, also while nothing is
// written. It can be told of a pipe and of a socket.
func watchClosed(stdout *os.File, closed func()) {
	info, err := stdout.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return
	}
	// Ends with the program: a poll that nothing happens to cannot be called off.
	go func() {
		for {
			// Errors and hang-ups are reported without being asked for. Not stdout.Fd(),
			// which would change the mode of a file that others share.
			fds := []unix.PollFd{{Fd: int32(syscall.Stdout)}}
			_, err := unix.Poll(fds, -1)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err == nil && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
				closed()
			}
			return
		}
	}()
}
