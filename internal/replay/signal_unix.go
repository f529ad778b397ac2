//go:build unix

package replay

import (
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// signalNumber returns the number of a signal, 0 where there is no such. Those without a name
// are recorded as "signal 34".
func signalNumber(name string) int {
	if number, ok := strings.CutPrefix(name, "signal "); ok {
		const most = 64
		if n, err := strconv.Atoi(number); err == nil && 0 < n && n <= most {
			return n
		}
		return 0
	}
	return int(unix.SignalNum(name))
}

// endsProcess reports whether a process that does nothing about a signal is ended by it.
func endsProcess(name string) bool {
	sig := unix.Signal(signalNumber(name))
	harmless := []unix.Signal{
		unix.SIGCHLD, unix.SIGCONT, unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGURG, unix.SIGWINCH,
	}
	if runtime.GOOS != "linux" { // as the BSDs have it
		harmless = append(harmless, unix.SIGIO, unix.SignalNum("SIGINFO"))
	}
	return sig != 0 && !slices.Contains(harmless, sig)
}
