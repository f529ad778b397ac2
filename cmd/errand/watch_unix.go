//go:build unix

package main

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// watchClosed calls closed when the reader of stdout has gone, also while nothing is
// written. It can be told of a pipe, a socket and a terminal. A stdout that was closed
// before the program began cannot be told from /dev/null, which Go's runtime opens in
// its place.
func watchClosed(stdout *os.File, closed func()) {
	info, err := stdout.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket|os.ModeCharDevice) == 0 {
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
