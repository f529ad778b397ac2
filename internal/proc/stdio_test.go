package proc

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

func init() {
	// deaf reads nothing, says so, and lives until it is killed.
	children["deaf"] = func([]string) {
		os.Stdout.WriteString("deaf\n")
		forever()
	}
	// closes closes the descriptors named and then lives until its stdin ends, or if
	// that is one of them, writes a line and exits.
	children["closes"] = func(args []string) {
		for _, arg := range args {
			[]*os.File{os.Stdin, os.Stdout, os.Stderr}[atoi(arg)].Close()
		}
		io.Copy(io.Discard, os.Stdin)
		os.Stdout.WriteString("still here\n")
	}
}

// A write to a child that does not read ends at its deadline, with what was written
// told, and the rest can follow.
func testT10Deadline(t *testing.T) {
	p := start(t, child(t, "deaf"))
	big := make([]byte, 1<<20)
	type result struct {
		n   int
		err error
	}
	wrote := make(chan result)
	go func() { // ends with the write, at its deadline
		n, err := p.Stdin().Write(big)
		wrote <- result{n, err}
	}()
	eventually(t, "a part is written", func() bool { return pending(p.stdin) > 0 })
	p.Stdin().SetWriteDeadline(time.Unix(1, 0))
	got := <-wrote
	if got.n == 0 || got.n == len(big) || !errors.Is(got.err, os.ErrDeadlineExceeded) {
		t.Errorf("wrote %d, %v, want a part and ErrDeadlineExceeded", got.n, got.err)
	}
	p.Stdin().SetWriteDeadline(time.Time{})
	if got := p.Kill(hang); got.Exit.Signal == "" && got.Exit.Code == 0 {
		t.Errorf("report: %+v", got)
	}
}

// Close, Shutdown and Kill each end a write that is blocked.
func testT10Close(t *testing.T) {
	for name, end := range map[string]func(*Process){
		"Close":    func(p *Process) { p.Stdin().Close() },
		"Shutdown": func(p *Process) { p.Shutdown(short) },
		"Kill":     func(p *Process) { p.Kill(hang) },
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, child(t, "deaf"))
			blocked := make(chan struct{})
			done := make(chan error)
			go func() {
				p.Stdin().Write(make([]byte, 64<<10)) // fills the pipe
				close(blocked)
				_, err := p.Stdin().Write(make([]byte, 1<<20))
				done <- err
			}()
			<-blocked
			end(p)
			select {
			case err := <-done:
				if err == nil {
					t.Error("the write succeeded")
				}
			case <-time.After(hang):
				t.Error("the write is still blocked")
			}
		})
	}
}

// T22, and a child that is gone: a torn stdin is an error value, and what the child
// says is still read.
func testT22(t *testing.T) {
	p := start(t, child(t, "closes", "0"))
	eventually(t, "a write fails", func() bool {
		_, err := p.Stdin().Write([]byte("x"))
		return err != nil
	})
	if got := lines(t, p)(); got != "still here" {
		t.Errorf("read %q", got)
	}
	wait(t, p)
	if _, err := p.Stdin().Write([]byte("x")); err == nil {
		t.Error("a write to a child that is gone succeeds")
	}
}

// T21: stdout closed by a child that lives on is EOF at once.
func testT21(t *testing.T) {
	p := start(t, child(t, "closes", "1"))
	if out, err := io.ReadAll(p.Stdout()); len(out) > 0 || err != nil {
		t.Errorf("read %q, %v", out, err)
	}
	select {
	case <-p.Exited():
		t.Error("the child has exited")
	default:
	}
	if got := p.Shutdown(patient); got.Rung != RungEOF {
		t.Errorf("report: %+v", got)
	}
}

// Close ends a blocked Read, and may come before and after anything.
func TestCloseStdout(t *testing.T) {
	p := start(t, child(t, "cat"))
	done := make(chan error)
	go func() {
		_, err := p.Stdout().Read(make([]byte, 1))
		done <- err
	}()
	p.Stdout().Close()
	if err := <-done; !errors.Is(err, os.ErrClosed) {
		t.Errorf("Read: %v", err)
	}
	if _, err := p.Stdout().Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Read again: %v", err)
	}
	p.Shutdown(patient)
	p.Stdout().Close()
}
