package proc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Tests that need the numbers of processes for themselves: they run as the first
// process of a pid namespace, where nobody else begins any and where the number given
// last can be set. As process 1 they also inherit what is left behind.

// alone runs a scenario in a namespace. What it returns is what went wrong.
func alone(t *testing.T, scenario string) {
	t.Helper()
	spec := child(t, "alone", scenario)
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Env = spec.Env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, Setsid: true}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	if err := cmd.Start(); err != nil {
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSPC) {
			t.Skipf("NOT TESTED: there are no pid namespaces for us: %v", err)
		}
		t.Fatal(err)
	}
	late := time.AfterFunc(2*hang, func() { cmd.Process.Kill() })
	defer late.Stop()
	if err := cmd.Wait(); cannot.Is(out.String()) {
		t.Skip("NOT TESTED: " + out.String())
	} else if err != nil || out.Len() > 0 {
		t.Errorf("%v: %s", err, out.String())
	}
}

// cannot marks what a system does not let us do.
type cannotPrefix string

const cannot = cannotPrefix("cannot: ")

func (c cannotPrefix) Is(text string) bool { return strings.HasPrefix(text, string(c)) }

var scenarios = map[string]func() error{
	"wrap":  wrapScenario,
	"reuse": reuseScenario,
	"cost":  costScenario,
}

func init() {
	children["alone"] = func(args []string) {
		err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		if err == nil {
			err = unix.Mount("proc", "/proc", "proc", 0, "")
		}
		if err == nil {
			err = setLastPID(lastPID())
		}
		if err != nil {
			fmt.Print(cannot, err)
			return
		}
		if err := scenarios[args[0]](); err != nil {
			fmt.Println(err)
		}
	}
}

// setLastPID has the next processes numbered after n.
func setLastPID(n int) error {
	return os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(n)), 0)
}

// plain is the Spec of a shell script, outside of a test.
func plain(script string) Spec {
	return Spec{Path: "sh", Args: []string{"-c", script}, Dir: "/", Env: []string{"PATH=" + os.Getenv("PATH")}}
}

// idle starts a process in a session of its own, with this list of runs.
func idle(runs string) (*exec.Cmd, error) {
	cmd := exec.Command("sleep", "60")
	cmd.Env = []string{RunVariable + "=" + runs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, cmd.Start()
}

// idleAs starts one that has this number.
func idleAs(pid int, runs string) (*exec.Cmd, error) {
	for range 100 {
		if err := setLastPID(pid - 1); err != nil {
			return nil, err
		}
		cmd, err := idle(runs)
		if err != nil || cmd.Process.Pid == pid {
			return cmd, err
		}
		end(cmd)
	}
	return nil, fmt.Errorf("number %d is not given again", pid)
}

// ended reports whether a process is gone, or soon will be: a signal takes a moment.
func ended(pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return true
	}
	defer unix.Close(fd)
	return waitOver(fd, time.Now().Add(100*time.Millisecond))
}

func end(cmd *exec.Cmd) {
	cmd.Process.Kill()
	cmd.Wait()
}

// The numbers begin anew at any moment of a run: its daemons are found, be their
// numbers higher or lower, and nobody else is touched.
func TestSweepAcrossWrap(t *testing.T) { alone(t, "wrap") }

func wrapScenario() error {
	other, err := idle("other")
	if err != nil {
		return err
	}
	wrapped := false
	for before := range 12 {
		if err := setLastPID(pidMax() - 1 - before); err != nil {
			return err
		}
		p, err := Start(background, plain("for i in 1 2 3; do setsid sleep 60 & echo $!; done; cat"))
		if err != nil {
			return err
		}
		r := bufio.NewReader(p.Stdout())
		var pids []int
		for range 3 {
			line, err := r.ReadString('\n')
			if err != nil {
				return err
			}
			pids = append(pids, atoi(strings.TrimSpace(line)))
			wrapped = wrapped || pids[len(pids)-1] < p.PID
		}
		p.Shutdown(patient)
		p.Stdout().Close()
		for _, pid := range pids {
			if alive(pid) {
				return fmt.Errorf("child %d, begun %d numbers before the last: its daemon %d is still there", p.PID, before, pid)
			}
		}
		if !alive(other.Process.Pid) {
			return fmt.Errorf("a stranger, %d, was ended", other.Process.Pid)
		}
	}
	if !wrapped {
		return errors.New("no number has begun anew")
	}
	end(other)
	return nil
}

// A number that was given again is never hit, at whatever step that happens.
func TestSweepSparesReusedNumbers(t *testing.T) { alone(t, "reuse") }

func reuseScenario() error {
	p, err := Start(background, plain("cat"))
	if err != nil {
		return err
	}
	defer p.Stdout().Close()
	id := p.family.runID
	for step, hit := range map[string]func(s *sweeper, pid, oldFD int){
		"before it is looked at":     func(s *sweeper, pid, fd int) { s.take(pid); unix.Close(fd) },
		"after the pidfd was opened": func(s *sweeper, pid, fd int) { s.kill(pid, fd) },
		"after it was seen to stray": func(s *sweeper, pid, fd int) { s.strayed[pid] = fd; s.pass() },
		"after it was ended once":    func(s *sweeper, pid, fd int) { s.hit[pid] = fd; s.pass(); waitOver(fd, s.until) },
		"and nothing of it is known": func(s *sweeper, pid, fd int) { unix.Close(fd); s.pass() },
	} {
		mine, err := idle(id)
		if err != nil {
			return err
		}
		s := &sweeper{family: p.family, until: time.Now().Add(hang), done: map[int]bool{}, blank: map[int]bool{}, hit: map[int]int{}}
		s.looked = p.family.era.since(p.PID)
		pid := mine.Process.Pid
		for v := s.judge(pid); v != ours; v = s.judge(pid) {
			if v != inExec && v != foreign || time.Now().After(s.until) {
				return errors.New("it was not ours before")
			}
			clear(s.blank) // it is in the middle of its exec, for as long as it likes
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return err
		}
		end(mine)
		other, err := idleAs(pid, "other")
		if err != nil {
			return err
		}
		hit(s, pid, fd)
		if ended(pid) {
			return fmt.Errorf("%s: somebody else was ended", step)
		}
		end(other)
	}

	// The group's number, once the group is gone.
	q, err := Start(background, plain("exit 0"))
	if err != nil {
		return err
	}
	<-q.Exited()
	if !q.family.gone() {
		return errors.New("the group is not gone")
	}
	other, err := idleAs(q.PID, "other")
	if err != nil {
		return err
	}
	q.family.terminate()
	q.family.kill()
	q.Shutdown(patient) // closes the life-line, too
	q.Stdout().Close()
	if ended(q.PID) {
		return errors.New("the group that has the number now was ended")
	}
	end(other)
	p.Shutdown(patient)
	return nil
}

// What the end of a run costs depends on who was begun during it, not on who is there.
// Counted are the files that are read.
func TestSweepCost(t *testing.T) { alone(t, "cost") }

// reads returns how many reads of files this thread has done; the process's would
// have those of the children it has reaped.
func reads() int {
	text, _ := os.ReadFile("/proc/thread-self/io")
	_, rest, _ := strings.Cut(string(text), "syscr: ")
	n, _, _ := strings.Cut(rest, "\n")
	return atoi(n)
}

func costScenario() error {
	runtime.LockOSThread()
	if _, err := os.Stat("/proc/thread-self/io"); err != nil {
		fmt.Print(cannot, err)
		return nil
	}
	// readsOf counts those of the end of a run during which script has run.
	readsOf := func(script string, change func(*Process)) (int, error) {
		p, err := Start(background, plain(script+"; echo; cat"))
		if err != nil {
			return 0, err
		}
		defer p.Stdout().Close()
		if _, err := p.Stdout().Read(make([]byte, 1)); err != nil {
			return 0, err
		}
		change(p)
		before := reads()
		if r := p.Shutdown(patient); r.Rung != RungEOF || len(r.Leftover) > 0 {
			return 0, fmt.Errorf("report: %+v", r)
		}
		return reads() - before, nil
	}
	nothing := func(*Process) {}
	long := func(p *Process) { p.family.era.began = time.Time{} }
	wrapped := func(p *Process) { p.family.era = era{forks: -1} }
	const few = 25 // a handful for each rung

	const crowd = 300
	others := func(n int) (*Process, error) {
		p, err := Start(background, plain(fmt.Sprintf("i=0; while [ $i -lt %d ]; do sleep 60 & i=$((i+1)); done; echo; cat", n)))
		if err == nil {
			_, err = io.ReadFull(p.Stdout(), make([]byte, 1))
		}
		return p, err
	}
	p, err := others(crowd)
	if err != nil {
		return err
	}
	for _, test := range []struct {
		what   string
		script string
		change func(*Process)
		most   int
	}{
		{"short, beside others", ":", nothing, few},
		{"long, beside others", ":", long, few},
		{"long, and many have come and gone", "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done", long, few},
		{"the numbers have begun anew", ":", wrapped, 4*crowd + few},
	} {
		got, err := readsOf(test.script, test.change)
		if err != nil {
			return fmt.Errorf("%s: %w", test.what, err)
		}
		if got > test.most {
			return fmt.Errorf("%s: %d reads, want %d at the most", test.what, got, test.most)
		}
	}
	// And beside those that were begun during it.
	q, err := Start(background, plain("cat"))
	if err != nil {
		return err
	}
	during, err := others(crowd)
	if err != nil {
		return err
	}
	before := reads()
	if r := q.Shutdown(patient); r.Rung != RungEOF {
		return fmt.Errorf("report: %+v", r)
	}
	q.Stdout().Close()
	if got := reads() - before; got > 4*crowd+few || got < crowd {
		return fmt.Errorf("%d were begun during it: %d reads", crowd, got)
	}
	for _, p := range []*Process{p, during} {
		p.Kill(hang)
		p.Stdout().Close()
	}
	return nil
}
