//go:build unix

package journal_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/journal"
	"github.com/errand-acp/errand/internal/leak"
)

// writeFor, in the environment, makes the test binary a program that keeps a journal in
// the directory that it names until it is killed.
const writeFor = "ERRAND_TEST_JOURNAL"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writeFor); dir != "" {
		j, err := journal.Create(dir, two)
		if err != nil {
			panic(err)
		}
		line := []byte(strings.Repeat("x", 100_000))
		for n := 0; ; n++ {
			if err := j.Run(0).Append(line); err != nil {
				panic(err)
			}
			if n == 10 {
				if err := j.Run(1).End([]byte("done")); err != nil {
					panic(err)
				}
				os.Stdout.WriteString("go\n")
			}
		}
	}
	leak.Main(m)
}

// Of a program that was killed everything is there but the line that it was at; and the
// journal is free.
func TestKilled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "j")
	self, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), writeFor+"="+dir)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	_, err = journal.Resume(dir, two)
	if err == nil {
		t.Error("a journal in use was opened")
	}
	must(t, cmd.Process.Signal(syscall.SIGKILL))
	cmd.Wait()

	j, err := journal.Resume(dir, two)
	must(t, err)
	defer j.Close()
	n := 0
	for line, err := range j.Run(0).Lines() {
		must(t, err)
		check.Equal(t, "a line's length", len(line), 100_000)
		n++
	}
	if n < 11 {
		t.Errorf("%d lines, it had written 11", n)
	}
	check.Equal(t, "the run that had ended", lines(t, j.Run(1)), "done")
}

// A write that fails leaves whole lines only, and the next one is tried.
func TestFullDisk(t *testing.T) {
	var was syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was))
	dir := filepath.Join(t.TempDir(), "j")
	j := create(t, dir)
	must(t, j.Run(0).Append([]byte("one")))
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 10, Max: was.Max}))
	err := j.Run(0).Append([]byte("is too long for it"))
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was))
	if err == nil {
		t.Error("nothing was said")
	}
	text, err := os.ReadFile(filepath.Join(dir, "0000.ndjson"))
	must(t, err)
	check.Equal(t, "the file", string(text), "one\n")
	must(t, j.Run(0).End([]byte("two")))
	check.Equal(t, "the lines", lines(t, j.Run(0)), "one two")
}

// A pipe in the place of a file is not waited for.
func TestPipe(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "j")
	j := create(t, dir)
	must(t, syscall.Mkfifo(filepath.Join(dir, "0000.ndjson"), 0o600))
	if err := j.Run(0).Append([]byte("x")); err == nil {
		t.Error("nothing was said")
	}
}
