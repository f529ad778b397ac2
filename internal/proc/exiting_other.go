//go:build !linux

package proc

// Running reports whether the child has not exited.
func (p *Process) Running() bool { return !isClosed(p.exited) }

// Exiting reports whether the child is on its way out. It cannot be told here.
func (p *Process) Exiting() bool { return false }
