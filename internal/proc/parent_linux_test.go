package proc

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// tribe is a shell script of three levels in one group that are deaf to SIGTERM,
// SIGHUP and the end of stdin. The second level is stopped, and the third has closed
// the life-line. It says the three numbers in a line.
const tribe = `trap '' TERM HUP
sh -c 'sh -c "exec 3<&-; echo \$\$; exec sleep 60" & sleep 0.01; echo $$; kill -STOP $$' | { read a; read b; echo $a $b; while :; do sleep 1; done; } & 
while :; do sleep 1; done`

func init() {
	// begets starts as many tribes as it is told, each on a thread of its own that ends,
	// and then lets as many threads as it is told begin and end. It says the numbers of
	// the tribes, a line each, "all", and does what the line says that it reads then.
	children["begets"] = func(args []string) {
		var mu sync.Mutex // guards all
		var all []*Process
		began := make(chan error)
		for range atoi(args[0]) {
			go func() {
				runtime.LockOSThread() // never unlocked: the thread ends
				p, err := Start(background, plain(tribe))
				if err == nil {
					var line string
					line, err = bufio.NewReader(p.Stdout()).ReadString('\n')
					mu.Lock()
					all = append(all, p)
					fmt.Print(p.PID, " ", line)
					mu.Unlock()
				}
				began <- err
			}()
		}
		for range atoi(args[0]) {
			must(<-began)
		}
		churn(atoi(args[1]))
		fmt.Println("all")
		line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
		if end := endings[strings.TrimSpace(line)]; end != nil {
			end(all)
		}
		forever()
	}
	// begins starts children on many goroutines for ever, and says so for each.
	children["begins"] = func([]string) {
		for range 8 {
			go func() {
				for {
					p, err := Start(background, plain("cat"))
					must(err)
					fmt.Println(p.PID)
					if p.PID%3 == 0 {
						go p.Shutdown(patient)
					}
				}
			}()
		}
		forever()
	}
}

// churn lets n threads begin and end, ten at once.
func churn(n int) {
	tids := make(chan int)
	for range n / 10 {
		for range 10 {
			go func() {
				runtime.LockOSThread()
				tids <- unix.Gettid()
			}()
		}
		for range 10 {
			task := fmt.Sprintf("/proc/self/task/%d", <-tids)
			for _, err := os.Stat(task); err == nil; _, err = os.Stat(task) {
				runtime.Gosched()
			}
		}
	}
}

// endings are how a parent ends.
var endings = map[string]func([]*Process){
	"kill":  func([]*Process) { unix.Kill(os.Getpid(), unix.SIGKILL) },
	"exit":  func([]*Process) { os.Exit(3) },
	"panic": func([]*Process) { go panic("the parent panics") },
	"segv":  func([]*Process) { unix.Kill(os.Getpid(), unix.SIGSEGV) },
	"term":  func([]*Process) { unix.Kill(os.Getpid(), unix.SIGTERM) },
	"fatal": func([]*Process) { var mu sync.Mutex; mu.Unlock() },
	"exec":  func([]*Process) { must(syscall.Exec("/bin/sleep", []string{"sleep", "60"}, nil)) },
	"ladder": func(all []*Process) {
		signal.Ignore(syscall.SIGHUP)
		for i, p := range all {
			go p.Shutdown(Graces{EOF: time.Hour * time.Duration(i%2), Term: time.Hour})
		}
		for _, p := range all { // each is past its first rung
			for _, err := p.stdin.Write(nil); err == nil; _, err = p.stdin.Write(nil) {
				time.Sleep(time.Millisecond)
			}
		}
		unix.Kill(os.Getpid(), unix.SIGKILL)
	},
}

// parents starts the child of a test that is a parent itself, and reads what it says
// until "all".
func parents(t *testing.T, tribes, threads int) (parent *exec.Cmd, in io.Writer, pids []int) {
	t.Helper()
	spec := child(t, "begets", strconv.Itoa(tribes), strconv.Itoa(threads))
	parent = exec.Command(spec.Path, spec.Args...)
	parent.Env = append(spec.Env, "GOTRACEBACK=none")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err = parent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		parent.Process.Kill()
		parent.Wait()
	})
	scan := bufio.NewScanner(out)
	for scan.Scan() && scan.Text() != "all" {
		for _, pid := range strings.Fields(scan.Text()) {
			pids = append(pids, atoi(pid))
		}
	}
	if len(pids) != 3*tribes {
		t.Fatalf("%d processes, want %d", len(pids), 3*tribes)
	}
	eventually(t, "one of three is stopped", func() bool {
		stopped := 0
		for _, pid := range pids {
			if state(pid) == "T" {
				stopped++
			}
		}
		return stopped == tribes
	})
	for _, pid := range pids {
		if !alive(pid) {
			t.Errorf("process %d is dead while its parent lives", pid)
		}
	}
	return parent, in, pids
}

// gone waits for all of pids to be dead, ten times as long as it may take.
func gone(t *testing.T, pids []int) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for slices.ContainsFunc(pids, alive) {
		if time.Now().After(deadline) {
			mustBeGone(t, pids...)
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// However a parent ends, the groups of all its children are ended, with those that are
// deaf, stopped, or have closed the life-line.
func TestParentEnds(t *testing.T) {
	for ending := range endings {
		t.Run(ending, func(t *testing.T) {
			parent, in, pids := parents(t, 4, 0)
			io.WriteString(in, ending+"\n")
			gone(t, pids)
			if ending == "exec" {
				// The image that has taken its place has none of its descriptors.
				if !alive(parent.Process.Pid) || commandOf(parent.Process.Pid) != "sleep" {
					t.Error("the parent is gone as well")
				}
			}
		})
	}
}

// No child is ended because a thread of ours is; all are when we are.
func TestParentWithThreads(t *testing.T) {
	_, in, pids := parents(t, 50, 500)
	io.WriteString(in, "kill\n")
	gone(t, pids)
}

// A parent that is killed while it starts children leaves none that heeds the end of
// its stdin, whatever moment of a start that is.
func TestParentEndsInStart(t *testing.T) {
	for i := range 10 {
		spec := child(t, "begins")
		id := rand.Text()
		parent := exec.Command(spec.Path)
		parent.Env = append(spec.Env, RunVariable+"="+id)
		out, err := parent.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := parent.Start(); err != nil {
			t.Fatal(err)
		}
		scan := bufio.NewScanner(out)
		for range 10 + i {
			scan.Scan()
		}
		parent.Process.Kill()
		io.Copy(io.Discard, out)
		parent.Wait()
		deadline := time.Now().Add(10 * time.Second)
		for pids := carrying(id); len(pids) > 0; pids = carrying(id) {
			if time.Now().After(deadline) {
				mustBeGone(t, pids...)
				break
			}
		}
	}
}
