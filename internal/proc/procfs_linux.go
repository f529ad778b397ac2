package proc

import (
	"bytes"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// status is what /proc/PID/stat says of a process, as far as we want to know.
type status struct {
	pid, parent, group, session int
	threads                     int
	zombie                      bool // or about to vanish
	kernel                      bool // a thread of the kernel
}

// dead reports whether nothing of the process runs any more. Its first thread may
// be a zombie while others run.
func (s status) dead() bool { return s.zombie && s.threads <= 1 }

// statusOf reads the status of a process; false if it is gone.
func statusOf(pid int) (status, bool) {
	var buf [512]byte
	text, err := readProc(pid, "stat", buf[:])
	if err != nil {
		return status{}, false
	}
	// pid (command) state ppid pgrp session tty tpgid flags, nine more,
	// priority nice threads …: the command may hold anything, a parenthesis too.
	rest := text[bytes.LastIndexByte(text, ')')+1:]
	var field [18][]byte
	for i := range field {
		rest = bytes.TrimLeft(rest, " ")
		field[i], rest, _ = bytes.Cut(rest, []byte(" "))
	}
	number := func(i int) int {
		n, _ := strconv.Atoi(string(field[i]))
		return n
	}
	const pfKthread = 0x00200000 // include/linux/sched.h
	return status{
		pid:     pid,
		parent:  number(1),
		group:   number(2),
		session: number(3),
		threads: number(17),
		zombie:  bytes.ContainsAny(field[0], "ZXx"),
		kernel:  number(6)&pfKthread != 0,
	}, true
}

// commandOf returns the short name of a process, or nothing.
func commandOf(pid int) string {
	var buf [64]byte
	text, _ := readProc(pid, "comm", buf[:])
	return string(bytes.TrimSpace(text))
}

// readProc reads /proc/PID/name into buf, up to its size.
func readProc(pid int, name string, buf []byte) ([]byte, error) {
	return readFile("/proc/"+strconv.Itoa(pid)+"/"+name, buf)
}

// readFile reads a file into buf, up to its size. It goes without package os, which
// would ask the poller about each one.
func readFile(path string, buf []byte) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	n := 0
	for n < len(buf) {
		m, err := unix.Read(fd, buf[n:])
		if err == unix.EINTR {
			continue
		} else if err != nil {
			return nil, err
		} else if m == 0 {
			break
		}
		n += m
	}
	return buf[:n], nil
}

// environOf reads the environment a process was started with. It is empty for a
// zombie, for a thread of the kernel, and in the middle of an exec. buf is used, and
// grown if need be.
func environOf(pid int, buf *[]byte) ([]byte, error) {
	for {
		env, err := readProc(pid, "environ", *buf)
		if err != nil || len(env) < len(*buf) {
			return env, err
		}
		*buf = make([]byte, 2*len(*buf))
	}
}

// carries reports whether an environment names id in its list of runs.
func carries(env []byte, id string) bool {
	for len(env) > 0 {
		var entry []byte
		entry, env, _ = bytes.Cut(env, []byte{0})
		if runs, ok := bytes.CutPrefix(entry, []byte(RunVariable+"=")); ok {
			for run := range bytes.SplitSeq(runs, []byte(":")) {
				if string(run) == id {
					return true
				}
			}
		}
	}
	return false
}

// listFrom returns the processes numbered first and higher, ascending. Linux walks
// them in that order, and the position in the directory is the number and a
// constant, so that those below first cost nothing.
func listFrom(first int) []int {
	from := int64(0)
	if first > 1 && canSeek() {
		from = int64(first + seekBase)
	}
	return list(first, from)
}

// seekBase is where the processes begin in /proc: FIRST_PROCESS_ENTRY in
// fs/proc/base.c, which places process 0 a little later. Too early is only filtered.
const seekBase = 256

// canSeek reports whether /proc is the kernel's and is read as we believe: from our
// own number on we find ourselves.
var canSeek = sync.OnceValue(func() bool {
	self := unix.Getpid()
	found := list(self, int64(self+seekBase))
	return len(found) > 0 && found[0] == self
})

func list(first int, from int64) []int {
	fd, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	unix.Seek(fd, from, 0)
	var pids []int
	var names []string
	buf := make([]byte, 8<<10)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err == unix.EINTR {
			continue
		} else if err != nil || n <= 0 {
			return pids
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names[:0])
		for _, name := range names {
			if pid, err := strconv.Atoi(name); err == nil && pid >= first {
				pids = append(pids, pid)
			}
		}
	}
}

// pidRate is how many numbers a second a machine is believed to give to processes
// and threads at most, for long.
const pidRate = 10_000

// firstSince returns the lowest number that a process begun since then can have,
// when the one with number pid was the first of them: pid, or 1 if the numbers may
// have begun anew.
func firstSince(pid int, then time.Time) int {
	if lastPID() < pid || time.Since(then) > time.Duration(pidMax())*(time.Second/pidRate) {
		return 1
	}
	return pid
}

// lastPID returns the number that was given last; 0 if that is not known.
func lastPID() int {
	var buf [128]byte
	text, _ := readFile("/proc/loadavg", buf[:])
	n, _ := strconv.Atoi(string(bytes.TrimSpace(text[bytes.LastIndexByte(text, ' ')+1:])))
	return n
}

// pidMax returns the number at which they begin anew.
var pidMax = sync.OnceValue(func() int {
	var buf [32]byte
	text, _ := readFile("/proc/sys/kernel/pid_max", buf[:])
	n, _ := strconv.Atoi(string(bytes.TrimSpace(text)))
	return n
})
