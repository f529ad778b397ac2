package proc

import (
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// Process is a started child, with everything it starts. Whoever started it calls
// [Process.Shutdown] or [Process.Kill] in the end, also when the child has exited by
// itself. All methods may be called from any goroutine.
type Process struct {
	PID  int    // the child's process id; on Unix also its group and session
	Path string // the file it was started from, absolute
	Dir  string // its directory, canonical

	family *family
	stdin  *os.File
	stdout *output
	stderr *output
	tail   *tail
	sink   *stderrSink

	drained chan struct{} // closed by drain when stderr has ended
	exited  chan struct{} // closed by watch when exit is set
	exit    Exit

	hurry     chan struct{} // closed by Kill: no more waiting
	hurryOnce sync.Once
	endOnce   sync.Once // the ladder; guards report
	report    Report
}

// Exit is how a child ended.
type Exit struct {
	// Code is the exit status; -1 if a signal ended the child or the status is not
	// known because somebody else has waited for it.
	Code int
	// Signal is the name of the signal that ended the child, such as "SIGKILL"; else
	// empty.
	Signal string
}

// Input is the writing end of a child's stdin. All methods may be called from any
// goroutine. A write to a child that has closed its stdin or is gone is an error
// value (EPIPE), never a signal; Close and a passed deadline end a blocked Write.
type Input interface {
	io.WriteCloser
	SetWriteDeadline(time.Time) error
}

// Stdin returns the writing end of the child's stdin. [Process.Shutdown] closes it.
func (p *Process) Stdin() Input { return p.stdin }

// Stdout returns the reading end of the child's stdout, for one reader at a time. It
// ends with io.EOF when every process that holds the pipe has closed it, or has
// exited; at the latest, when the child has exited, where all it wrote has been
// read, even though a grandchild may still hold the pipe. It outlives Shutdown: read
// it to its end or close it, either lets go of it.
func (p *Process) Stdout() io.ReadCloser { return p.stdout }

// StderrTail returns the end of what the child has written to stderr so far, after
// the filter, as valid UTF-8, and whether anything before or in it is missing. Of
// long lines the middle is left out. Once [Process.Exited] is closed the text is
// complete.
func (p *Process) StderrTail() (text string, truncated bool) { return p.tail.text() }

// Exited is closed when the child itself has exited, by whatever cause, and its
// stderr has been taken. Others of its group may still run.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Exit returns how the child ended. It is meaningful once [Process.Exited] is closed.
func (p *Process) Exit() Exit {
	select {
	case <-p.exited:
		return p.exit
	default:
		return Exit{Code: -1}
	}
}

// Terminate sends SIGTERM to the child itself, and to nobody else: not to its group, and not
// to who has its number once it was waited for. It reports whether that was possible.
func (p *Process) Terminate() bool {
	return canTerminate && p.family.proc.Signal(syscall.SIGTERM) == nil
}

// How long a Spec.Stderr is waited for that does not return: stderrPatience by the news of
// an exit, stderrGrace by the end, so that one which is only slow is not taken for one
// that blocks.
const (
	stderrPatience = 50 * time.Millisecond
	stderrGrace    = 3 * time.Second
)

// cut says that no more is to be waited for from the child than its pipes hold now.
func (p *Process) cut() {
	p.stdout.cut()
	p.stderr.cut()
	p.sink.release()
}

// watch waits for the child. Its goroutine belongs to p and ends when the child has
// exited.
func (p *Process) watch() {
	p.exit = p.family.await()
	p.cut()
	<-p.drained
	p.sink.wait(stderrPatience, nil)
	close(p.exited)
}
