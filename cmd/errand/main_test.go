package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/internal/script/built"
	"github.com/errand-acp/errand/subagent"
)

// asErrand, in the environment, makes the test binary the program.
const asErrand = "ERRAND_TEST_AS_ERRAND"

func TestMain(m *testing.M) {
	script.Hook() // before all else: an agent's helper may have an empty environment
	if os.Getenv(asErrand) != "" {
		main()
	}
	if err := flag.Set("test.parallel", "6"); err != nil { // they mostly wait
		panic(err)
	}
	leak.Main(built.Agent(m))
}

// tooLong is how long a run may take before it counts as hanging.
const tooLong = 2 * time.Minute

// program is an invocation of the real program, in a directory of its own, with an
// environment of its own.
type program struct {
	t     *testing.T
	mark  string // in the environment of the program and of all that it starts
	Dir   string
	Env   []string // beyond the bare ones
	Stdin io.Reader
}

func newProgram(t *testing.T) *program {
	t.Helper()
	p := &program{t: t, mark: "ERRAND_TEST_MARK=" + rand.Text(), Dir: t.TempDir()}
	t.Cleanup(func() {
		for pid, command := range survivors(p.mark, p.Dir) {
			t.Errorf("alive after the run: %d %s", pid, command)
			if self, err := os.FindProcess(pid); err == nil {
				self.Kill()
			}
		}
	})
	return p
}

// command is the program with these arguments.
func (p *program) command(args ...string) *exec.Cmd {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), tooLong)
	p.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir, cmd.Stdin = p.Dir, p.Stdin
	cmd.Env = append([]string{
		asErrand + "=1", p.mark, "PATH=" + os.Getenv("PATH"), "HOME=" + p.Dir,
		// A program with the race detector sleeps for a second when it exits.
		"GORACE=atexit_sleep_ms=0",
	}, p.Env...)
	return cmd
}

// outcome is what came of an invocation.
type outcome struct {
	stdout, stderr string
	status         int
}

func (p *program) run(args ...string) outcome {
	p.t.Helper()
	cmd := p.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok || ok && !exit.Exited() {
		p.t.Fatalf("errand %q: %v\n%s", args, err, &stderr)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// awaitFile waits until an agent has made a file in the program's directory.
func (p *program) awaitFile(name string) {
	p.t.Helper()
	for deadline := time.Now().Add(tooLong); !exists(p.Dir, name); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("%s was not made", name)
		}
	}
}

// scripted returns "--" and a command that follows the script.
func scripted(t *testing.T, src string) []string {
	t.Helper()
	path, args := script.Command(t, src)
	return append([]string{"--", path}, args...)
}

// result reads the one object that --json prints.
func (o outcome) result(t *testing.T) *subagent.Result {
	t.Helper()
	var res subagent.Result
	d := json.NewDecoder(strings.NewReader(o.stdout))
	if err := d.Decode(&res); err != nil {
		t.Fatalf("stdout is no result: %v\n%s\nstderr: %s", err, o.stdout, o.stderr)
	}
	if rest, _ := io.ReadAll(d.Buffered()); strings.TrimSpace(string(rest)) != "" {
		t.Errorf("after the result stdout has %q", rest)
	}
	return &res
}

// events reads what --events prints.
func (o outcome) events(t *testing.T) []subagent.Event {
	t.Helper()
	var events []subagent.Event
	for line := range strings.Lines(o.stdout) {
		var e subagent.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		events = append(events, e)
	}
	return events
}

// has reports an error for each text that is not in got.
func has(t *testing.T, what, got string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(got, text) {
			t.Errorf("%s lacks %q:\n%s", what, text, got)
		}
	}
}

func readFile(t *testing.T, elem ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func exists(elem ...string) bool {
	_, err := os.Lstat(filepath.Join(elem...))
	return err == nil
}

// survivors returns the processes that have mark in their environment, or work in dir
// with an empty one, where there is a /proc to look at. One that is going is given a
// moment.
func survivors(mark, dir string) map[int]string {
	dir, _ = filepath.EvalSymlinks(dir)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		alive := map[int]string{}
		environs, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, file := range environs {
			proc := filepath.Dir(file)
			env, err := os.ReadFile(file)
			mine := bytes.Contains(env, []byte(mark+"\x00"))
			if err == nil && len(env) == 0 {
				cwd, err := os.Readlink(proc + "/cwd")
				mine = err == nil && strings.TrimSuffix(cwd, " (deleted)") == dir
			}
			if pid, err := strconv.Atoi(filepath.Base(proc)); err == nil && mine {
				command, _ := os.ReadFile(proc + "/cmdline")
				alive[pid] = strings.ReplaceAll(string(command), "\x00", " ")
			}
		}
		if len(alive) == 0 || time.Now().After(deadline) {
			return alive
		}
	}
}
