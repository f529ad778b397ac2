package proc

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func init() {
	// parent starts as many children as it is told, each on a thread of its own that
	// ends, says the pids of all, and waits to be killed.
	children["parent"] = func(args []string) {
		type family struct {
			pids string
			err  error
		}
		started := make(chan family)
		for range atoi(args[0]) {
			go func() {
				runtime.LockOSThread()
				p, err := Start(background, Spec{Path: os.Args[0], Args: args[1:], Dir: "/",
					Env: []string{childVariable + "=helpers", "PATH=" + os.Getenv("PATH")}})
				if err != nil {
					started <- family{err: err}
					return
				}
				line, err := bufio.NewReader(p.Stdout()).ReadString('\n')
				started <- family{line, err}
			}()
		}
		for range atoi(args[0]) {
			f := <-started
			if f.err != nil {
				fmt.Println(f.err)
			}
			fmt.Print(f.pids)
		}
		fmt.Println("all")
		forever()
	}
	// helpers ignores SIGTERM, SIGHUP and its stdin, starts two that do so too, one
	// of them without the life-line, and says the three pids in a line. Told "closed",
	// it gives up the life-line first.
	children["helpers"] = func(args []string) {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		if args[0] == "closed" {
			syscall.Close(3)
		}
		pids := []string{fmt.Sprint(os.Getpid())}
		for _, script := range []string{"sleep 60", "exec 3<&-; sleep 60"} {
			cmd := exec.Command("sh", "-c", "trap '' TERM HUP; "+script+"; :")
			if err := cmd.Start(); err != nil {
				panic(err)
			}
			pids = append(pids, fmt.Sprint(cmd.Process.Pid))
		}
		fmt.Println(strings.Join(pids, " "))
		forever()
	}
}

// kill -9 of the parent ends the groups of all its children, wherever and by which
// thread they were started.
func testL6(t *testing.T) {
	for _, variant := range []string{"open", "closed"} {
		t.Run(variant, func(t *testing.T) {
			const families = 5
			spec := child(t, "parent", fmt.Sprint(families), variant)
			parent := exec.Command(spec.Path, spec.Args...)
			parent.Env = spec.Env
			out, err := parent.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := parent.Start(); err != nil {
				t.Fatal(err)
			}
			var pids []int
			scan := bufio.NewScanner(out)
			for scan.Scan() && scan.Text() != "all" {
				for _, pid := range strings.Fields(scan.Text()) {
					pids = append(pids, atoi(pid))
				}
			}
			if len(pids) != 3*families {
				t.Errorf("%d processes, want %d", len(pids), 3*families)
			}
			for _, pid := range pids {
				if !alive(pid) {
					t.Errorf("process %d is dead while its parent lives", pid)
				}
			}
			parent.Process.Kill()
			io.Copy(io.Discard, out)
			parent.Wait()
			for _, pid := range pids {
				eventually(t, "all are gone", func() bool { return !alive(pid) })
			}
		})
	}
}
