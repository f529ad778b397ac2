package proc

// Exiting reports whether the child is on its way out: the system closes the files of
// a process some time before it reports its exit, on a busy machine a long time. With
// it an end of stdout is known for what it is. A child that has exited is not Exiting.
func (p *Process) Exiting() bool {
	if isClosed(p.exited) {
		return false
	}
	s, ok := statusOf(p.PID)
	return ok && (s.exiting || s.zombie)
}
