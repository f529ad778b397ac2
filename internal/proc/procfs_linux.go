package proc

import (
	"bytes"
	"math"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// status is what /proc/PID/stat says of a process, as far as we want to know.
type status struct {
	pid, parent, group, session int
	threads                     int
	begun                       int  // in ticks since the machine was booted
	zombie                      bool // or about to vanish
	kernel                      bool // a thread of the kernel
	exiting                     bool // on its way out, before it is a zombie
}

// dead reports whether nothing of the process runs any more. Its first thread may
// be a zombie while others run.
func (s status) dead() bool { return s.zombie && s.threads <= 1 }

// leaving reports whether what the status is of, a process's first thread or another,
// runs nothing of its program any more.
func (s status) leaving() bool { return s.zombie || s.exiting }

// statusOf reads the status of a process; false if it is gone.
func statusOf(pid int) (status, bool) {
	s, ok := statusIn("/proc/" + strconv.Itoa(pid))
	s.pid = pid
	return s, ok
}

// statusIn is statusOf for the directory of a process, or of a thread, without its pid.
func statusIn(dir string) (status, bool) {
	var buf [512]byte
	text, err := readFile(dir+"/stat", buf[:])
	if err != nil {
		return status{}, false
	}
	// pid (command) state ppid pgrp session tty tpgid flags, nine more, priority nice
	// threads alarm starttime …: the command may hold anything, a parenthesis too.
	rest := text[bytes.LastIndexByte(text, ')')+1:]
	var field [20][]byte
	for i := range field {
		rest = bytes.TrimLeft(rest, " ")
		field[i], rest, _ = bytes.Cut(rest, []byte(" "))
	}
	const pfExiting, pfKthread = 0x4, 0x00200000 // include/linux/sched.h
	return status{
		parent:  number(field[1], 0),
		group:   number(field[2], 0),
		session: number(field[3], 0),
		threads: number(field[17], 0),
		begun:   number(field[19], 0),
		zombie:  bytes.ContainsAny(field[0], "ZXx"),
		kernel:  number(field[6], 0)&pfKthread != 0,
		exiting: number(field[6], 0)&pfExiting != 0,
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

// readFile reads the beginning of a file of /proc, all of it if it is smaller than
// buf: these files are given in one piece. It goes without package os, which would
// ask the poller about each one.
func readFile(path string, buf []byte) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Read(fd, buf)
		if err != unix.EINTR {
			return buf[:max(0, n)], err
		}
	}
}

// environOf reads the environment a process was started with. It is empty for a
// zombie, for a thread of the kernel, and in the middle of an exec. buf is used, and
// grown if need be.
func environOf(pid int, buf *[]byte) ([]byte, error) {
	env, err := environIn("/proc/"+strconv.Itoa(pid), buf)
	if len(env) > 0 {
		return env, nil
	}
	// A process whose first thread has ended shows it in the others only. The first
	// one's is then empty, missing, or root's, as the kernel likes.
	if s, ok := statusOf(pid); ok && s.zombie && !s.dead() {
		tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*")
		for _, task := range tasks {
			if env, err := environIn(task, buf); err == nil && len(env) > 0 {
				return env, nil
			}
		}
	}
	return nil, err
}

func environIn(dir string, buf *[]byte) ([]byte, error) {
	for {
		env, err := readFile(dir+"/environ", *buf)
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

// span is a range of numbers of processes, both ends included.
type span struct{ first, last int }

// all are all numbers there are.
var all = span{1, math.MaxInt}

// list returns the processes numbered in s, ascending. Linux walks them in that
// order, and the position in the directory is the number and a constant, so that
// those outside cost nothing.
func (s span) list() ([]int, error) {
	if s.first > 1 && canSeek() {
		return s.listAt(int64(s.first + seekBase))
	}
	return s.listAt(0)
}

// seekBase is where the processes begin in /proc: FIRST_PROCESS_ENTRY in
// fs/proc/base.c, which places process 0 a little later. Too early is only filtered.
const seekBase = 256

// canSeek reports whether /proc is the kernel's and is read as we believe: from our
// own number on we find ourselves.
func canSeek() bool {
	if seekable.Load() == nil {
		self := unix.Getpid()
		found, err := span{self, self}.listAt(int64(self + seekBase))
		if err != nil {
			return false // this time: too many files may be open
		}
		can := len(found) == 1
		seekable.Store(&can)
	}
	return *seekable.Load()
}

var seekable atomic.Pointer[bool]

// haveProc reports whether there is a /proc at all. A variable for the tests.
var haveProc = func() bool {
	var fs unix.Statfs_t
	return unix.Statfs("/proc", &fs) == nil && fs.Type == unix.PROC_SUPER_MAGIC
}

// listAt is list, which begins to read at a position of the directory.
func (s span) listAt(from int64) ([]int, error) {
	fd, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	unix.Seek(fd, from, 0)
	var pids []int
	var names []string
	// Mostly nobody is in the span, and those behind it must not be read in vain.
	for buf := make([]byte, 256); ; buf = make([]byte, 8<<10) {
		n, err := unix.ReadDirent(fd, buf)
		if err == unix.EINTR {
			continue
		} else if err != nil || n <= 0 {
			return pids, err
		}
		for rest := buf[:n]; len(rest) > 0; {
			n, _, names = unix.ParseDirent(rest, 1, names[:0])
			rest = rest[n:]
			if len(names) == 0 {
				break
			}
			switch pid, err := strconv.Atoi(names[0]); {
			case err != nil || pid < s.first:
			case pid > s.last:
				return pids, nil
			default:
				pids = append(pids, pid)
			}
		}
	}
}
