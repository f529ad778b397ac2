package proc

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// relists bounds how often in a row the processes are listed because somebody is new.
const relists = 100

// newcomers yields the processes begun since the child, each once, and some older
// ones, but no other run's first. It lists them anew until nobody is new, so that one that forks and goes while
// the others are looked at is found by its child. If it never comes to an end, because
// they fork faster than they can be looked at, it gives up, and f.settled is false; so it
// is, and f.blind says why, if they cannot be listed.
func (f *family) newcomers(yield func(pid int) bool) {
	seen := map[int]bool{}
	f.settled, f.blind = false, nil
	for range relists {
		fresh := false
		f.looked = f.era.since(f.proc.Pid)
		pids, err := f.looked.list()
		if err != nil {
			f.blind = err
			return
		}
		for _, pid := range pids {
			if seen[pid] || leaders.has(pid) {
				continue
			}
			seen[pid], fresh = true, true
			if !yield(pid) {
				return
			}
		}
		if f.settled = !fresh; f.settled {
			return
		}
	}
}

// memberAlive reports whether anybody but zombies is in the group. Where there is no
// /proc to tell, a zombie counts.
func (f *family) memberAlive() bool {
	if !haveProc() || f.inGroup(f.member) {
		return true
	}
	for pid := range f.newcomers {
		if f.inGroup(pid) {
			f.member = pid
			return true
		}
	}
	return !f.settled
}

func (f *family) inGroup(pid int) bool {
	if group, err := unix.Getpgid(pid); err != nil || group != f.proc.Pid {
		return false
	}
	if s, ok := statusOf(pid); ok {
		return !s.dead() && s.group == f.proc.Pid
	}
	return unix.Kill(pid, 0) != unix.ESRCH // it is there, and there was no way to look
}

// track remembers the descendants that have left the group, while they still can be
// known as descendants: one that empties its environment and is then orphaned is
// found by nothing else. It is called before each rung.
func (f *family) track() {
	if !f.sweeping {
		return
	}
	kin := map[int]bool{}
	if !isClosed(f.exited) {
		kin[f.proc.Pid] = true
	}
	for pid, fd := range f.strayed {
		if !isOver(fd) {
			kin[pid] = true
		}
	}
	if len(kin) == 0 {
		return
	}
	var others []status
	for pid := range f.newcomers {
		if s, ok := statusOf(pid); ok && !s.dead() {
			others = append(others, s)
		}
	}
	// Parents mostly come before their children, so once is mostly enough.
	for more := true; more; {
		more = false
		for _, s := range others {
			if kin[s.parent] && !kin[s.pid] {
				kin[s.pid], more = true, true
				if s.group != f.proc.Pid {
					f.follow(s)
				}
			}
		}
	}
}

// follow opens a pidfd of s, unless s is not the process it was any more.
func (f *family) follow(s status) {
	fd, err := unix.PidfdOpen(s.pid, 0)
	if err != nil {
		return
	}
	if now, ok := statusOf(s.pid); !ok || now.parent != s.parent {
		unix.Close(fd)
		return
	}
	if old, ok := f.strayed[s.pid]; ok {
		unix.Close(old)
	}
	f.strayed[s.pid] = fd
}

// sweep ends, by SIGKILL, what belongs to the run and has left the group, and waits
// until then for it to be gone. It returns what is left, in the group too.
func (f *family) sweep(until time.Time) []Leftover {
	s := sweeper{
		family: f,
		until:  until,
		done:   map[int]bool{},
		blank:  map[int]bool{},
		hit:    map[int]int{},
	}
	if !f.gone() {
		for _, pid := range append([]int{f.proc.Pid}, slices.Collect(f.newcomers)...) {
			if f.inGroup(pid) {
				s.done[pid] = true
				s.left = append(s.left, leftover(pid, unix.Kill(pid, 0)))
			}
		}
	}
	if f.sweeping && !haveProc() {
		s.left = append(s.left, Leftover{Reason: "there is no /proc to look for processes outside the group"})
	} else if f.sweeping {
		for s.pass() && time.Now().Before(until) {
		}
		switch {
		case s.blind != nil:
			s.left = append(s.left, Leftover{Reason: "it was not possible to look for processes outside the group: " + s.blind.Error()})
		case !s.settled:
			s.left = append(s.left, Leftover{Reason: "more processes were begun than could be looked at in time"})
		}
	}
	for pid, fd := range s.hit {
		if !isOver(fd) {
			s.left = append(s.left, leftover(pid, nil))
		}
		// As process 1, or as a subreaper, we have inherited it; some only now that
		// all their parents are gone.
		unix.Waitid(unix.P_PIDFD, fd, nil, unix.WEXITED|unix.WNOHANG, nil)
		unix.Close(fd)
	}
	return s.left
}

// sweeper is one sweep.
type sweeper struct {
	*family
	until time.Time
	buf   []byte       // for environments
	done  map[int]bool // need not be looked at again
	blank map[int]bool // had no environment when it was looked at
	hit   map[int]int  // pid -> pidfd of those that were sent SIGKILL
	left  []Leftover
}

// pass looks at everybody once and ends who is to be ended. It reports whether
// another pass could find more: whoever was ended may have forked before, whoever
// was in the middle of an exec may show an environment now.
func (s *sweeper) pass() (again bool) {
	s.track()
	for pid, fd := range s.strayed {
		delete(s.strayed, pid)
		s.kill(pid, fd)
		again = true
	}
	unsure := false
	for pid := range s.newcomers {
		if s.done[pid] {
			continue
		}
		switch s.judge(pid) {
		case ours:
			s.take(pid)
			again = true
		case inExec:
			unsure = true
		case hidden:
			s.done[pid] = true
			if ownedByUs(pid) {
				s.left = append(s.left, Leftover{PID: pid, Command: commandOf(pid), Reason: "its environment cannot be read"})
			}
		case foreign:
			s.done[pid] = true
		}
	}
	for _, fd := range s.hit {
		waitOver(fd, s.until)
	}
	if unsure || s.blind != nil {
		time.Sleep(200 * time.Microsecond)
	}
	return again || unsure || !s.settled
}

// take ends a process that was judged ours. Only the pidfd makes sure that it is
// still the one it was, so the judgement is repeated under it.
func (s *sweeper) take(pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		s.done[pid] = true
	case err != nil:
		s.done[pid] = true
		s.left = append(s.left, leftover(pid, err))
	case s.judge(pid) != ours:
		unix.Close(fd)
	default:
		s.kill(pid, fd)
	}
}

// kill sends SIGKILL through fd, which it takes over.
func (s *sweeper) kill(pid, fd int) {
	s.done[pid] = true
	if old, ok := s.hit[pid]; ok {
		unix.Close(old) // gone, and its number given away
	}
	err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	if err != nil && err != unix.ESRCH {
		s.left = append(s.left, leftover(pid, err))
		unix.Close(fd)
		return
	}
	s.hit[pid] = fd
}

type verdict int

const (
	foreign verdict = iota
	ours
	inExec // it has no environment yet, or we cannot read anything just now
	hidden // it has one that we may not read
)

// judge says whether a process belongs to the run: it carries the run's id, has the
// life-line where the child was given it, or is in the session that the child made.
func (s *sweeper) judge(pid int) verdict {
	if s.buf == nil {
		s.buf = make([]byte, 16<<10)
	}
	env, err := environOf(pid, &s.buf)
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM) {
		s.blind = err
		return inExec // it may go better the next time
	}
	unique := s.looked != all // no number can have been given twice since the child began
	denied := errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)
	switch {
	case err == nil && (carries(env, s.runID) || s.line.held(pid)):
		return ours
	case err != nil && !denied:
		return foreign // it is gone
	case len(env) > 0 && !unique:
		return foreign // the session's number may be anybody's
	}
	st, ok := statusOf(pid)
	switch {
	case !ok || st.dead() || st.kernel:
		return foreign
	case st.session == s.proc.Pid && unique:
		return ours
	case denied && st.begun >= s.era.ticks && orphaned(st):
		return hidden
	case denied:
		return foreign
	case len(env) > 0:
		return foreign
	}
	// In the middle of an exec a process has neither environment nor arguments, and
	// for a moment the arguments alone.
	var arg [1]byte
	if args, _ := readProc(pid, "cmdline", arg[:]); len(args) > 0 && s.blank[pid] {
		return foreign
	}
	s.blank[pid] = true
	return inExec
}

// leftover describes a process of ours that is still there: because of err, if that
// is not nil.
func leftover(pid int, err error) Leftover {
	reason := "is still there after SIGKILL"
	if err != nil {
		reason = "cannot be ended: " + err.Error()
	}
	return Leftover{PID: pid, Command: commandOf(pid), Ours: true, Reason: reason}
}

// orphaned reports whether the process that began this one is gone: init, or this
// process as a subreaper, has inherited it. One that still has a parent belongs to
// that, and what of the run could be its parent has been ended: it is somebody else's,
// such as another program that delegates and keeps its environment to itself.
func orphaned(st status) bool { return st.parent <= 1 || st.parent == unix.Getpid() }

// ownedByUs reports whether a process runs as this process's user.
func ownedByUs(pid int) bool {
	var buf [2 << 10]byte
	text, _ := readProc(pid, "status", buf[:])
	_, line, _ := bytes.Cut(text, []byte("\nUid:"))
	uid, _, _ := bytes.Cut(bytes.TrimSpace(line), []byte("\t"))
	return string(uid) == strconv.Itoa(unix.Getuid())
}

// isOver reports whether the process behind a pidfd has exited.
func isOver(pidfd int) bool { return waitOver(pidfd, time.Time{}) }

// waitOver waits until then for the process behind a pidfd to exit.
func waitOver(pidfd int, until time.Time) bool {
	for {
		left := max(0, time.Until(until))
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int((left+time.Millisecond-1)/time.Millisecond))
		if err != unix.EINTR {
			return n > 0
		}
	}
}
