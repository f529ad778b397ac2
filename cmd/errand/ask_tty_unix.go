//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// tty is the terminal, opened anew: it does not block, and whoever shares our streams
// knows nothing of that. A wait ends with the context, and so does a read, which none of our
// goroutines is then left behind in.
type tty struct {
	ctx         context.Context
	fd          int
	lock        int // a file that is the same to all runs on the terminal; -1 for none
	wake, waker *os.File
	stop        func() bool // the waking
}

func openTTY(ctx context.Context, con *console) (questionTTY, error) {
	t := &tty{ctx: ctx, fd: -1, lock: -1}
	if con.inTTY && con.errTTY {
		t.fd, _ = reopen(con.in, unix.O_RDWR)
	}
	var err error
	if t.fd < 0 { // also where another user's terminal cannot be opened, as after su
		if t.fd, err = openFile("/dev/tty", unix.O_RDWR); err != nil {
			return nil, fmt.Errorf("stdin and stderr are none, and /dev/tty cannot be opened: %w", err)
		}
	}
	for _, stream := range []struct {
		file *os.File
		tty  bool
	}{{con.in, con.inTTY}, {con.err, con.errTTY}, {con.out, con.outTTY}} {
		// Not /dev/tty, which is one file to all terminals.
		if t.lock < 0 && stream.tty {
			t.lock, _ = reopen(stream.file, unix.O_RDONLY)
		}
	}
	if t.wake, t.waker, err = os.Pipe(); err != nil {
		t.close()
		return nil, err
	}
	if highest := max(t.fd, int(t.wake.Fd())); highest >= unix.FD_SETSIZE {
		t.close()
		return nil, errors.New("too many open files")
	}
	t.stop = context.AfterFunc(ctx, func() { t.waker.Close() })
	return t, nil
}

// reopen opens the file that f is once more. Where the system makes a duplicate of that it
// is not made non-blocking.
func reopen(f *os.File, mode int) (fd int, err error) {
	c, err := f.SyscallConn()
	if err != nil {
		return -1, err
	}
	cerr := c.Control(func(of uintptr) { fd, err = openFile(fmt.Sprintf("/dev/fd/%d", of), mode) })
	if cerr != nil {
		return -1, cerr
	}
	return fd, err
}

func openFile(path string, mode int) (int, error) {
	for {
		fd, err := unix.Open(path, mode|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func (t *tty) close() {
	if t.stop != nil {
		t.stop()
	}
	for _, fd := range []int{t.fd, t.lock} { // which ends the claim
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	if t.wake != nil {
		t.wake.Close()
		t.waker.Close()
	}
}

// claimEvery is how often a terminal is tried that another run asks on.
const claimEvery = 50 * time.Millisecond

func (t *tty) claim() error {
	for t.lock >= 0 {
		err := unix.Flock(t.lock, unix.LOCK_EX|unix.LOCK_NB)
		if err != unix.EWOULDBLOCK && err != unix.EINTR {
			break // ours, or a file that cannot be locked
		}
		select {
		case <-t.ctx.Done():
		case <-time.After(claimEvery):
		}
		if t.ctx.Err() != nil {
			return context.Cause(t.ctx)
		}
	}
	return nil
}

func (t *tty) width() int {
	width, _, err := term.GetSize(t.fd)
	if err != nil {
		return 0
	}
	return width
}

// write writes what it can at once even when the context is over.
func (t *tty) write(text string) error {
	for b := []byte(text); len(b) > 0; {
		n, err := unix.Write(t.fd, b)
		switch {
		case err == unix.EAGAIN:
			if err := t.await(true); err != nil {
				return err
			}
		case err == unix.EINTR:
		case err != nil:
			return fmt.Errorf("writing to the terminal: %w", err)
		default:
			b = b[n:]
		}
	}
	return nil
}

// maxLine is more than a terminal takes in a line.
const maxLine = 8 << 10

// line returns at the end of a line that the terminal does not edit, too.
func (t *tty) line() (string, error) {
	var line strings.Builder
	for buf := make([]byte, 4096); line.Len() < maxLine; {
		if err := t.await(false); err != nil {
			return "", err
		}
		n, err := unix.Read(t.fd, buf)
		switch {
		case err == unix.EAGAIN, err == unix.EINTR:
			continue
		case err != nil:
			return "", fmt.Errorf("reading the terminal: %w", err)
		case n == 0:
			return "", io.EOF // of a line that was begun, too: it was not sent
		}
		line.Write(buf[:n])
		if i := strings.IndexAny(line.String(), "\r\n"); i >= 0 {
			return line.String()[:i], nil
		}
	}
	return line.String(), nil
}

// await waits until the terminal can be read or written, or the context is over. It
// is a select, because a poll cannot wait for a terminal everywhere.
func (t *tty) await(write bool) error {
	for {
		var readable, writable unix.FdSet
		wake := int(t.wake.Fd())
		readable.Set(wake)
		set := &readable
		if write {
			set = &writable
		}
		set.Set(t.fd)
		_, err := unix.Select(max(t.fd, wake)+1, &readable, &writable, nil, nil)
		switch {
		case t.ctx.Err() != nil:
			return context.Cause(t.ctx)
		case err == nil:
			return nil
		case err != unix.EINTR:
			return fmt.Errorf("waiting for the terminal: %w", err)
		}
	}
}
