package proc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/errand-acp/errand/internal/leak"
)

func init() {
	// fewFiles starts a child with ever more descriptors to be had, from none on, until
	// it succeeds, and says what was left of those that did not.
	children["fewFiles"] = func([]string) {
		debug.SetGCPercent(-1) // it would close what was left open
		spec := plain("setsid sleep 60 & echo $!; cat")
		spec.RunID = "few"
		p, err := Start(background, spec) // what is opened once and for all
		must(err)
		p.Kill(hang)
		p.Stdout().Close()
		before := leak.Snapshot()
		highest := 0
		for fd := range before.FDs {
			highest = max(highest, atoi(fd))
		}
		failed, worked := 0, 0
		for limit := 3; worked < 3; limit++ {
			must(limitFiles(limit))
			p, err := Start(background, spec)
			if err == nil {
				// The daemon cannot be looked for while there is no descriptor to do it with.
				line, _ := bufio.NewReader(p.Stdout()).ReadString('\n')
				p.Shutdown(patient)
				p.Stdout().Close()
				worked++
				if pid := atoi(strings.TrimSpace(line)); alive(pid) {
					fmt.Println("limit", limit, "the daemon is left:", pid)
				}
			} else {
				failed++
				if !errors.Is(err, unix.EMFILE) {
					fmt.Println("limit", limit, err)
				}
			}
			must(limitFiles(1000))
			if err := before.Check(); err != nil {
				fmt.Println("limit", limit, err)
			}
		}
		fmt.Println("failed", failed > 3)
	}
	// noFiles ends a child while there is no descriptor to be had.
	children["noFiles"] = func([]string) {
		p, err := Start(background, plain("setsid sleep 60 & sleep 60 & echo $!; exit 0"))
		must(err)
		line, _ := bufio.NewReader(p.Stdout()).ReadString('\n')
		<-p.Exited()
		must(limitFiles(0))
		r := p.Shutdown(Graces{EOF: hang, Term: hang, Kill: short.Kill / 100})
		must(limitFiles(1000))
		p.Stdout().Close()
		ours := slices.DeleteFunc(r.Leftover, func(l Leftover) bool { return !strings.Contains(l.Reason, "too many open files") })
		fmt.Println("helper", alive(atoi(strings.TrimSpace(line))), "told", len(ours) > 0)
	}
	// refused has the system refuse what is named, and says what comes of a run.
	children["refused"] = func(args []string) {
		debug.SetGCPercent(-1)
		spec := plain("setsid sleep 60 & echo $!; exec cat")
		before := leak.Snapshot()
		must(refuse(args[0]))
		p, err := Start(background, spec)
		if err != nil {
			for _, want := range []unix.Errno{unix.EAGAIN, unix.ENOMEM, unix.EMFILE} {
				if errors.Is(err, want) {
					fmt.Println("start:", unix.ErrnoName(want))
				}
			}
			if err := before.Check(); err != nil {
				fmt.Println(err)
			}
			return
		}
		line, _ := bufio.NewReader(p.Stdout()).ReadString('\n')
		r := p.Shutdown(patient)
		p.Stdout().Close()
		pid := atoi(strings.TrimSpace(line))
		fmt.Println(r.Rung, "daemon:", alive(pid), "told:", slices.ContainsFunc(r.Leftover, func(l Leftover) bool { return l.PID == pid && l.Ours }))
		unix.Kill(pid, unix.SIGKILL)
		if err := before.Check(); err != nil {
			fmt.Println(err)
		}
	}
}

func limitFiles(n int) error {
	return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(n), Max: 20_000})
}

// refusals are the calls that can be refused: a number, the bits of the first argument
// that must be set, and the error.
var refusals = map[string]struct {
	nr, bits uint32
	err      unix.Errno
}{
	"fork: EAGAIN":              {unix.SYS_CLONE, unix.CLONE_VFORK, unix.EAGAIN},
	"fork: ENOMEM":              {unix.SYS_CLONE, unix.CLONE_VFORK, unix.ENOMEM},
	"pipe2: EMFILE":             {unix.SYS_PIPE2, 0, unix.EMFILE},
	"close_range: ENOSYS":       {unix.SYS_CLOSE_RANGE, 0, unix.ENOSYS},
	"pidfd_open: ENOSYS":        {unix.SYS_PIDFD_OPEN, 0, unix.ENOSYS},
	"waitid of a pidfd: EINVAL": {unix.SYS_WAITID, unix.P_PIDFD, unix.EINVAL},
	"pidfd_send_signal: EIO":    {unix.SYS_PIDFD_SEND_SIGNAL, 0, unix.EIO},
}

// refuse installs a filter that makes one call fail, for all threads of the process and
// its children.
func refuse(name string) error {
	r := refusals[name]
	const nrAt, argAt = 0, 16 // in struct seccomp_data
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	program := []unix.SockFilter{
		load(nrAt),
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: r.nr, Jf: 4},
		load(argAt),
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: r.bits},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: r.bits, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(r.err)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	fprog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&fprog)))
	if errno != 0 {
		return errno
	}
	return nil
}

// said returns what a child prints until it ends.
func said(t *testing.T, spec Spec) string {
	t.Helper()
	p := start(t, spec)
	out, err := io.ReadAll(p.Stdout())
	if err != nil {
		t.Error(err)
	}
	if got := wait(t, p); got.Code != 0 {
		text, _ := p.StderrTail()
		t.Errorf("exit %+v: %s", got, text)
	}
	return string(out)
}

// However few descriptors there are, a start works or leaves nothing.
func TestStartWithFewFiles(t *testing.T) {
	if got := said(t, child(t, "fewFiles")); got != "failed true\n" {
		t.Error(got)
	}
}

// Without any the group is ended all the same, and it is told that nobody else could
// be looked for.
func TestEndWithoutFiles(t *testing.T) {
	if got := said(t, child(t, "noFiles")); got != "helper false told true\n" {
		t.Error(got)
	}
}

// What the system refuses fails the start, without a trace, or takes nothing from it
// but what depends on it, and that is told.
func TestRefusedBySystem(t *testing.T) {
	for name, want := range map[string]string{
		"fork: EAGAIN":              "start: EAGAIN\n",
		"fork: ENOMEM":              "start: ENOMEM\n",
		"pipe2: EMFILE":             "start: EMFILE\n",
		"close_range: ENOSYS":       "eof daemon: false told: false\n",
		"pidfd_open: ENOSYS":        "eof daemon: true told: true\n",
		"waitid of a pidfd: EINVAL": "eof daemon: false told: false\n",
		"pidfd_send_signal: EIO":    "eof daemon: true told: true\n",
	} {
		t.Run(name, func(t *testing.T) {
			if got := said(t, child(t, "refused", name)); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// A thousand lives leave what one does: nothing.
func TestThousandKills(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 100
	}
	before := leak.Snapshot()
	for range n {
		p, err := Start(background, plain("exec cat"))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Kill(hang); got.Rung != RungKill || got.Exit != killed {
			t.Fatalf("report: %+v", got)
		}
		p.Stdout().Close()
	}
	if err := before.Check(); err != nil {
		t.Error(err)
	}
}
