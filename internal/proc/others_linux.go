package proc

import "golang.org/x/sys/unix"

// Others lists the processes of the run apart from the child, as the end of the run would
// find them now, and ends none of them. Not known: there is no way to look. It must not be
// called once [Process.Shutdown] or [Process.Kill] was.
func (p *Process) Others() (list []Leftover, known bool) {
	if !haveProc() {
		return nil, false
	}
	f := *p.family // what is found here must not be taken for what a sweep has found
	f.strayed = map[int]int{}
	f.track()
	s := sweeper{family: &f, blank: map[int]bool{}}
	found := map[int]bool{f.proc.Pid: true}
	for pid, fd := range f.strayed {
		if !isOver(fd) {
			found[pid] = true
			list = append(list, Leftover{PID: pid, Command: commandOf(pid), Ours: true})
		}
		unix.Close(fd)
	}
	for pid := range f.newcomers {
		if !found[pid] && (f.inGroup(pid) || s.judge(pid) == ours) {
			list = append(list, Leftover{PID: pid, Command: commandOf(pid), Ours: true})
		}
	}
	return list, f.blind == nil
}
