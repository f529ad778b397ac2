package proc

import (
	"bytes"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// era is what has to be known of a moment to say later whether the numbers of
// processes have begun anew since, so that a lower one may be a younger process.
type era struct {
	began time.Time
	ticks int // the same in status.begun's measure
	forks int // begun on the machine some time before; -1 if unknown
}

// pidRate is how many numbers a second a machine gives to processes and threads at
// most, as far as we trust in it. With the usual 4,194,304 numbers that is for seven
// minutes, with the 32,768 of a small machine for three seconds.
const pidRate = 10_000

// newEra begins an era, for a process that is started next.
func newEra() era {
	const tick = time.Second / 100 // USER_HZ
	var up unix.Timespec
	unix.ClockGettime(unix.CLOCK_BOOTTIME, &up)
	return era{began: time.Now(), ticks: int(time.Duration(up.Nano()) / tick), forks: recentForks()}
}

// since returns the numbers that the processes begun after the one with number pid
// have, with which the era began: those up to the one given last, or all if the
// numbers may have begun anew. An older process may have such a number too.
func (e era) since(pid int) span {
	last := lastPID()
	if last < pid {
		return all
	}
	if time.Since(e.began) < time.Duration(pidMax())*(time.Second/pidRate) {
		return span{pid + 1, last}
	}
	if now := forks(); e.forks >= 0 && now >= 0 && pid+now-e.forks < pidMax() {
		return span{pid + 1, last}
	}
	return all
}

// lastPID returns the number that was given last; 0 if that is not known.
func lastPID() int {
	var buf [128]byte
	text, err := readFile("/proc/sys/kernel/ns_last_pid", buf[:])
	if err != nil {
		// A kernel without it, where this may be the work of a container's helper.
		text, _ = readFile("/proc/loadavg", buf[:])
		text = text[bytes.LastIndexByte(text, ' ')+1:]
	}
	return number(text, 0)
}

// pidMax returns the number at which they begin anew.
var pidMax = sync.OnceValue(func() int {
	var buf [32]byte
	text, _ := readFile("/proc/sys/kernel/pid_max", buf[:])
	return number(text, 0)
})

// forks returns how many processes and threads were begun since the machine was
// booted; -1 if that is not known. It is exact, and costs some ten microseconds, more
// on a large machine.
func forks() int {
	buf := make([]byte, 64<<10)
	text, _ := readFile("/proc/stat", buf)
	_, text, _ = bytes.Cut(text, []byte("\nprocesses "))
	text, _, _ = bytes.Cut(text, []byte("\n"))
	return number(text, -1)
}

var recent struct {
	sync.Mutex // guards both
	at         time.Time
	forks      int
}

// recentForks is forks as it was at most a second ago, so that many starts in a row
// cost one look.
func recentForks() int {
	recent.Lock()
	defer recent.Unlock()
	if now := time.Now(); now.Sub(recent.at) > time.Second {
		recent.at, recent.forks = now, forks()
	}
	return recent.forks
}

func number(text []byte, otherwise int) int {
	n, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil {
		return otherwise
	}
	return n
}
