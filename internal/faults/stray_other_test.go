//go:build !linux

package faults

// strayDescriptors skips the form: a script can tell of descriptors on Linux only.
func strayDescriptors(int) func(*scene) {
	return func(s *scene) { s.Skip("$fds is Linux's") }
}
