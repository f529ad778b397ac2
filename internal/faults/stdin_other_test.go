//go:build !linux

package faults

import "time"

// stdinWaits cannot see that here, and gives it time.
func (s *scene) stdinWaits() bool {
	time.Sleep(time.Second)
	return true
}
