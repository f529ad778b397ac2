package proc

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/errand-acp/errand/internal/leak"
)

// TestFaults has the rows of the list of faults that concern a process, under their
// numbers.
func TestFaults(t *testing.T) {
	for _, row := range []struct {
		name string
		test func(*testing.T)
	}{
		{"T5", testT5},
		{"T6", testT6},
		{"T7", testT7},
		{"T8", testT8},
		{"T10/deadline", testT10Deadline},
		{"T10/close", testT10Close},
		{"T17", testT17},
		{"T21", testT21},
		{"T22", testT22},
		{"L1", testL1},
		{"L2", testL2},
		{"L3", testL3},
		{"L4", testL4},
		{"L5", testL5},
		{"L6", testL6},
		{"L7", testL7},
		{"L13", testL13},
		{"L15/in a row", testL15Row},
		{"L15/at once", testL15Once},
		{"L16", testL16},
		{"L17/stopped", testL17Stopped},
		{"L17/terminal", testL17Terminal},
		{"E3/script", testE3},
		{"E3/loader", testE3Loader},
		{"E7/descriptors", testE7Descriptors},
		{"E7/relative command", testE7Relative},
	} {
		t.Run(row.name, row.test)
	}
}

func init() {
	// deafTo ignores the signals that args begin with, as numbers, and end in "-";
	// then it is the child that follows.
	children["deafTo"] = func(args []string) {
		for args[0] != "-" {
			signal.Ignore(syscall.Signal(atoi(args[0])))
			args = args[1:]
		}
		children[args[1]](args[2:])
	}
	// chain starts the rest of args as a child of its own kind: each level says its
	// pid and waits for the one below.
	children["chain"] = func(args []string) {
		depth := atoi(args[0])
		fmt.Println(os.Getpid())
		if depth > 1 {
			cmd := exec.Command(os.Args[0], "15", "-", "chain", fmt.Sprint(depth-1))
			cmd.Stdout = os.Stdout
			cmd.Run()
		}
		forever()
	}
	// orphan leaves a process behind in a group of its own, with another environment
	// or, given an argument, none.
	children["orphan"] = func(args []string) {
		cmd := exec.Command("/bin/sleep", "60")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Env = []string{"A=b"}[len(args):]
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		fmt.Println(cmd.Process.Pid)
	}
	children["stops"] = func([]string) {
		fmt.Println("stopping")
		unix.Kill(os.Getpid(), unix.SIGSTOP)
		forever()
	}
	children["tty"] = func([]string) {
		f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err == nil {
			f.Read(make([]byte, 1))
		}
		fmt.Println(err)
	}
	children["descriptors"] = func([]string) {
		for fd := range 100 {
			if to, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err == nil {
				kind, _, _ := strings.Cut(to, ":")
				flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
				if err == nil && flags&unix.FD_CLOEXEC == 0 {
					fmt.Println(fd, kind)
				}
			}
		}
	}
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	s, ok := statusOf(pid)
	return ok && !s.dead()
}

// mustBeGone fails if one of pids runs, which the end of a run should have excluded.
func mustBeGone(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		if alive(pid) {
			unix.Kill(pid, unix.SIGKILL)
			t.Errorf("process %d is still alive", pid)
		}
	}
}

var (
	killed     = Exit{Code: -1, Signal: "SIGKILL"}
	terminated = Exit{Code: -1, Signal: "SIGTERM"}
)

// Everything a child writes before it exits is read, also when the exit is known
// before the reading begins and when somebody else keeps the pipe open.
func testT5(t *testing.T) {
	seq, err := exec.LookPath("seq")
	if err != nil {
		t.Skip(err)
	}
	want, err := exec.Command(seq, "1", "300000").Output()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(want)
	runs := 1000
	if testing.Short() {
		runs = 50
	}
	for i := range runs {
		spec := Spec{Path: seq, Args: []string{"1", "300000"}, Dir: "/", Env: []string{}}
		p := start(t, spec)
		hash := sha256.New()
		n, err := io.Copy(hash, p.Stdout())
		if err != nil || [sha256.Size]byte(hash.Sum(nil)) != sum {
			t.Fatalf("run %d: read %d bytes of %d, %v", i, n, len(want), err)
		}
		checkReport(t, p.Shutdown(patient), Report{Exit: Exit{}, Rung: p.report.Rung, GroupRung: p.report.GroupRung})
	}
	t.Run("with a grandchild that holds the pipe", func(t *testing.T) {
		const text = 60_000 // fits into the pipe, so that the child can exit before it is read
		for range 50 {
			p := start(t, shell(t, fmt.Sprintf("sleep 60 & head -c %d /dev/zero; exit 3", text)))
			if got := wait(t, p); got.Code != 3 {
				t.Fatalf("exit: %+v", got)
			}
			out, err := io.ReadAll(p.Stdout())
			if len(out) != text || err != nil {
				t.Fatalf("read %d bytes, %v", len(out), err)
			}
			p.Kill(hang)
		}
	})
	t.Run("while a grandchild goes on writing", func(t *testing.T) {
		p := start(t, shell(t, "yes & echo mine >&2; exit 3"))
		if _, err := io.Copy(io.Discard, p.Stdout()); err != nil {
			t.Error(err)
		}
	})
}

// The news of an exit comes at once, with its status and the whole stderr.
func testT6(t *testing.T) {
	p := start(t, shell(t, "read line; head -c 50000 /dev/zero | tr '\\0' x >&2; echo >&2; echo last >&2; exit 7"))
	select {
	case <-p.Exited():
		t.Fatal("it has exited before")
	default:
	}
	if got := (Exit{Code: -1}); p.Exit() != got {
		t.Errorf("before the exit: %+v", p.Exit())
	}
	io.WriteString(p.Stdin(), "go\n")
	if got, want := wait(t, p), (Exit{Code: 7}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if text, _ := p.StderrTail(); !strings.HasSuffix(text, "\nlast\n") {
		t.Errorf("stderr ends in %q", text[max(0, len(text)-20):])
	}
	checkReport(t, p.Shutdown(patient), Report{Exit: Exit{Code: 7}, Rung: RungExit, GroupRung: RungExit})
}

// A grandchild holds stdout and stderr while the child is killed.
func testT7(t *testing.T) {
	p := start(t, shell(t, "sleep 60 & echo $!; echo text; kill -KILL $$"))
	line := lines(t, p)
	sleeper := atoi(line())
	if got := line(); got != "text" {
		t.Errorf("read %q", got)
	}
	if n, err := p.Stdout().Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("Read: %d, %v, want EOF while the pipe is held", n, err)
	}
	if got := wait(t, p); got != killed {
		t.Errorf("exit: %+v", got)
	}
	// Nobody is left who was told to end by EOF, so that is not waited for.
	checkReport(t, p.Shutdown(Graces{EOF: time.Hour, Term: hang, Kill: hang}), Report{Exit: killed, Rung: RungExit, GroupRung: RungTerm})
	mustBeGone(t, sleeper)
}

func testT8(t *testing.T) {
	p := start(t, shell(t, "head -c 200000 /dev/zero | tr '\\0' x >&2; echo ready; cat"))
	if got := lines(t, p)(); got != "ready" {
		t.Errorf("read %q", got)
	}
	p.Shutdown(patient)
	if text, truncated := p.StderrTail(); !truncated || len(text) > defaultTail || strings.Trim(text, "x") == text {
		t.Errorf("tail of %d bytes, truncated: %v", len(text), truncated)
	}
}

// The child has exited, and that is known, before anybody reads.
func testT17(t *testing.T) {
	p := start(t, shell(t, "echo response"))
	wait(t, p)
	checkReport(t, p.Shutdown(patient), Report{Exit: Exit{}, Rung: RungExit, GroupRung: RungExit})
	if got := lines(t, p)(); got != "response" {
		t.Errorf("read %q", got)
	}
	if _, err := p.Stdout().Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("then %v, want EOF", err)
	}
}

func testL1(t *testing.T) {
	p := start(t, shell(t, "sleep 60 & echo $!; wait"))
	inner := atoi(lines(t, p)())
	unix.Kill(p.PID, unix.SIGKILL)
	wait(t, p)
	checkReport(t, p.Shutdown(patient), Report{Exit: killed, Rung: RungExit, GroupRung: RungTerm})
	mustBeGone(t, inner)
}

// Helpers in sessions of their own: one of them started by setsid, one in the very
// moment in which the child ends.
func testL2(t *testing.T) {
	t.Run("setsid", func(t *testing.T) {
		p := start(t, shell(t, "setsid sleep 60 & echo $!; cat"))
		pid := atoi(lines(t, p)())
		// Otherwise it might still be in the group.
		eventually(t, "the helper has its own session", func() bool {
			s, _ := statusOf(pid)
			return s.session == pid
		})
		checkReport(t, p.Shutdown(patient), Report{Exit: Exit{}, Rung: RungEOF, GroupRung: RungEOF})
		mustBeGone(t, pid)
	})
	t.Run("orphan", func(t *testing.T) {
		p := start(t, shell(t, "(setsid sh -c 'echo $$; exec sleep 60' &) & wait; cat"))
		pid := atoi(lines(t, p)())
		checkReport(t, p.Shutdown(patient), Report{Exit: Exit{}, Rung: RungEOF, GroupRung: RungEOF})
		mustBeGone(t, pid)
	})
	t.Run("at the last moment", func(t *testing.T) {
		runs := 200
		if testing.Short() {
			runs = 20
		}
		for range runs {
			spec := shell(t, "read line; setsid sleep 60 & exit 0")
			spec.RunID = rand.Text()
			p := start(t, spec)
			p.Shutdown(Graces{EOF: hang, Term: hang, Kill: hang})
			if pids := carrying(spec.RunID); len(pids) > 0 {
				mustBeGone(t, pids...)
				return
			}
		}
	})
	t.Run("that forks and forks", func(t *testing.T) {
		spec := shell(t, `setsid sh -c 'f() { sleep 0.002; (f) & }; f; sleep 60' & echo started; cat`)
		spec.RunID = rand.Text()
		p := start(t, spec)
		lines(t, p)()
		eventually(t, "it has forked", func() bool { return len(carrying(spec.RunID)) > 3 })
		p.Shutdown(patient)
		mustBeGone(t, carrying(spec.RunID)...)
	})
}

// carrying returns the living processes of a run.
func carrying(id string) (pids []int) {
	buf := make([]byte, 16<<10)
	everybody, _ := all.list()
	for _, pid := range everybody {
		if env, err := environOf(pid, &buf); err == nil && carries(env, id) && alive(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// After the end nothing of the run does anything any more.
func testL3(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	p := start(t, shell(t, "setsid sh -c 'while :; do echo x >>"+file+"; done' & echo; cat"))
	lines(t, p)()
	eventually(t, "the helper writes", func() bool {
		info, err := os.Stat(file)
		return err == nil && info.Size() > 0
	})
	p.Kill(hang)
	before, _ := os.ReadFile(file)
	time.Sleep(20 * time.Millisecond) // in which it would write some thousand times
	if after, _ := os.ReadFile(file); len(after) != len(before) {
		t.Errorf("the file has grown from %d to %d bytes", len(before), len(after))
	}
}

// The leader ends by itself on EOF, a helper of its group does not.
func testL4(t *testing.T) {
	p := start(t, shell(t, "sleep 60 & echo $!; cat"))
	helper := atoi(lines(t, p)())
	got := p.Shutdown(Graces{EOF: enough, Term: hang, Kill: hang})
	checkReport(t, got, Report{Exit: Exit{}, Rung: RungEOF, GroupRung: RungTerm})
	mustBeGone(t, helper)
}

// Three levels, each of which ignores SIGTERM.
func testL5(t *testing.T) {
	p := start(t, child(t, "deafTo", "15", "-", "chain", "3"))
	line := lines(t, p)
	pids := []int{atoi(line()), atoi(line()), atoi(line())}
	checkReport(t, p.Shutdown(short), Report{Exit: killed, Rung: RungKill, GroupRung: RungKill})
	mustBeGone(t, pids...)
}

func testL7(t *testing.T) {
	for _, test := range []struct {
		name string
		spec Spec
		want Report
	}{
		{"heeds EOF", child(t, "cat"), Report{Exit: Exit{}, Rung: RungEOF, GroupRung: RungEOF}},
		{"ignores EOF", child(t, "deaf"), Report{Exit: terminated, Rung: RungTerm, GroupRung: RungTerm}},
		{"ignores EOF and exits 0 on SIGTERM", shell(t, "trap 'exit 0' TERM; echo; while :; do sleep 0.01; done"), Report{Exit: Exit{}, Rung: RungTerm, GroupRung: RungTerm}},
		{"ignores EOF and SIGTERM", child(t, "deafTo", "15", "-", "deaf"), Report{Exit: killed, Rung: RungKill, GroupRung: RungKill}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := start(t, test.spec)
			g := short
			if test.want.Rung == RungEOF {
				g = patient
			} else {
				lines(t, p)() // it has begun to ignore
			}
			if test.want.Rung == RungTerm {
				g.Term = hang
			}
			checkReport(t, p.Shutdown(g), test.want)
		})
	}
}

func testL13(t *testing.T) {
	p := start(t, shell(t, "echo half an; kill -KILL $$"))
	out, err := io.ReadAll(p.Stdout())
	if string(out) != "half an\n" || err != nil {
		t.Errorf("read %q, %v", out, err)
	}
	wait(t, p) // its pipes are closed a moment before it is gone
	checkReport(t, p.Shutdown(patient), Report{Exit: killed, Rung: RungExit, GroupRung: RungExit})
}

// run is one whole life of a child, with a helper that has to be swept up.
func run(t *testing.T, i int) {
	p, err := Start(t.Context(), shell(t, "setsid sleep 60 & echo; cat"))
	if err != nil {
		t.Error(err)
		return
	}
	defer p.Stdout().Close()
	p.Stdout().Read(make([]byte, 1))
	if i%2 == 0 {
		p.Shutdown(patient)
	} else {
		p.Kill(hang)
	}
}

func testL15Row(t *testing.T) {
	before := leak.Snapshot()
	for i := range 200 {
		run(t, i)
	}
	if err := before.Check(); err != nil {
		t.Error(err)
	}
}

func testL15Once(t *testing.T) {
	before := leak.Snapshot()
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() { run(t, i) })
	}
	group.Wait()
	if err := before.Check(); err != nil {
		t.Error(err)
	}
}

// A daemon in a session of its own without an environment is found as long as it is
// a descendant.
func testL16(t *testing.T) {
	for name, script := range map[string]string{
		"no environment":               "setsid env -i /bin/sleep 60 & echo $!; cat",
		"another environment":          "setsid env -i A=b /bin/sleep 60 & echo $!; cat",
		"a descendant of a descendant": "setsid env -i /bin/sh -c 'setsid /bin/sleep 60 & echo $!; wait' & cat",
		// Orphaned, but still in the child's session.
		"another group":                    childVariable + `=orphan "$0"; cat`,
		"another group and no environment": childVariable + `=orphan "$0" -; cat`,
	} {
		t.Run(name, func(t *testing.T) {
			spec := shell(t, script)
			spec.Args = append(spec.Args, child(t, "orphan").Path)
			p := start(t, spec)
			pid := atoi(lines(t, p)())
			eventually(t, "it has come to its last exec", func() bool { return commandOf(pid) == "sleep" })
			checkReport(t, p.Shutdown(patient), Report{Exit: Exit{}, Rung: RungEOF, GroupRung: RungEOF})
			mustBeGone(t, pid)
		})
	}
}

func testL17Stopped(t *testing.T) {
	p := start(t, child(t, "stops"))
	lines(t, p)()
	eventually(t, "it is stopped", func() bool {
		var buf [512]byte
		text, _ := readProc(p.PID, "stat", buf[:])
		return bytes.Contains(text, []byte(") T "))
	})
	// SIGTERM is heard only because SIGCONT follows.
	checkReport(t, p.Shutdown(Graces{EOF: 20 * time.Millisecond, Term: hang, Kill: hang}),
		Report{Exit: terminated, Rung: RungTerm, GroupRung: RungTerm})
}

func testL17Terminal(t *testing.T) {
	p := start(t, child(t, "tty"))
	if got, want := lines(t, p)(), "open /dev/tty: no such device or address"; got != want {
		t.Errorf("opening the terminal: %q, want %q", got, want)
	}
}

// The child gets 0 to 2 and the life-line, whatever this process was given or has
// opened without close-on-exec.
func testE7Descriptors(t *testing.T) {
	var stray []int
	for range 3 {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		stray = append(stray, fd)
	}
	high, err := unix.FcntlInt(uintptr(stray[0]), unix.F_DUPFD, 90)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(high)
	p := start(t, child(t, "descriptors"))
	out, err := io.ReadAll(p.Stdout())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("0 pipe\n1 pipe\n2 pipe\n3 pipe\n", string(out)); diff != "" {
		t.Errorf("the child's descriptors (-want +got):\n%s", diff)
	}
	wait(t, p)

	t.Run("before Linux 5.11", func(t *testing.T) {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		markEach("/proc/self/fd")
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("flags of a stray descriptor: %d, %v", flags, err)
		}
	})
}

// A relative command is the caller's, not that of the child's directory.
func testE7Relative(t *testing.T) {
	here, there := tree(t), tree(t)
	for dir, says := range map[string]string{here: "caller", there: "child"} {
		if err := os.WriteFile(filepath.Join(dir, "agent"), []byte("#!/bin/sh\necho "+says+" $0 $PWD\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(here)
	p := start(t, Spec{Path: "./agent", Dir: there})
	if got, want := lines(t, p)(), "caller "+here+"/agent "+there; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if p.Path != here+"/agent" || p.Dir != there {
		t.Errorf("Path %q, Dir %q", p.Path, p.Dir)
	}
}
