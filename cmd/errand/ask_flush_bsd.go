//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package main

import "golang.org/x/sys/unix"

// discard's flag is FREAD, which is TCIFLUSH.
func (t *tty) discard() error { return unix.IoctlSetPointerInt(t.fd, unix.TIOCFLUSH, unix.TCIFLUSH) }
