package proc

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/errand-acp/errand/internal/leak"
)

// stranger starts a process in a session of its own that has ERRAND_RUN=runs.
func stranger(t *testing.T, runs string) (pid int) {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), RunVariable + "=" + runs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd.Process.Pid
}

// A sweep ends whoever has the run's id as an element of its list, and nobody else.
func TestSweepKnowsItsOwn(t *testing.T) {
	spec := child(t, "cat")
	spec.RunID = rand.Text() + "1234"
	id, short := spec.RunID, strings.TrimSuffix(spec.RunID, "4")
	p := start(t, spec)
	for _, test := range []struct {
		runs string
		ours bool
	}{
		{id, true},
		{"outer:" + id, true},
		{"outer:" + id + ":inner", true},
		{id + ":inner", true},
		{short, false},
		{id + "5", false},
		{"x" + id, false},
		{"outer:x" + id + ":" + short, false},
		{"outer", false},
		{"", false},
	} {
		pid := stranger(t, test.runs)
		defer func() {
			if alive(pid) == test.ours {
				t.Errorf("%s=%s: alive is %v", RunVariable, test.runs, test.ours)
			}
		}()
	}
	// The id in another variable, or in the arguments, means nothing.
	cmd := exec.Command("sh", "-c", "read line; : "+id, RunVariable+"="+id)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "X" + RunVariable + "=" + id, "X=" + RunVariable + "=" + id}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	checkReport(t, p.Shutdown(patient), Report{Exit: Exit{}, Rung: RungEOF, GroupRung: RungEOF})
	in.Close()
	cmd.Wait()
	if !cmd.ProcessState.Exited() {
		t.Errorf("another process with the id elsewhere: %v", cmd.ProcessState)
	}
}

// An environment that is larger than what is read at once is read whole.
func TestSweepReadsLargeEnvironments(t *testing.T) {
	spec := shell(t, "setsid sleep 60 & echo $!; cat")
	spec.Env = append(spec.Env, "A="+strings.Repeat("a", 100_000), "B="+strings.Repeat("b", 100_000))
	p := start(t, spec)
	pid := atoi(lines(t, p)())
	p.Shutdown(patient)
	mustBeGone(t, pid)
}

// Two runs at once, and one inside the other, do not touch each other.
func TestSweepOfNestedRuns(t *testing.T) {
	around := rand.Text()
	t.Setenv(RunVariable, around)
	helper := func() (*Process, int) {
		spec := shell(t, "setsid sleep 60 & echo $!; cat")
		p := start(t, spec)
		return p, atoi(lines(t, p)())
	}
	a, pidA := helper()
	b, pidB := helper()
	a.Shutdown(patient)
	mustBeGone(t, pidA)
	if !alive(pidB) {
		t.Error("the sweep of a run has ended another run's process")
	}
	outer := stranger(t, around)
	b.Shutdown(patient)
	mustBeGone(t, pidB)
	if !alive(outer) {
		t.Error("the sweep of a run has ended a process of the run around it")
	}
}

// Limited to the group, a daemon stays.
func TestSweepGroup(t *testing.T) {
	spec := shell(t, "sleep 60 & echo $!; setsid sh -c 'echo $$; exec sleep 60' & cat")
	spec.Sweep = SweepGroup
	p := start(t, spec)
	line := lines(t, p)
	inside, outside := atoi(line()), atoi(line())
	defer unix.Kill(outside, unix.SIGKILL)
	checkReport(t, p.Shutdown(Graces{EOF: enough, Term: hang, Kill: hang}), Report{Exit: Exit{}, Rung: RungEOF, GroupRung: RungTerm})
	mustBeGone(t, inside)
	if !alive(outside) {
		t.Error("the daemon is gone")
	}
}

// When the numbers of processes may have begun anew since the child, all are looked
// at.
func TestSweepAfterWrap(t *testing.T) {
	p := start(t, shell(t, "setsid sleep 60 & echo $!; cat"))
	pid := atoi(lines(t, p)())
	p.family.era = era{forks: -1}
	if got := p.family.era.since(p.PID); got != all {
		t.Errorf("looks at %v, want all", got)
	}
	p.Shutdown(patient)
	mustBeGone(t, pid)
}

func TestEra(t *testing.T) {
	// Somebody just born has a number below the last, except for once in 32,768 times.
	pid, now := stranger(t, ""), newEra()
	long := time.Now().Add(-time.Duration(pidMax()+1) * time.Second / pidRate)
	for _, test := range []struct {
		name string
		era  era
		pid  int
		want span
	}{
		{"short", now, pid, span{pid + 1, 0}},
		{"short, but the number given last is lower", now, pidMax() - 1, all},
		{"long, and few were begun", era{long, 0, now.forks}, pid, span{pid + 1, 0}},
		{"long, and many were begun", era{long, 0, now.forks - pidMax()}, pid, all},
		{"long, and it is not known how many", era{long, 0, -1}, pid, all},
	} {
		before := lastPID()
		got := test.era.since(test.pid)
		if test.want.last == 0 && before <= got.last && got.last <= lastPID() {
			got.last = 0
		}
		if got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
	if a, b := forks(), recentForks(); b <= 0 || a < b {
		t.Errorf("processes begun: %d, a moment before: %d", a, b)
	}
}

// A list in a span is the part of the whole list that is in it.
func TestSpanList(t *testing.T) {
	if !canSeek() {
		t.Error("/proc cannot be read from a number on")
	}
	var ours []int
	for range 5 {
		ours = append(ours, stranger(t, ""))
	}
	slices.Sort(ours)
	// Others come and go, we and ours do not.
	filter := func(pids []int) []int {
		return slices.DeleteFunc(pids, func(pid int) bool { return pid != os.Getpid() && !slices.Contains(ours, pid) })
	}
	list := func(s span) []int {
		pids, err := s.list()
		if err != nil {
			t.Fatal(err)
		}
		return append([]int{}, filter(pids)...)
	}
	for _, first := range ours {
		for _, last := range ours {
			want := []int{}
			for _, pid := range list(all) {
				if first <= pid && pid <= last {
					want = append(want, pid)
				}
			}
			if diff := cmp.Diff(want, list(span{first, last})); diff != "" {
				t.Errorf("from %d to %d (-want +got):\n%s", first, last, diff)
			}
		}
	}
}

func TestStatusOf(t *testing.T) {
	dir := t.TempDir()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	odd := filepath.Join(dir, "a) R 1 (b")
	if err := os.Symlink(sleep, odd); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(odd, "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	now := newEra()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	got, ok := statusOf(pid)
	if before, after := now.ticks, newEra().ticks; got.begun < before || got.begun > after {
		t.Errorf("begun at %d, not between %d and %d", got.begun, before, after)
	}
	got.begun = 0
	want := status{pid: pid, parent: os.Getpid(), group: pid, session: pid, threads: 1}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(status{})); diff != "" || !ok {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	cmd.Process.Kill()
	eventually(t, "it is a zombie", func() bool {
		got, ok := statusOf(pid)
		return ok && got.zombie && got.dead()
	})
	cmd.Wait()
	if got, ok := statusOf(pid); ok {
		t.Errorf("after the wait: %+v", got)
	}
}

// Somebody who is born while the others are looked at is looked at too.
func TestNewcomersAreListedAnew(t *testing.T) {
	f := start(t, child(t, "cat")).family
	first := stranger(t, "")
	second := 0
	var seen []int
	for pid := range f.newcomers {
		seen = append(seen, pid)
		if pid == first {
			second = stranger(t, "")
		}
	}
	if second == 0 || !slices.Contains(seen, second) {
		t.Errorf("%d, then %d were born; seen: %v", first, second, seen)
	}
}

// No environment may mean the middle of an exec: that takes a second look.
func TestJudgeWithoutEnvironment(t *testing.T) {
	f := start(t, child(t, "cat")).family
	cmd := exec.Command("sleep", "60")
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	s := sweeper{family: f, blank: map[int]bool{}}
	var got []verdict
	for range 2 {
		got = append(got, s.judge(cmd.Process.Pid))
	}
	if diff := cmp.Diff([]verdict{inExec, foreign}, got); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
}

// Without /proc the group is ended all the same, and it is said that nobody else was
// looked for.
func TestSweepWithoutProc(t *testing.T) {
	defer func(was func() bool) { haveProc = was }(haveProc)
	haveProc = func() bool { return false }
	p := start(t, shell(t, "sleep 60 & echo; cat"))
	lines(t, p)()
	got := p.Shutdown(Graces{EOF: enough, Term: hang, Kill: hang})
	checkReport(t, got, Report{Exit: Exit{}, Rung: RungEOF, GroupRung: RungTerm,
		Leftover: []Leftover{{Reason: "there is no /proc to look for processes outside the group"}}})
}

func init() {
	// subreaper inherits, as process 1 does, what its children leave behind, and says
	// what it has left after their end.
	children["subreaper"] = func([]string) {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			panic(err)
		}
		p, err := Start(background, Spec{Path: "sh", Args: []string{"-c",
			"sleep 60 & setsid sh -c 'sleep 60 & sleep 60' & sh -c 'sleep 60 &'; echo; exec cat"},
			Dir: "/", Env: []string{"PATH=" + os.Getenv("PATH")}})
		if err != nil {
			panic(err)
		}
		bufio.NewReader(p.Stdout()).ReadString('\n')
		p.Shutdown(Graces{EOF: 10 * time.Millisecond, Term: hang, Kill: hang})
		fmt.Println(leak.Snapshot().Children)
	}
}

// What is inherited is reaped.
func TestSubreaper(t *testing.T) {
	p := start(t, child(t, "subreaper"))
	if out, err := io.ReadAll(p.Stdout()); string(out) != "map[]\n" || err != nil {
		text, _ := p.StderrTail()
		t.Errorf("left: %s, %v; stderr: %s", out, err, text)
	}
}

func init() {
	// undumpable cannot be read by others of its user. It says its pid and sleeps; if
	// it is told the pid of its parent, it waits first for that to be gone.
	children["undumpable"] = func(args []string) {
		if err := Undumpable(); err != nil {
			panic(err)
		}
		for len(args) > 0 && os.Getppid() == atoi(args[0]) {
			time.Sleep(time.Millisecond)
		}
		fmt.Println(os.Getpid())
		os.Stdout.Close()
		os.Stderr.Close()
		time.Sleep(hang)
	}
	// start starts it, in a session or a group of its own, and makes it an orphan if
	// that is asked for.
	children["start"] = func(args []string) {
		cmd := exec.Command(os.Args[0])
		orphan := len(args) > 1
		if orphan {
			cmd.Args = append(cmd.Args, strconv.Itoa(os.Getpid()))
		}
		cmd.Env = append(os.Environ(), childVariable+"=undumpable")
		cmd.Stdout = os.Stdout
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: args[0] == "setsid", Setpgid: args[0] == "setpgid"}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		if !orphan {
			io.Copy(io.Discard, os.Stdin)
		}
	}
	// sweepHidden starts what args say and prints its pid and the report.
	children["sweepHidden"] = func(args []string) {
		script := `"$0" "$@"; cat`
		p, err := Start(background, Spec{Path: "sh", Args: append([]string{"-c", script, os.Args[0]}, args...), Dir: "/",
			Env: []string{"PATH=" + os.Getenv("PATH"), noExitSleep, childVariable + "=start"}})
		if err != nil {
			panic(err)
		}
		line, _ := bufio.NewReader(p.Stdout()).ReadString('\n')
		fmt.Print(line)
		json.NewEncoder(os.Stdout).Encode(p.Shutdown(Graces{EOF: hang, Term: hang, Kill: hang}))
	}
	// asRoot, of a file that is root's and setuid, becomes a process that its user
	// cannot end, in a session of its own if that is asked for.
	children["asRoot"] = func(args []string) {
		if err := syscall.Setuid(0); err != nil {
			fmt.Println(0)
			return
		}
		if len(args) > 0 {
			syscall.Setsid()
		}
		fmt.Println(os.Getpid())
		os.Stdout.Close()
		os.Stderr.Close()
		forever()
	}
	// sweepRoot starts it and prints its pid and the report.
	children["sweepRoot"] = func(args []string) {
		p, err := Start(background, Spec{Path: "sh", Args: append([]string{"-c", `"$0" "$@" & wait; cat`,
			filepath.Join(filepath.Dir(os.Args[0]), setuidName)}, args...), Dir: "/",
			Env: []string{"PATH=" + os.Getenv("PATH"), noExitSleep, childVariable + "=asRoot"}})
		if err != nil {
			panic(err)
		}
		line, _ := bufio.NewReader(p.Stdout()).ReadString('\n')
		fmt.Print(line)
		json.NewEncoder(os.Stdout).Encode(p.Shutdown(Graces{Kill: 50 * time.Millisecond}))
		<-p.Exited()
	}
	children["checkDir"] = func(args []string) {
		_, err := CheckDir(args[0])
		var e *Error
		fmt.Println(errors.Is(err, fs.ErrPermission), errors.As(err, &e), err)
	}
}

// setuidName is a copy of the test binary beside the one asUser runs, which makes its
// user root.
const setuidName = "setuid"

func copySetuid(dir string, program []byte) error {
	path := filepath.Join(dir, setuidName)
	return errors.Join(os.WriteFile(path, program, 0o755), os.Chmod(path, 0o755|os.ModeSetuid))
}

// asUser runs one of children as an ordinary user, whoever runs the tests, and
// returns what it prints.
func asUser(t *testing.T, name string, args ...string) string {
	t.Helper()
	spec := child(t, name, args...)
	cmd := exec.Command(spec.Path, args...)
	if os.Getuid() == 0 {
		// The test binary is where only root may go.
		dir, err := os.MkdirTemp("", "proc")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		program, err := os.ReadFile(spec.Path)
		if err != nil {
			t.Fatal(err)
		}
		cmd.Path = filepath.Join(dir, "test")
		cmd.Args[0] = cmd.Path
		if err := errors.Join(os.WriteFile(cmd.Path, program, 0o755), os.Chmod(dir, 0o755), os.Chmod(cmd.Path, 0o755), copySetuid(dir, program)); err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	cmd.Dir = "/"
	cmd.Env = spec.Env
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	return out.String()
}

// A process whose environment cannot be read is ended where something else shows
// that it is ours; else it is named, if it could be.
func TestSweepHidden(t *testing.T) {
	for _, test := range []struct {
		name  string
		args  []string
		named bool
	}{
		{"a descendant", []string{"setsid"}, false},
		{"in the session", []string{"setpgid", "orphan"}, false},
		{"an orphan", []string{"setsid", "orphan"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			line, text, _ := strings.Cut(asUser(t, "sweepHidden", test.args...), "\n")
			pid := atoi(line)
			defer unix.Kill(pid, unix.SIGKILL)
			var got Report
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			var want []Leftover
			if test.named {
				want = []Leftover{{PID: pid, Command: commandOf(pid), Reason: "its environment cannot be read"}}
			}
			// Others may have begun something in the meantime.
			named := got.Leftover[:0]
			for _, l := range got.Leftover {
				if l.PID == pid {
					named = append(named, l)
				}
			}
			if len(named) == 0 {
				named = nil
			}
			if diff := cmp.Diff(want, named); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
			if alive(pid) != test.named {
				t.Errorf("alive: %v", !test.named)
			}
		})
	}
}

// A process that has become another user's cannot be ended, and is named.
func TestSweepOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make a setuid program for root")
	}
	for name, args := range map[string][]string{"in the group": nil, "in a session of its own": {"setsid"}} {
		t.Run(name, func(t *testing.T) {
			line, text, _ := strings.Cut(asUser(t, "sweepRoot", args...), "\n")
			pid := atoi(line)
			if pid == 0 {
				t.Skip("setuid programs mean nothing in the directory for temporary files")
			}
			defer unix.Kill(pid, unix.SIGKILL)
			var got Report
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			var named []Leftover
			for _, l := range got.Leftover {
				if l.PID == pid {
					named = append(named, l)
				}
			}
			want := []Leftover{{PID: pid, Command: commandOf(pid), Ours: true, Reason: "cannot be ended: operation not permitted"}}
			if diff := cmp.Diff(want, named); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
}

// A directory that cannot be entered is refused; root could enter any.
func TestCheckDirAsUser(t *testing.T) {
	dir, err := os.MkdirTemp("", "proc")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	closed := filepath.Join(dir, "closed")
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(closed, 0o600)); err != nil {
		t.Fatal(err)
	}
	got := asUser(t, "checkDir", closed)
	if want := fmt.Sprintf("true true directory %q: cannot be entered: permission denied\n", closed); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
