package subagent_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// tellsPID is the beginning of a script whose agent says by a file which process it is.
const tellsPID = "on start; write \"pid-$pid\"\n"

// processes are those that have told their ids in a directory: how many there were, and
// which are alive.
func processes(t testing.TB, dir string) (all int, alive []int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "pid-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		var pid int
		fmt.Sscanf(filepath.Base(name), "pid-%d", &pid)
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil && !bytes.Contains(stat, []byte(") Z ")) {
			alive = append(alive, pid)
		}
	}
	return len(names), alive
}

// A spare that dies is replaced, and nobody gets a dead one.
func TestSpareThatDies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := pool(t, tellsPID+`on session/prompt; text "yes"`, nil, &subagent.PoolOptions{Dirs: []string{dir}})
	for n := 1; n <= 3; n++ {
		ready(t, p, 1)
		_, alive := processes(t, dir)
		if len(alive) != 1 {
			t.Fatalf("alive: %v, want one", alive)
		}
		if err := unix.Kill(alive[0], unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		until(t, "its death", func() bool { _, now := processes(t, dir); return !slices.Contains(now, alive[0]) })
		res := in(t, p, dir)
		ended(t, res, stopreason.Completed, "")
		check.Equal(t, "output", res.Output, "yes")
	}
}

// Where spares die at once they are tried less and less often, and runs are started as any
// others.
func TestSparesThatDieAtOnce(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"before the session": "on session/new; raise KILL\n",
		"after it":           "on session/new; reply {\"sessionId\":\"s\"}; raise KILL\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			log := &logged{}
			begin := time.Now()
			p := pool(t, tellsPID+src, &subagent.ACPOptions{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}, &subagent.PoolOptions{Dirs: []string{dir}})
			until(t, "three of them", func() bool { all, _ := processes(t, dir); return all >= 3 })
			if took := time.Since(begin); took < 700*time.Millisecond {
				t.Errorf("three spares were made within %v", took)
			}
			until(t, "what the log says", func() bool { return strings.Contains(log.String(), "spare agent") })
			p.Close()
			if _, alive := processes(t, dir); len(alive) > 0 {
				t.Errorf("alive: %v", alive)
			}
		})
	}
}

// logged is what was written.
type logged struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// One that is too old makes place for another; there is never more than one.
func TestSpareThatIsOld(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := pool(t, tellsPID+`on session/prompt; text "yes"`, nil, &subagent.PoolOptions{Dirs: []string{dir}, MaxAge: 50 * time.Millisecond})
	for all := 0; all < 4; {
		var alive []int
		if all, alive = processes(t, dir); len(alive) > 1 {
			t.Fatalf("alive: %v", alive)
		}
		time.Sleep(time.Millisecond)
	}
	ended(t, in(t, p, dir), stopreason.Completed, "")
}

// A directory that nobody comes to any more is forgotten.
func TestDirectoryThatIsForgotten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := pool(t, tellsPID+`on session/prompt; text "yes"`, nil, &subagent.PoolOptions{MaxAge: 50 * time.Millisecond})
	ended(t, in(t, p, dir), stopreason.Completed, "")
	until(t, "a spare", func() bool { all, _ := processes(t, dir); return all >= 2 })
	until(t, "the end of it", func() bool { _, alive := processes(t, dir); return len(alive) == 0 })
	all, _ := processes(t, dir)
	ready(t, p, 0)
	p.Close() // waits for whoever is at work
	if now, _ := processes(t, dir); now != all {
		t.Errorf("there were %d processes, and then %d", all, now)
	}
}

// However many directories runs are started in, no more spares live than are allowed.
func TestSparesAreBounded(t *testing.T) {
	t.Parallel()
	p := pool(t, tellsPID+`on session/prompt; text "yes"`, nil, &subagent.PoolOptions{Recent: 2, Spares: 2})
	var dirs []string
	for range 6 {
		dir := t.TempDir()
		dirs = append(dirs, dir)
		ended(t, in(t, p, dir), stopreason.Completed, "")
		n := 0
		for _, dir := range dirs {
			_, alive := processes(t, dir)
			n += len(alive)
		}
		if n > 4 {
			t.Fatalf("%d spares, no more than 4 are allowed", n)
		}
	}
	ready(t, p, 4)
}

// A program that was replaced by another is not what waits in a spare.
func TestSpareOfAnOldProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := command(t, `on session/prompt; text "$env.WHICH"`)
	program := filepath.Join(t.TempDir(), "agent")
	write := func(which string) {
		t.Helper()
		text := "#!/bin/sh\nWHICH=" + which + " exec '" + cmd.Path + "' \"$@\"\n"
		if err := os.WriteFile(program+"~", []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(program+"~", program); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	own := cmd
	own.Path = program
	p := poolOf(t, own, nil, &subagent.PoolOptions{Dirs: []string{dir}})
	ready(t, p, 1)
	write("second")
	check.Equal(t, "which", in(t, p, dir).Output, "second")
	ready(t, p, 1)
	res := in(t, p, dir)
	check.Equal(t, "which", res.Output, "second")
	check.Equal(t, "prewarmed", res.Prewarmed, true)
}

// poolVariable makes this test binary a program with a pool in that directory.
const poolVariable = "ERRAND_TEST_POOL"

func init() {
	dir, ok := os.LookupEnv(poolVariable)
	if !ok {
		return
	}
	os.Unsetenv(poolVariable) // its agents are agents
	path, args := script.Command(must{}, tellsPID+"ignore TERM; on eof; wait forever")
	cmd := chainCommand("self")
	cmd.Path, cmd.Args = path, args
	if _, err := subagent.NewPool("p", cmd, nil, &subagent.PoolOptions{Dirs: []string{dir}, Spares: 2}); err != nil {
		panic(err)
	}
	time.Sleep(time.Hour)
}

// must is the test of a program that has none.
type must struct{}

func (must) Helper()           {}
func (must) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// Spares die with the program that keeps them.
func TestParentOfSparesIsKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), append(raceEnv, poolVariable+"="+dir)...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	until(t, "two spares", func() bool { _, alive := processes(t, dir); return len(alive) == 2 })
	cmd.Process.Kill()
	until(t, "their end", func() bool { _, alive := processes(t, dir); return len(alive) == 0 })
}
