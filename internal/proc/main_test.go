package proc

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/leak"
)

// childVariable names what the test binary does instead of testing, when it is
// started as a child; its arguments are the child's.
const childVariable = "PROC_TEST_CHILD"

// noExitSleep keeps a race build from sleeping a second at its exit.
const noExitSleep = "GORACE=atexit_sleep_ms=0"

// background is the context of what is started outside of a test.
var background = context.Background()

// hang bounds every wait of a test; to reach it is a failure.
const hang = 30 * time.Second

// children are filled by the files that need them.
var children = map[string]func(args []string){
	// cat answers what it reads and ends with its stdin.
	"cat": func([]string) { io.Copy(os.Stdout, os.Stdin) },
	// exit ends with a status.
	"exit": func(args []string) { os.Exit(atoi(args[0])) },
	// stderr writes one argument after the other to stderr and ends.
	"stderr": func(args []string) {
		for _, arg := range args {
			io.WriteString(os.Stderr, arg)
		}
	},
	// environ prints its environment, a line each, and its directory.
	"environ": func([]string) {
		for _, entry := range os.Environ() {
			fmt.Println(entry)
		}
		dir, _ := os.Getwd()
		fmt.Println("dir=" + dir)
	},
}

func TestMain(m *testing.M) {
	if name, ok := os.LookupEnv(childVariable); ok {
		children[name](os.Args[1:])
		return
	}
	leak.Main(m)
}

// short are graces for children of which no patience is needed.
var short = Graces{EOF: 50 * time.Millisecond, Term: 50 * time.Millisecond, Kill: hang}

// enough is a grace that a child certainly keeps and its helper lets pass.
const enough = 3 * time.Second

// patient are graces for children that do what they are asked to.
var patient = Graces{EOF: hang, Term: hang, Kill: hang}

// child returns the Spec of one of children.
func child(t testing.TB, name string, args ...string) Spec {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Spec{
		Path: exe,
		Args: args,
		Dir:  t.TempDir(),
		Env: []string{
			"PATH=" + os.Getenv("PATH"),
			childVariable + "=" + name,
			noExitSleep,
		},
	}
}

// shell returns the Spec of a shell script. Where it matters who does what, each
// command is on its own, so that the shell does not exec the last one.
func shell(t testing.TB, script string) Spec {
	return Spec{Path: "sh", Args: []string{"-c", script}, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH"), noExitSleep}}
}

// start starts spec and makes sure that nothing of it outlives the test.
func start(t testing.TB, spec Spec) *Process {
	t.Helper()
	p, err := Start(background, spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill(hang)
		p.Stdout().Close()
	})
	return p
}

// lines reads p's stdout by lines.
func lines(t testing.TB, p *Process) func() string {
	r := bufio.NewReader(p.Stdout())
	return func() string {
		t.Helper()
		line, err := r.ReadString('\n')
		if err != nil {
			text, _ := p.StderrTail()
			t.Fatalf("reading a line: %v (so far %q; stderr %q)", err, line, text)
		}
		return strings.TrimSuffix(line, "\n")
	}
}

// wait waits for the child itself to exit.
func wait(t testing.TB, p *Process) Exit {
	t.Helper()
	select {
	case <-p.Exited():
	case <-time.After(hang):
		t.Fatal("the child does not exit")
	}
	return p.Exit()
}

// checkReport compares reports, but for leftovers that only may be ours: others of
// our user may have begun one meanwhile.
func checkReport(t testing.TB, got, want Report) {
	t.Helper()
	var ours []Leftover
	for _, l := range got.Leftover {
		if l.Ours || l.PID == 0 {
			ours = append(ours, l)
		}
	}
	got.Leftover = ours
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// eventually polls until cond holds.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(hang); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// forever is for children: select {} would count as a deadlock.
func forever() { time.Sleep(time.Hour) }

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}
