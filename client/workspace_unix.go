//go:build unix

package client

import (
	"io/fs"
	"os"
	"syscall"
)

// openNow keeps an open from waiting, and a terminal from becoming ours.
const openNow = syscall.O_NONBLOCK | syscall.O_NOCTTY

// keepOwner gives f the owner of old, if we may.
func keepOwner(f *os.File, old fs.FileInfo) {
	if s, ok := old.Sys().(*syscall.Stat_t); ok {
		f.Chown(int(s.Uid), int(s.Gid))
	}
}
