package proc

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// output is our end of a pipe that the child writes to. It ends where every writer
// has closed it or, once it was cut, where what the pipe then holds has been read:
// a grandchild that keeps the pipe open cannot hold the reader up, and no clock
// decides what is still taken. At its end it closes itself.
//
// One goroutine at a time may Read; cut and Close may be called from any other.
type output struct {
	file *os.File
	once sync.Once // cut

	// The reader's own:
	isCut bool
	left  int   // bytes still to be read once isCut
	err   error // how it ended
}

// cut makes the reader stop where the pipe is empty. It is called when the child
// has exited, so that all it has written is in the pipe or was read before.
func (o *output) cut() {
	o.once.Do(func() { o.file.SetReadDeadline(time.Unix(1, 0)) })
}

func (o *output) Read(p []byte) (int, error) {
	if o.err != nil || len(p) == 0 {
		return 0, o.err
	}
	n, err := o.read(p)
	if err != nil {
		o.file.Close()
		o.err = err
	}
	return n, err
}

func (o *output) read(p []byte) (int, error) {
	if !o.isCut {
		n, err := o.file.Read(p)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		o.isCut, o.left = true, pending(o.file)
		o.file.SetReadDeadline(time.Time{})
	}
	if o.left == 0 {
		return 0, io.EOF
	}
	n, err := readNow(o.file, p[:min(len(p), o.left)])
	o.left -= n
	return n, err
}

// Close gives up what has not been read. A blocked Read returns os.ErrClosed.
func (o *output) Close() error { return o.file.Close() }
