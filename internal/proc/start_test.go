package proc

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/leak"
)

func TestStart(t *testing.T) {
	p := start(t, child(t, "cat"))
	if _, err := io.WriteString(p.Stdin(), "hello\n"); err != nil {
		t.Fatal(err)
	}
	if got := lines(t, p)(); got != "hello" {
		t.Errorf("the child answers %q", got)
	}
	checkReport(t, p.Shutdown(patient), Report{Exit: Exit{Code: 0}, Rung: RungEOF, GroupRung: RungEOF})
	if _, err := p.Stdout().Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("stdout after the end: %v, want EOF", err)
	}
}

// The child's environment is Spec.Env, PWD and the list of runs; its directory is
// the canonical one.
func TestEnvironment(t *testing.T) {
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, link); err != nil {
		t.Skip(err)
	}
	id := rand.Text() // not that of another test binary that runs just now
	for _, test := range []struct {
		name string
		own  string   // ERRAND_RUN of this process
		env  []string // beside what the child needs to be one
		want []string
	}{
		{"run id", "", nil, []string{"ERRAND_RUN=" + id}},
		{"appended to the caller's", "", []string{"ERRAND_RUN=a:b"}, []string{"ERRAND_RUN=a:b:" + id}},
		{"appended to our own where the caller's is scrubbed", "outer", nil, []string{"ERRAND_RUN=outer:" + id}},
		{"the caller's before our own", "outer", []string{"ERRAND_RUN=other"}, []string{"ERRAND_RUN=other:" + id}},
		{"PWD is ours", "", []string{"PWD=/elsewhere"}, []string{"ERRAND_RUN=" + id}},
		{"the last of a name counts", "", []string{"A=1", "A=2"}, []string{"A=2", "ERRAND_RUN=" + id}},
		{"a value with a newline's worth of =", "", []string{"A=b=c"}, []string{"A=b=c", "ERRAND_RUN=" + id}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(RunVariable, test.own)
			if test.own == "" {
				os.Unsetenv(RunVariable)
			}
			spec := child(t, "environ")
			fixed := spec.Env
			spec.Env, spec.Dir, spec.RunID = append(spec.Env, test.env...), link, id
			p := start(t, spec)
			out, err := io.ReadAll(p.Stdout())
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Split(strings.TrimSpace(string(out)), "\n")
			want := append(append(fixed[:len(fixed):len(fixed)], test.want...), "PWD="+real, "dir="+real)
			sortStrings := cmp.Transformer("set", func(in []string) map[string]bool {
				set := map[string]bool{}
				for _, s := range in {
					set[s] = true
				}
				return set
			})
			if diff := cmp.Diff(want, got, sortStrings); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRandomRunID(t *testing.T) {
	id := func() string {
		_, id, err := childEnv(Spec{})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	if a, b := id(), id(); len(a) < 20 || a == b {
		t.Errorf("random run ids %q and %q", a, b)
	}
}

// What is wrong with a Spec is said before anything is spawned, and nothing is left.
func TestRefused(t *testing.T) {
	t.Setenv(RunVariable, "outer:around")
	good := child(t, "cat")
	file := filepath.Join(good.Dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		change func(*Spec)
		want   Error // What, Name, Searched
		says   string
	}{
		{"no directory", func(s *Spec) { s.Dir = "" }, Error{What: "directory"}, "is empty"},
		{"relative directory", func(s *Spec) { s.Dir = "." }, Error{What: "directory", Name: "."}, "is not absolute"},
		{"missing directory", func(s *Spec) { s.Dir = file + "x" }, Error{What: "directory", Name: file + "x"}, ""},
		{"directory is a file", func(s *Spec) { s.Dir = file }, Error{What: "directory", Name: file}, "is not a directory"},
		{"no command", func(s *Spec) { s.Path = "" }, Error{What: "command"}, "is empty"},
		{"NUL in the command", func(s *Spec) { s.Path = "a\x00" }, Error{What: "command", Name: "a\x00"}, "contains a NUL"},
		{"command not found", func(s *Spec) { s.Path, s.Env = "no-such-command", []string{"PATH=" + good.Dir} },
			Error{What: "command", Name: "no-such-command", Searched: []string{good.Dir}}, "(searched " + good.Dir + ")"},
		{"no PATH", func(s *Spec) { s.Path, s.Env = "sh", nil },
			Error{What: "command", Name: "sh", Searched: []string{}}, "no absolute directory in the child's PATH"},
		{"a directory", func(s *Spec) { s.Path = good.Dir }, Error{What: "command", Name: good.Dir}, "is a directory"},
		{"NUL in an argument", func(s *Spec) { s.Args = []string{"a", "secret\x00"} }, Error{What: "argument", Name: "2"}, "contains a NUL"},
		{"NUL in a variable", func(s *Spec) { s.Env = append(s.Env, "NAME=secret\x00") }, Error{What: "environment variable", Name: "NAME"}, "contains a NUL"},
		{"colon in the run id", func(s *Spec) { s.RunID = "a:b" }, Error{What: "run id", Name: "a:b"}, "contains a colon"},
		{"run id of a run around us", func(s *Spec) { s.RunID = "around" }, Error{What: "run id", Name: "around"}, "is already"},
		{"run id twice", func(s *Spec) { s.RunID, s.Env = "x", append(s.Env, RunVariable+"=x") }, Error{What: "run id", Name: "x"}, "is already"},
		{"unknown sweep", func(s *Spec) { s.Sweep = "all" }, Error{What: "sweep mode", Name: "all"}, "is neither run nor group"},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := leak.Snapshot()
			spec := good
			test.change(&spec)
			p, err := Start(t.Context(), spec)
			got, ok := errors.AsType[*Error](err)
			if !ok || p != nil {
				t.Fatalf("got %v, %v, want an *Error", p, err)
			}
			if diff := cmp.Diff(test.want, Error{What: got.What, Name: got.Name, Searched: got.Searched}); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error is %q, want it to say %q", err, test.says)
			}
			if err := before.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A context that is done spawns nothing, whatever the rest of the Spec is.
func TestStartWithContextDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	sentinel := filepath.Join(t.TempDir(), "sentinel")
	refused := func() {
		t.Helper()
		p, err := Start(ctx, shell(t, "echo >"+sentinel))
		if p != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, %v, want context.Canceled", p, err)
		}
		if _, err := os.Stat(sentinel); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("something ran: %v", err)
		}
	}
	// It ends while another child is being started.
	starting <- struct{}{}
	time.AfterFunc(10*time.Millisecond, cancel)
	refused()
	<-starting
	refused()
}

// Args are literal: no shell looks at them.
func TestArgumentsAreLiteral(t *testing.T) {
	args := []string{"", "a b", "$HOME", "`id`", "*", "'", "-"}
	spec := child(t, "stderr", args...)
	p := start(t, spec)
	wait(t, p)
	if got, _ := p.StderrTail(); got != strings.Join(args, "") {
		t.Errorf("the child was given %q", got)
	}
}

// Starts on goroutines whose threads end, and a context that ends, mean nothing to
// the child.
func TestChildOutlivesThreadAndContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan *Process)
	spec := child(t, "cat")
	for range 8 {
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			p, err := Start(ctx, spec)
			if err != nil {
				t.Error(err)
			}
			started <- p
		}()
	}
	var all []*Process
	for range 8 {
		if p := <-started; p != nil {
			all = append(all, p)
		}
	}
	cancel()
	for _, p := range all {
		io.WriteString(p.Stdin(), "alive\n")
		if got := lines(t, p)(); got != "alive" {
			t.Errorf("the child answers %q", got)
		}
		if got := p.Shutdown(patient); got.Rung != RungEOF {
			t.Errorf("report: %+v", got)
		}
		p.Stdout().Close()
	}
}

// An entry that is not NAME=VALUE may be a secret as a whole: no error shows it.
func TestEntriesWithoutAName(t *testing.T) {
	for entry, want := range map[string]string{
		"NAME=sec\x00ret": `"NAME"`,
		"sec\x00ret":      `"number 2"`,
		"\x00secret":      `"number 2"`,
		"sec\x00ret=x":    `"number 2"`,
		"=sec\x00ret":     `"number 2"`,
		"se cret=\x00":    `"number 2"`,
	} {
		spec := shell(t, "true")
		spec.Env = append(spec.Env[:1], entry)
		_, err := Start(t.Context(), spec)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sec") {
			t.Errorf("%q: %v", entry, err)
		}
	}
}
