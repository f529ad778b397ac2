package traces

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Traces are those of one scripted agent. What is not as it must be is told to the test.
type Traces struct {
	testing.TB
	// Dir is the agent's directory, canonical. The files that are named are in it where
	// the name is not absolute.
	Dir string
	// Wire is the file that the agent writes every line into that it reads. It is there
	// as soon as the agent was started, and not in Dir.
	Wire string
}

// New returns the traces of an agent that is still to be started, in a directory that
// ends with the test.
func New(t testing.TB) *Traces {
	t.Helper()
	return &Traces{TB: t, Dir: Canonical(t, t.TempDir()), Wire: filepath.Join(t.TempDir(), "wire")}
}

// Canonical is the directory without symlinks, as an agent is told it.
func Canonical(t testing.TB, dir string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

// Recording is the script of an agent that does the same and writes Wire.
func (tr *Traces) Recording(src string) string { return fmt.Sprintf("record %q\n%s", tr.Wire, src) }

// NotStarted checks that the agent was never started.
func (tr *Traces) NotStarted() {
	tr.Helper()
	if tr.Exists(tr.Wire) {
		tr.Error("a process was started")
	}
}

// Frames are the lines that the agent has read so far.
func (tr *Traces) Frames() []Frame {
	tr.Helper()
	frames, err := Parse(tr.File(tr.Wire))
	if err != nil {
		tr.Fatal(err)
	}
	return frames
}

// Params are those of the only message of that method that the agent has read.
func (tr *Traces) Params(method string) string {
	tr.Helper()
	var found []Frame
	for _, f := range tr.Frames() {
		if f.Method == method {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		tr.Fatalf("%s was sent %d times, want once", method, len(found))
	}
	return string(found[0].Params)
}

// File is the content of a file.
func (tr *Traces) File(name string) string {
	tr.Helper()
	text, err := os.ReadFile(tr.Path(name))
	if err != nil {
		tr.Fatal(err)
	}
	return string(text)
}

// Exists reports whether there is a file of that name.
func (tr *Traces) Exists(name string) bool {
	tr.Helper()
	_, err := os.Lstat(tr.Path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		tr.Fatal(err)
	}
	return err == nil
}

// Touch makes a file that the agent waits for.
func (tr *Traces) Touch(name string) {
	tr.Helper()
	if err := os.WriteFile(tr.Path(name), nil, 0o600); err != nil {
		tr.Fatal(err)
	}
}

// Await waits until the agent has made a file, and returns its content.
func (tr *Traces) Await(name string) string {
	tr.Helper()
	Until(tr, "a file "+name, func() bool { return tr.Exists(name) })
	return tr.File(name)
}

// PID is the process id in a file.
func (tr *Traces) PID(name string) int {
	tr.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(tr.File(name)))
	if err != nil {
		tr.Fatalf("%s holds no process id: %v", name, err)
	}
	return pid
}

// Path is the file that a name stands for.
func (tr *Traces) Path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(tr.Dir, name)
}

// hang bounds what is waited for; reaching it means that it will not come.
const hang = time.Minute

// Until polls for what no channel tells. That it never comes is fatal for the test.
func Until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(hang)
	for pause := 50 * time.Microsecond; !condition(); pause = min(2*pause, time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not come in %v: %s", hang, what)
		}
		time.Sleep(pause)
	}
}
