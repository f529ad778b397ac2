//go:build !linux

package proc

// Exiting reports whether the child is on its way out. It cannot be told here.
func (p *Process) Exiting() bool { return false }
