//go:build unix

package main

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// patient returns f with reads and writes that wait, also where another program that
// shares it has made it non-blocking meanwhile.
func patient(f *os.File) io.ReadWriter { return patientFile{f} }

type patientFile struct{ f *os.File }

func (p patientFile) Read(b []byte) (int, error) {
	for {
		n, err := p.f.Read(b)
		if n > 0 || !errors.Is(err, unix.EAGAIN) {
			return n, err
		}
		p.await(unix.POLLIN)
	}
}

func (p patientFile) Write(b []byte) (int, error) {
	for n := 0; ; {
		m, err := p.f.Write(b[n:])
		n += m
		if !errors.Is(err, unix.EAGAIN) {
			return n, err
		}
		p.await(unix.POLLOUT)
	}
}

// await waits until f is ready. Whatever else there is to say of it, the next attempt
// does.
func (p patientFile) await(event int16) {
	unix.Poll([]unix.PollFd{{Fd: int32(p.f.Fd()), Events: event}}, -1)
}
