package proc

import (
	"path/filepath"
	"slices"
	"strconv"
)

// Running reports whether the child has not begun to exit, as far as can be told now. It
// knows before Exited does.
func (p *Process) Running() bool {
	s, ok := statusOf(p.PID)
	return !isClosed(p.exited) && ok && !s.leaving()
}

// Exiting reports whether the child is on its way out: the system closes the files of
// a process some time before it reports its exit, on a busy machine a long time. With
// it an end of stdout is known for what it is. A child that has exited is not Exiting.
func (p *Process) Exiting() bool {
	if isClosed(p.exited) {
		return false
	}
	if s, ok := statusOf(p.PID); !ok || !s.leaving() {
		return false
	}
	// The first thread may have ended while others run.
	tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(p.PID) + "/task/*")
	return !slices.ContainsFunc(tasks, func(task string) bool {
		s, ok := statusIn(task)
		return ok && !s.leaving()
	})
}
