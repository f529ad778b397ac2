package replay

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/internal/wire"
)

// Options say how an Agent takes what is not as it was recorded. The zero value is strict.
type Options struct {
	// Lenient makes the best of a parent that does not do what was recorded.
	Lenient bool
}

// Agent is an ACP agent that says what a recorded one said.
type Agent struct {
	recording *transcript.Transcript
	options   Options
}

// New returns the agent of this recording, which must not be changed any more. One that
// cannot be replayed, since no process ends like that here or a line was longer than any, is
// a *transcript.Error.
func New(t *transcript.Transcript, o Options) (*Agent, error) {
	if err := playable(t); err != nil {
		return nil, err
	}
	return &Agent{recording: t, options: o}, nil
}

// Difference is the error of a strict replay to which something else was said than what
// was recorded. It has been told on stderr, and to whoever waited for an answer.
type Difference struct {
	// Entry is the one of the recording, from 1, that something else came in the place
	// of; 0 where nothing was recorded.
	Entry int
	// Text says what differs.
	Text string
}

// Error implements error.
func (d *Difference) Error() string { return d.Text }

// SignalError is the error where a signal ended the recorded agent.
type SignalError struct {
	Signal string // as in transcript.End
}

// Error implements error.
func (e *SignalError) Error() string { return "the recorded agent was ended by " + e.Signal }

// Serve is the agent: it reads from stdin and writes to stdout and stderr until it ends,
// and returns the exit status. It can be called any number of times, at the same time too.
//
// The status is the recorded one. It is 1, with a *Difference, at the first difference to
// a strict replay, and with another error if stdout cannot be written to. Where a signal
// ended the recorded agent there is a *SignalError, and the status is what a shell makes
// of that.
//
// The end of ctx is what SIGTERM is to a process: a recorded agent that was deaf to the end of
// its stdin goes on until then, and the status is the recorded one; it is 1 with the
// cause for any other. No goroutine outlives ctx, stdin and stdout.
func (a *Agent) Serve(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) (status int, err error) {
	ended := make(chan struct{})
	defer close(ended)
	lines := make(chan []byte)
	go read(stdin, lines, ended)
	out := newOutput(stdout, stderr)
	go out.write()
	defer out.discard()

	r := newRun(a.recording, a.options.Lenient, out)
	r.advance()
	for !r.over {
		in := lines
		if out.full() {
			in = nil // a parent that asks has to read, too
		}
		select {
		case line, ok := <-in:
			if ok {
				r.line(line)
				continue
			}
			lines = nil
			r.eof()
		case <-out.room:
		case <-out.broken:
			return 1, fmt.Errorf("stdout: %w", out.err)
		case <-ctx.Done():
			return r.stopped(context.Cause(ctx))
		}
	}
	out.stop()
	select {
	case <-out.done:
	case <-ctx.Done():
		if _, ok := errors.AsType[*Difference](r.err); !ok {
			return r.stopped(context.Cause(ctx))
		}
	}
	return r.status, r.err
}

// read is the goroutine that owns stdin. It ends with it, or at the first line after the
// agent has ended.
func read(stdin io.Reader, lines chan<- []byte, ended <-chan struct{}) {
	defer close(lines)
	in := bufio.NewReaderSize(stdin, 64<<10)
	for {
		line, err := readLine(in, wire.MaxRecorded)
		if line = bytes.TrimSpace(line); len(line) > 0 {
			select {
			case lines <- line:
			case <-ended:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// readLine reads a line. Of one that is longer than most it returns a beginning that is no
// JSON, and so no message.
func readLine(in *bufio.Reader, most int) ([]byte, error) {
	const shown = 200
	line, err := wire.ReadLine(in, nil, most)
	if err != bufio.ErrTooLong {
		return line, err
	}
	beginning := append(bytes.Clone(line[:min(shown, most)]), "…"...)
	for err == bufio.ErrTooLong {
		line, err = wire.ReadLine(in, line, most)
	}
	return beginning, err
}
