//go:build !linux

package proc

// Others would list the processes of the run apart from the child; see the one for Linux.
// Here it is not known who they are.
func (p *Process) Others() (list []Leftover, known bool) { return nil, false }
