package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Children that do to their pipes what programs do.

func init() {
	// nonblocking makes its pipes non-blocking, as node does, says so, waits for a line
	// and answers with as many bytes as it is told; it waits itself where that would
	// block, and then for its stdin to end.
	children["nonblocking"] = func(args []string) {
		for fd := range 3 {
			must(unix.SetNonblock(fd, true))
		}
		fmt.Println("ready")
		read := func() (n int) {
			buf := make([]byte, 64<<10)
			for {
				n, err := unix.Read(0, buf)
				if err == unix.EAGAIN {
					poll(0, unix.POLLIN)
				} else if err != unix.EINTR {
					must(err)
					return n
				}
			}
		}
		got := read()
		for left := atoi(args[0]); left > 0; {
			n, err := unix.Write(1, bytes.Repeat([]byte{'x'}, min(left, 64<<10)))
			if err == unix.EAGAIN {
				poll(1, unix.POLLOUT)
			} else if err != unix.EINTR {
				must(err)
				left -= n
			}
		}
		for n := read(); n > 0; n = read() {
			got += n
		}
		fmt.Fprint(os.Stderr, got)
	}
	// fills gives its stdout another size, writes as many bytes as it is told, and exits.
	children["fills"] = func(args []string) {
		_, err := unix.FcntlInt(1, unix.F_SETPIPE_SZ, atoi(args[0]))
		must(err)
		must(writeAll(1, atoi(args[1])))
		os.Exit(7)
	}
	// dups moves its pipes about: stdout is reached through another number alone, what
	// it writes to 1 goes to stderr.
	children["dups"] = func([]string) {
		must(unix.Dup2(1, 77))
		must(unix.Dup2(2, 1))
		must(unix.Close(2))
		must(unix.Dup2(0, 78))
		must(unix.Close(0))
		os.Stdout.WriteString("to stderr")
		os.NewFile(77, "").WriteString("to stdout\n")
		io.Copy(io.Discard, os.NewFile(78, ""))
	}
	// keeps opens its stdin for writing and its stdout for reading too, so that neither
	// of them ever ends while it lives.
	children["keeps"] = func([]string) {
		for fd, flag := range []int{unix.O_WRONLY, unix.O_RDONLY} {
			_, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), flag, 0)
			must(err)
		}
		fmt.Println("ready")
		io.Copy(io.Discard, os.Stdin)
	}
	// half writes a line, and a half that is more than its pipe holds.
	children["half"] = func([]string) {
		fmt.Println("whole")
		writeAll(1, 200_000)
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func poll(fd int32, events int16) { unix.Poll([]unix.PollFd{{Fd: fd, Events: events}}, -1) }

func writeAll(fd, size int) error {
	_, err := os.NewFile(uintptr(fd), "").Write(bytes.Repeat([]byte{'x'}, size))
	return err
}

// Whatever a child closes it is ended, in order, and everything that reads ends.
func TestClosedPipes(t *testing.T) {
	for mask := range 8 {
		var closed []string
		for fd := range 3 {
			if mask&(1<<fd) != 0 {
				closed = append(closed, fmt.Sprint(fd))
			}
		}
		t.Run(strings.Join(closed, ","), func(t *testing.T) {
			p := start(t, child(t, "closes", closed...))
			want := Report{Exit: Exit{}, Rung: RungEOF, GroupRung: RungEOF}
			if mask&1 != 0 {
				wait(t, p) // nothing keeps it
				want.Rung, want.GroupRung = RungExit, RungExit
			}
			if mask&3 == 2 { // its stdout ends while it lives
				if out, err := io.ReadAll(p.Stdout()); len(out) > 0 || err != nil || isClosed(p.Exited()) {
					t.Errorf("read %q, %v; exited: %v", out, err, isClosed(p.Exited()))
				}
			}
			checkReport(t, p.Shutdown(patient), want)
			out, err := io.ReadAll(p.Stdout())
			if says := strings.Contains(string(out), "still here"); says == (mask&2 != 0) || err != nil {
				t.Errorf("read %q, %v", out, err)
			}
		})
	}
}

// A child that makes its pipes non-blocking does not make ours so: both ways more is
// carried than a pipe holds, while nobody reads yet.
func TestNonblockingChild(t *testing.T) {
	const size = 1 << 20
	p := start(t, child(t, "nonblocking", fmt.Sprint(size)))
	if got := lines(t, p)(); got != "ready" {
		t.Fatalf("read %q", got)
	}
	wrote := make(chan error)
	go func() { // ends when the child has read everything
		_, err := p.Stdin().Write(make([]byte, size))
		wrote <- err
	}()
	// It stops reading and writes; the pipes are both full.
	eventually(t, "both pipes are full", func() bool { return pending(p.stdin) >= 60<<10 && pending(p.stdout.file) >= 60<<10 })
	if n, err := io.ReadFull(p.Stdout(), make([]byte, size)); err != nil {
		t.Errorf("read %d bytes, %v", n, err)
	}
	if err := <-wrote; err != nil {
		t.Errorf("Write: %v", err)
	}
	checkReport(t, p.Shutdown(patient), Report{Exit: Exit{}, Rung: RungEOF, GroupRung: RungEOF})
	if text, _ := p.StderrTail(); text != fmt.Sprint(size) {
		t.Errorf("the child has read %s bytes of %d", text, size)
	}
}

// All that is in the pipe when the child exits is read, however much that is.
func TestPipeSizes(t *testing.T) {
	for _, test := range []struct{ pipe, size int }{{4 << 10, 4 << 10}, {64 << 10, 64 << 10}, {1 << 20, 1 << 20}} {
		p := start(t, child(t, "fills", fmt.Sprint(test.pipe), fmt.Sprint(test.size)))
		if got := wait(t, p); got.Code != 7 {
			text, _ := p.StderrTail()
			t.Fatalf("pipe of %d bytes: exit %+v: %s", test.pipe, got, text)
		}
		p.Shutdown(patient)
		if out, err := io.ReadAll(p.Stdout()); len(out) != test.size || err != nil {
			t.Errorf("pipe of %d bytes: read %d of %d, %v", test.pipe, len(out), test.size, err)
		}
	}
	// Smaller than what is written: the child waits for the reader.
	p := start(t, child(t, "fills", "4096", "1000000"))
	if out, err := io.ReadAll(p.Stdout()); len(out) != 1_000_000 || err != nil {
		t.Errorf("read %d, %v", len(out), err)
	}
}

func TestMovedPipes(t *testing.T) {
	p := start(t, child(t, "dups"))
	if got := lines(t, p)(); got != "to stdout" {
		t.Errorf("read %q", got)
	}
	checkReport(t, p.Shutdown(patient), Report{Exit: Exit{}, Rung: RungEOF, GroupRung: RungEOF})
	if text, _ := p.StderrTail(); text != "to stderr" {
		t.Errorf("stderr: %q", text)
	}
}

// A child that keeps its pipes from ending is ended all the same, and so are they.
func TestKeptPipes(t *testing.T) {
	p := start(t, child(t, "keeps"))
	if got := lines(t, p)(); got != "ready" {
		t.Errorf("read %q", got)
	}
	checkReport(t, p.Shutdown(Graces{EOF: short.EOF, Term: hang, Kill: hang}), Report{Exit: terminated, Rung: RungTerm, GroupRung: RungTerm})
	if out, err := io.ReadAll(p.Stdout()); len(out) > 0 || err != nil {
		t.Errorf("read %q, %v", out, err)
	}
}

// A reader at the end of the child does not wait for what others read away or write.
func TestOutputOfOthers(t *testing.T) {
	t.Run("read away", func(t *testing.T) {
		r, w, err := pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		other, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", descriptor(r)))
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		o := &output{file: r}
		io.WriteString(w, "0123456789")
		o.cut()
		var buf [4]byte
		if n, err := o.Read(buf[:]); string(buf[:n]) != "0123" || err != nil {
			t.Fatalf("read %q, %v", buf[:n], err)
		}
		if _, err := io.ReadFull(other, make([]byte, 6)); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { // ends with the Read
			_, err := o.Read(buf[:])
			done <- err
		}()
		select {
		case err := <-done:
			if err != io.EOF {
				t.Errorf("then %v, want EOF", err)
			}
		case <-time.After(hang):
			t.Error("Read waits for what somebody else has read")
			o.Close()
		}
	})
	t.Run("written on and on", func(t *testing.T) {
		p := start(t, shell(t, "(trap '' PIPE; while :; do echo y; done) 2>/dev/null & echo $! >&2; exit 3"))
		if _, err := io.Copy(io.Discard, p.Stdout()); err != nil {
			t.Error(err)
		}
		if got := wait(t, p); got.Code != 3 {
			t.Errorf("exit: %+v", got)
		}
		text, _ := p.StderrTail()
		if pid := atoi(strings.TrimSpace(text)); !alive(pid) {
			t.Error("the reader has waited for the writer")
		}
		checkReport(t, p.Shutdown(patient), Report{Exit: Exit{Code: 3}, Rung: RungExit, GroupRung: RungTerm})
	})
}

// Killed in the middle of a write, it has said half a line, and that is what is read.
func TestKilledInWrite(t *testing.T) {
	p := start(t, child(t, "half"))
	eventually(t, "the pipe is full", func() bool { return pending(p.stdout.file) >= 60<<10 })
	unix.Kill(p.PID, unix.SIGKILL)
	wait(t, p)
	out, err := io.ReadAll(p.Stdout())
	half, ok := strings.CutPrefix(string(out), "whole\n")
	if !ok || strings.Trim(half, "x") != "" || len(half) < 50_000 || len(half) >= 200_000 || err != nil {
		t.Errorf("read %d bytes, %v", len(out), err)
	}
	checkReport(t, p.Shutdown(patient), Report{Exit: killed, Rung: RungExit, GroupRung: RungExit})
}

// Nobody but the child has its stdin, however many children are begun at once: once it has
// closed it, nothing that is written to it is taken.
func TestStdinIsTheChildsAlone(t *testing.T) {
	var started sync.WaitGroup
	for range 8 {
		started.Go(func() {
			for range 40 {
				p, err := Start(background, shell(t, "exec 0<&-; echo closed; exec sleep 100"))
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := io.ReadFull(p.Stdout(), make([]byte, len("closed\n"))); err != nil {
					t.Error(err)
				}
				if _, err := p.Stdin().Write([]byte("hello\n")); !errors.Is(err, unix.EPIPE) {
					t.Errorf("writing to a closed stdin: %v", err)
				}
				p.Kill(hang)
				p.Stdout().Close()
			}
		})
	}
	started.Wait()
}
