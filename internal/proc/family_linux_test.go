package proc

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestIsChilds(t *testing.T) {
	for pgid, want := range map[int]bool{-1: false, 0: false, 1: false, 2: true, unix.Getpgrp(): false, unix.Getpgrp() + 1: true} {
		if got := isChilds(pgid); got != want {
			t.Errorf("%d: %v", pgid, got)
		}
	}
}

// awaiting starts a script without anybody who waits for it.
func awaiting(t *testing.T, script string) *family {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	spec := shell(t, script)
	argv, err := check(&spec)
	if err != nil {
		t.Fatal(err)
	}
	f, err := spawn(t.Context(), spec, argv, files{null, null, null})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.release)
	return f
}

// The exit is told alike with a pidfd, with one that the poller does not take, and
// without any, and the child is left for gone to reap.
func TestAwait(t *testing.T) {
	for script, want := range map[string]Exit{
		"exit 0":          {Code: 0},
		"exit 255":        {Code: 255},
		"kill -TERM $$":   {Code: -1, Signal: "SIGTERM"},
		"kill -QUIT $$":   {Code: -1, Signal: "SIGQUIT"}, // with a core dump, if allowed
		"kill -40 $$":     {Code: -1, Signal: "signal 40"},
		"exec sleep 0.01": {Code: 0},
	} {
		for how, change := range map[string]func(*family){
			"pidfd": func(*family) {},
			"blocking pidfd": func(f *family) {
				f.pidfd.Close()
				fd, _ := unix.PidfdOpen(f.proc.Pid, 0)
				f.pidfd = os.NewFile(uintptr(fd), "")
			},
			"no pidfd": func(f *family) { f.pidfd.Close(); f.pidfd = nil },
		} {
			t.Run(script+"/"+how, func(t *testing.T) {
				f := awaiting(t, script)
				exited := make(chan struct{})
				f.exited = exited
				if f.pidfd == nil {
					t.Fatal("no pidfd")
				}
				change(f)
				if f.gone() {
					t.Error("gone before the exit")
				}
				if got := f.await(); got != want {
					t.Errorf("got %+v, want %+v", got, want)
				}
				if s, ok := statusOf(f.proc.Pid); !ok || !s.zombie {
					t.Errorf("after await: %+v, %v, want a zombie", s, ok)
				}
				close(exited)
				if !f.gone() {
					t.Error("not gone after the exit")
				}
				if _, ok := statusOf(f.proc.Pid); ok {
					t.Error("not reaped")
				}
			})
		}
	}
}

func init() {
	// zombie has a zombie in its group: the child of a process of another group, which
	// does not reap it.
	children["zombie"] = func([]string) {
		parent := exec.Command(os.Args[0], strconv.Itoa(os.Getpid()))
		parent.Env = append(os.Environ(), childVariable+"=zombieParent")
		parent.Stdout = os.Stdout
		parent.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := parent.Start(); err != nil {
			panic(err)
		}
		io.Copy(io.Discard, os.Stdin)
	}
	children["zombieParent"] = func(args []string) {
		zombie := exec.Command("true")
		zombie.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: atoi(args[0])}
		if err := zombie.Start(); err != nil {
			panic(err)
		}
		for s, _ := statusOf(zombie.Process.Pid); !s.dead(); s, _ = statusOf(zombie.Process.Pid) {
			time.Sleep(time.Millisecond)
		}
		fmt.Println(zombie.Process.Pid)
		forever()
	}
}

// A zombie does not keep a group alive.
func TestZombieDoesNotCount(t *testing.T) {
	p := start(t, child(t, "zombie"))
	pid := atoi(lines(t, p)())
	if s, ok := statusOf(pid); !ok || s.group != p.PID || !s.dead() {
		t.Fatalf("zombie: %+v, %v", s, ok)
	}
	checkReport(t, p.Shutdown(patient), Report{Exit: Exit{}, Rung: RungEOF, GroupRung: RungEOF})
}

// Idle children cost two goroutines each and no thread.
func TestIdleCost(t *testing.T) {
	const n = 50
	threads := func() int {
		text, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ = bytes.Cut(text, []byte("\nThreads:"))
		text, _, _ = bytes.Cut(text, []byte("\n"))
		return number(text, 0)
	}
	goroutines, before := runtime.NumGoroutine(), threads()
	for range n {
		p := start(t, shell(t, "echo ready; exec sleep 60"))
		lines(t, p)()
	}
	if got := runtime.NumGoroutine() - goroutines; got > 2*n {
		t.Errorf("%d goroutines for %d children", got, n)
	}
	if got := threads() - before; got > n/2 {
		t.Errorf("%d threads for %d children", got, n)
	}
}
