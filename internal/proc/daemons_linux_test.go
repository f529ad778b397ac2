package proc

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func init() {
	// escape starts a daemon as daemons are started, by two processes that go again, the
	// first of which makes a session. Its arguments are a file for the daemon's pid and
	// what the daemon does, see below.
	children["escape"] = func(args []string) { escape("escaping", args) }
	children["escaping"] = func(args []string) { escape("daemon", args) }
	children["daemon"] = func(args []string) {
		for parent := atoi(args[0]); os.Getppid() == parent; {
			time.Sleep(time.Millisecond) // until it is nobody's
		}
		// Copies: Go's arguments are where the kernel has put them, and renaming writes
		// over them.
		args = slices.Clone(args[1:])
		for i := range args {
			args[i] = strings.Clone(args[i])
		}
		for _, what := range args[1:] {
			daemonWays[what]()
		}
		// Under another name first: whoever waits for it reads it whole.
		must(os.WriteFile(args[0]+"~", []byte(strconv.Itoa(os.Getpid())), 0o600))
		must(os.Rename(args[0]+"~", args[0]))
		if slices.Contains(args, "stopped") {
			unix.Kill(os.Getpid(), unix.SIGSTOP)
		}
		if slices.Contains(args, "first thread ends") {
			endFirstThread()
		}
		forever()
	}
	// guard brings its partner back when that is gone, in another session, and is itself
	// guarded by it.
	children["guard"] = func(args []string) {
		unix.Setsid()
		partner := -1
		if len(args) > 0 {
			partner, _ = unix.PidfdOpen(atoi(args[0]), 0)
		}
		for {
			if partner >= 0 {
				waitOver(partner, time.Now().Add(hang))
				unix.Close(partner)
			}
			cmd := exec.Command(os.Args[0], strconv.Itoa(os.Getpid()))
			must(cmd.Start())
			go cmd.Wait()
			partner, _ = unix.PidfdOpen(cmd.Process.Pid, 0)
		}
	}
	// descend goes down as many levels as it is told, each in a session of its own and
	// each gone when the next one is there, or told "stay", still there.
	children["descend"] = func(args []string) {
		depth := atoi(args[1])
		if depth == 0 {
			must(os.WriteFile(args[0], nil, 0o600))
			forever()
		}
		cmd := exec.Command(os.Args[0], append([]string{args[0], strconv.Itoa(depth - 1)}, args[2:]...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		must(cmd.Start())
		if len(args) > 2 {
			forever()
		}
	}
}

func escape(next string, args []string) {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), childVariable+"="+next)
	if next == "daemon" {
		// What a shell would hand down.
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		cmd.Args = append([]string{os.Args[0], strconv.Itoa(os.Getpid())}, args...)
	} else {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	must(cmd.Start())
}

// daemonWays are what daemons do so that nobody takes them for a part of who started
// them.
var daemonWays = map[string]func(){
	"chdir":         func() { must(os.Chdir("/")) },
	"close stdio":   func() { closeAll(func(fd int) bool { return fd <= 2 }) },
	"close all":     func() { closeAll(func(int) bool { return true }) },
	"ignores TERM":  func() { signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT) },
	"own group":     func() { must(unix.Setpgid(0, 0)) },
	"another name":  func() { rename("kworker/0:1") },
	"clobbered env": clobberEnvironment,
	"has a zombie": func() {
		zombie := exec.Command("true")
		must(zombie.Start())
		for s, _ := statusOf(zombie.Process.Pid); !s.dead(); s, _ = statusOf(zombie.Process.Pid) {
			time.Sleep(time.Millisecond)
		}
	},
	"stopped":           func() {}, // last of all
	"first thread ends": func() {},
}

// closeAll closes the descriptors of those numbers. The Go runtime's own remain: it goes on
// to write to their numbers, whatever file has them then.
func closeAll(those func(fd int) bool) {
	links, err := filepath.Glob("/proc/self/fd/*")
	must(err)
	for _, link := range links {
		fd := atoi(filepath.Base(link))
		if to, err := os.Readlink(link); err == nil && those(fd) && !strings.HasPrefix(to, "anon_inode:") {
			unix.Close(fd)
		}
	}
}

// rename gives the process another name, in ps and in top.
func rename(name string) {
	threads, _ := filepath.Glob("/proc/self/task/*/comm")
	for _, comm := range threads {
		os.WriteFile(comm, []byte(name), 0)
	}
	clobber(48)
}

// clobberEnvironment writes over the environment that /proc shows, as programs do that
// show what they are at in place of their arguments.
func clobberEnvironment() { clobber(50) }

// clobber writes over what lies between the two addresses that /proc/self/stat has from
// this field on.
func clobber(field int) {
	text, err := os.ReadFile("/proc/self/stat")
	must(err)
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+2:])) // from the third on
	first, last := atoi(fields[field-3]), atoi(fields[field-2])
	mem, err := os.OpenFile("/proc/self/mem", os.O_WRONLY, 0)
	must(err)
	defer mem.Close()
	_, err = mem.WriteAt([]byte(strings.Repeat(" ", last-first)), int64(first))
	must(err)
}

// endFirstThread ends the thread the process began with; the others go on.
func endFirstThread() {
	go forever()
	unix.Syscall(unix.SYS_EXIT, 0, 0, 0)
}

func init() {
	if child := os.Getenv(childVariable); child == "daemon" || child == "headless" {
		runtime.LockOSThread() // so that it has the first thread to end
	}
}

// A daemon of the run is gone after its end, whatever it does to be one.
func TestSweepDaemons(t *testing.T) {
	for _, ways := range [][]string{
		nil,
		{"chdir"},
		{"close stdio"},
		{"close all"},
		{"another name"},
		{"ignores TERM"},
		{"stopped"},
		{"own group"},
		{"has a zombie"},
		{"first thread ends"},
		{"clobbered env"}, // it has the life-line still
		{"chdir", "close all", "another name", "ignores TERM", "own group", "has a zombie", "stopped"},
		{"chdir", "close stdio", "another name", "clobbered env", "ignores TERM", "stopped"},
	} {
		t.Run(strings.Join(ways, ","), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pid")
			spec := shell(t, childVariable+`=escape "$@"; cat`)
			spec.Args = append(spec.Args, "sh", child(t, "escape").Path, file)
			spec.Args = append(spec.Args, ways...)
			spec.RunID = rand.Text()
			p := start(t, spec)
			pid := atoi(whatIsIn(t, file))
			if slices.Contains(ways, "stopped") {
				eventually(t, "it is stopped", func() bool { return state(pid) == "T" })
			}
			if slices.Contains(ways, "first thread ends") {
				eventually(t, "its first thread has ended", func() bool { return state(pid) == "Z" })
			}
			if !alive(pid) {
				t.Fatal("it is gone before the end")
			}
			s, _ := statusOf(pid)
			if s.session == p.PID || s.group == p.PID || s.parent == p.PID {
				t.Fatalf("it is no daemon: %+v", s)
			}
			if others, known := p.Others(); !known || !slices.ContainsFunc(others, func(l Leftover) bool { return l.PID == pid }) {
				t.Errorf("it is not known as one of the run: %v", others)
			}
			if !alive(pid) {
				t.Error("who looks has ended it")
			}
			checkReport(t, p.Shutdown(patient), Report{Exit: Exit{}, Rung: RungEOF, GroupRung: RungEOF})
			mustBeGone(t, pid)
			mustBeGone(t, carrying(spec.RunID)...)
		})
	}
}

// whatIsIn waits for a file.
func whatIsIn(t testing.TB, file string) (text string) {
	t.Helper()
	eventually(t, "there is "+file, func() bool {
		b, err := os.ReadFile(file)
		text = string(b)
		return err == nil
	})
	return text
}

// state is the letter that ps shows.
func state(pid int) string {
	var buf [512]byte
	text, _ := readProc(pid, "stat", buf[:])
	_, text2, _ := strings.Cut(string(text), ") ")
	return text2[:min(1, len(text2))]
}

// Many, deep down, that hand over to each other or bring each other back, or that are
// begun at any time of the end.
func TestSweepFamilies(t *testing.T) {
	exe := child(t, "cat").Path
	for _, test := range []struct {
		name   string
		script string // $0 is the test binary, $1 a file
		living int    // processes of the run at the least, before its end
		want   Report
	}{
		{"200 daemons", "i=0; while [ $i -lt 200 ]; do setsid sleep 60 & i=$((i+1)); done; echo >$1; cat", 200,
			Report{Rung: RungEOF, GroupRung: RungEOF}},
		{"a deep chain of which the end is left", childVariable + `=descend "$0" $1 12; cat`, 2,
			Report{Rung: RungEOF, GroupRung: RungEOF}},
		{"a deep chain", childVariable + `=descend "$0" $1 12 stay & cat`, 14,
			Report{Rung: RungEOF, GroupRung: RungTerm}},
		{"a relay", childVariable + `=relay "$0" & echo >$1; cat`, 2,
			Report{Rung: RungEOF, GroupRung: RungEOF}},
		{"guards of each other", childVariable + `=guard "$0" & echo >$1; cat`, 4,
			Report{Rung: RungEOF, GroupRung: RungEOF}},
		{"begun after EOF", "echo >$1; read line; for i in 1 2 3 4 5; do setsid sleep 60 & done; exit 0", 1,
			Report{Rung: RungEOF, GroupRung: RungEOF}},
		{"begun after SIGTERM", "trap 'for i in 1 2 3 4 5; do setsid sleep 60 & done; exit 0' TERM; echo >$1; while :; do sleep 0.01; done", 1,
			Report{Rung: RungTerm, GroupRung: RungTerm}},
		{"a helper that begins them on SIGTERM", `sh -c 'trap "setsid sleep 60 & exit 0" TERM; echo >$1; while :; do sleep 0.01; done' $0 $1 & cat`, 2,
			Report{Rung: RungEOF, GroupRung: RungTerm}},
		{"killed while it begins them", "trap '' TERM; echo >$1; while :; do setsid sleep 60 & sleep 0.005; done", 4,
			Report{Exit: killed, Rung: RungKill, GroupRung: RungKill}},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "file")
			spec := shell(t, test.script)
			spec.Args = append(spec.Args, exe, file)
			spec.RunID = rand.Text()
			p := start(t, spec)
			whatIsIn(t, file)
			eventually(t, fmt.Sprintf("%d are there", test.living), func() bool { return len(carrying(spec.RunID)) >= test.living })
			g := patient
			switch {
			case test.want.Rung == RungKill:
				g = short
			case test.want.GroupRung == RungTerm && test.want.Rung == RungEOF:
				g.EOF = enough
			case test.want.Rung == RungTerm:
				g.EOF = short.EOF
			}
			checkReport(t, p.Shutdown(g), test.want)
			mustBeGone(t, carrying(spec.RunID)...)
		})
	}
}
