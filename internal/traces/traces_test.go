package traces

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/internal/script"
)

// sleeper, as the first argument, makes the test binary wait for the end of its stdin.
const sleeper = "__sleeper"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sleeper {
		io.Copy(io.Discard, os.Stdin)
		return
	}
	leak.Main(m)
}

// record is a test that only notes what it was told.
type record struct {
	testing.TB
	told []string
}

func (*record) Helper() {}

func (r *record) Error(args ...any) { r.told = append(r.told, fmt.Sprint(args...)) }

func (r *record) Errorf(format string, args ...any) { r.Error(fmt.Sprintf(format, args...)) }

func (r *record) Fatal(args ...any) { r.Error(args...); runtime.Goexit() }

func (r *record) Fatalf(format string, args ...any) { r.Errorf(format, args...); runtime.Goexit() }

// told is what a test would be told.
func told(f func(t testing.TB)) []string {
	r := &record{}
	done := make(chan struct{})
	go func() { // ends with f, or when that is fatal
		defer close(done)
		f(r)
	}()
	<-done
	return r.told
}

func TestWhatTheAgentReads(t *testing.T) {
	tr := New(t)
	tr.NotStarted()
	agent, err := script.Parse("script", []byte(tr.Recording("on _vendor/tell; stderr heard")))
	if err != nil {
		t.Fatal(err)
	}
	stdin := `{"jsonrpc":"2.0","method":"_vendor/tell","params":{"n":1}}
{"jsonrpc":"2.0","method":"_vendor/twice"}
{"jsonrpc":"2.0","method":"_vendor/twice"}
`
	agent.Run(context.Background(), strings.NewReader(stdin), io.Discard, io.Discard)
	var methods []string
	for _, f := range tr.Frames() {
		methods = append(methods, f.Method)
	}
	if diff := cmp.Diff([]string{"_vendor/tell", "_vendor/twice", "_vendor/twice"}, methods); diff != "" {
		t.Errorf("methods (-want +got):\n%s", diff)
	}
	if got := tr.Params("_vendor/tell"); got != `{"n":1}` {
		t.Errorf("params %s", got)
	}
	for want, f := range map[string]func(tr *Traces){
		"a process was started":                      func(tr *Traces) { tr.NotStarted() },
		"_vendor/twice was sent 2 times, want once":  func(tr *Traces) { tr.Params("_vendor/twice") },
		"_vendor/absent was sent 0 times, want once": func(tr *Traces) { tr.Params("_vendor/absent") },
		`the agent read "no frame": invalid character 'o' in literal null (expecting 'u')`: func(tr *Traces) {
			tr.Wire = filepath.Join(t.TempDir(), "other")
			if err := os.WriteFile(tr.Wire, []byte("no frame"), 0o600); err != nil {
				t.Fatal(err)
			}
			tr.Frames()
		},
	} {
		got := told(func(r testing.TB) { f(&Traces{TB: r, Dir: tr.Dir, Wire: tr.Wire}) })
		if diff := cmp.Diff([]string{want}, got); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	}
}

func TestFiles(t *testing.T) {
	tr := New(t)
	if tr.Exists("a") {
		t.Error("a is there")
	}
	tr.Touch("a")
	if !tr.Exists("a") || tr.Await("a") != "" {
		t.Error("a is not there, or holds something")
	}
	elsewhere := filepath.Join(t.TempDir(), "b")
	if err := os.WriteFile(elsewhere, []byte("4 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := tr.File(elsewhere); got != "4 2\n" {
		t.Errorf("file %q", got)
	}
	for name, f := range map[string]func(*Traces){
		"a file that is not there":   func(tr *Traces) { tr.File("c") },
		"a directory that is none":   func(tr *Traces) { tr.Exists("a/b") },
		"nowhere to make it":         func(tr *Traces) { tr.Touch("c/d") },
		"no process id":              func(tr *Traces) { tr.PID(elsewhere) },
		"a directory that is absent": func(tr *Traces) { Canonical(tr, tr.Path("c")) },
	} {
		if name == "a directory that is none" && runtime.GOOS == "windows" {
			continue // there that is the same as not there
		}
		if got := told(func(r testing.TB) { f(&Traces{TB: r, Dir: tr.Dir}) }); len(got) != 1 {
			t.Errorf("%s: told %q", name, got)
		}
	}
}

func TestCanonical(t *testing.T) {
	dir := Canonical(t, t.TempDir())
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	if got := Canonical(t, link); got != dir {
		t.Errorf("got %q, want %q", got, dir)
	}
}

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		Until(t, "three", func() bool { n++; return n == 3 })
		got := told(func(r testing.TB) { Until(r, "four", func() bool { return false }) })
		if diff := cmp.Diff([]string{"it does not come in 1m0s: four"}, got); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
}

func TestProcesses(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no process is looked at there")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, sleeper)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tr := New(t)
	if err := os.WriteFile(tr.Path("pid"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o600); err != nil {
		t.Fatal(err)
	}
	// complaints counts what Gone and Reaped have to say.
	complaints := func() (gone, reaped int) {
		gone = len(told(func(r testing.TB) { (&Traces{TB: r, Dir: tr.Dir}).Gone("pid") }))
		return gone, len(told(func(r testing.TB) { (&Traces{TB: r, Dir: tr.Dir}).Reaped("pid") }))
	}
	if gone, reaped := complaints(); gone != 1 || reaped != 1 {
		t.Errorf("alive: Gone says %d things, Reaped %d", gone, reaped)
	}
	stdin.Close()
	if runtime.GOOS == "linux" {
		Until(t, "a zombie", func() bool { return strings.HasPrefix(stateOf(cmd.Process.Pid), "Z") })
		if gone, reaped := complaints(); gone != 0 || reaped != 1 {
			t.Errorf("a zombie: Gone says %d things, Reaped %d", gone, reaped)
		}
	}
	cmd.Wait()
	if gone, reaped := complaints(); gone != 0 || reaped != 0 {
		t.Errorf("reaped: Gone says %d things, Reaped %d", gone, reaped)
	}
}
