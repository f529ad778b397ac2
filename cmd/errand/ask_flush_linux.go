package main

import "golang.org/x/sys/unix"

func (t *tty) discard() error { return unix.IoctlSetInt(t.fd, unix.TCFLSH, unix.TCIFLUSH) }
