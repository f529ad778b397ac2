package faults

import (
	"syscall"
)

// strayDescriptors opens so many without close-on-exec, as a library or the program that
// started this one may have.
func strayDescriptors(n int) func(*scene) {
	return func(s *scene) {
		for range n {
			fd, err := syscall.Open("/dev/null", syscall.O_RDONLY, 0)
			s.must(err)
			s.Cleanup(func() { syscall.Close(fd) })
		}
	}
}
