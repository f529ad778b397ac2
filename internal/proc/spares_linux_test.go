package proc

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	// nested is a program that delegates in its turn: it starts a run with a helper in
	// its group and a daemon, says their numbers and its run's, and is deaf to everything
	// but a line, at which it ends its own run and says so.
	children["nested"] = func([]string) {
		p, err := Start(background, Spec{Path: "sh", Dir: "/", Env: []string{"PATH=" + os.Getenv("PATH")},
			Args: []string{"-c", "trap '' TERM; setsid sleep 60 & echo $!; sleep 60 & echo $!; cat"}})
		must(err)
		r := bufio.NewReader(p.Stdout())
		a, _ := r.ReadString('\n')
		b, _ := r.ReadString('\n')
		fmt.Println(p.PID, strings.TrimSpace(a), strings.TrimSpace(b))
		in := bufio.NewReader(os.Stdin)
		if _, err := in.ReadString('\n'); err != nil {
			forever()
		}
		p.Shutdown(Graces{Kill: hang})
		fmt.Println("ended")
		forever()
	}
	// line3 says which number the life-line has here, where 3 is free.
	children["line3"] = func([]string) {
		unix.Close(3)
		l, err := newLifeline()
		fd := -1
		if err == nil {
			fd = int(l.read.Fd())
		}
		_, err3 := unix.FcntlInt(3, unix.F_GETFD, 0)
		fmt.Fprintln(os.Stderr, fd > lineInChild && l.held(os.Getpid()) == false && l.name != "", err3 == nil)
	}
}

// A run inside a run is ended with it, its daemon too, and does not touch it when it
// ends by itself.
func TestNestedRun(t *testing.T) {
	p := start(t, child(t, "nested"))
	helper := stranger(t, p.family.runID) // of the run around
	line := lines(t, p)
	numbers := func() (pids []int) {
		for _, s := range strings.Fields(line()) {
			pids = append(pids, atoi(s))
		}
		return pids
	}
	inner := numbers()
	p.Stdin().Write([]byte("\n"))
	if got := line(); got != "ended" {
		t.Fatalf("read %q", got)
	}
	mustBeGone(t, inner...)
	if !alive(helper) || !alive(p.PID) {
		t.Error("a run inside has ended what belongs to the one around it")
	}
	p.Kill(hang)
	mustBeGone(t, helper)

	p = start(t, child(t, "nested"))
	line = lines(t, p)
	inner = numbers()
	for _, pid := range inner {
		if !alive(pid) {
			t.Errorf("process %d of the run inside is gone", pid)
		}
	}
	if got := p.Shutdown(short); got.Rung != RungTerm || len(got.Leftover) > 0 {
		t.Errorf("report: %+v", got)
	}
	mustBeGone(t, inner...)
}

// Whoever is not of the run is not touched, also where the numbers of processes may
// have begun anew and all are looked at: not this process, and no child of it.
func TestSweepSpares(t *testing.T) {
	for name, change := range map[string]func(*Process){
		"a short run":                    func(*Process) {},
		"the numbers have begun anew":    func(p *Process) { p.family.era = era{forks: -1} },
		"and after the ladder's SIGKILL": func(p *Process) { p.Kill(hang) },
	} {
		t.Run(name, func(t *testing.T) {
			older := stranger(t, "") // a sibling that was there before
			p := start(t, shell(t, "setsid sleep 60 & echo; cat"))
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			defer w.Close()
			spared := map[string]int{"older": older}
			begin := func(what string, change func(*exec.Cmd)) {
				cmd := exec.Command("sleep", "60")
				cmd.Env = os.Environ()
				change(cmd)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
				spared[what] = cmd.Process.Pid
			}
			begin("a sibling", func(*exec.Cmd) {})
			begin("without an environment", func(c *exec.Cmd) { c.Env = []string{} })
			begin("with another pipe in the life-line's place", func(c *exec.Cmd) { c.ExtraFiles = []*os.File{r} })
			begin("with our stdin's other end", func(c *exec.Cmd) { c.Stdin = r })
			begin("in another session", func(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} })
			if os.Getuid() == 0 {
				begin("another user's", func(c *exec.Cmd) {
					c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
				})
			}
			lines(t, p)()
			change(p)
			if got := p.Shutdown(patient); len(got.Leftover) > 0 && got.Leftover[0].Ours {
				t.Errorf("report: %+v", got)
			}
			for what, pid := range spared {
				if !alive(pid) {
					t.Errorf("%s: %d was ended", what, pid)
				}
			}
		})
	}
}

// Runs that begin while others end are not taken for them: in the moment between fork
// and exec a child has what this process has.
func TestSweepSparesThoseThatBegin(t *testing.T) {
	n := 300
	if testing.Short() {
		n = 50
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range n / 8 {
				p, err := Start(background, plain("cat"))
				if err != nil {
					t.Error(err)
					return
				}
				got := p.Shutdown(patient)
				p.Stdout().Close()
				if got.Exit != (Exit{}) || got.Rung != RungEOF {
					t.Errorf("report: %+v", got)
				}
			}
		})
	}
	all.Wait()
	p := start(t, child(t, "line3"))
	wait(t, p)
	if text, _ := p.StderrTail(); text != "true false\n" {
		t.Errorf("the life-line's number: %s", text)
	}
}
