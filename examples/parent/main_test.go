package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/subagent"
)

// The test binary is the example where this is set, and an agent that follows a script
// where it is started as script.Command says.
const runMain = "ERRAND_EXAMPLE_MAIN"

func TestMain(m *testing.M) {
	script.Hook()
	if os.Getenv(runMain) != "" {
		main()
		return
	}
	if err := flag.Set("test.parallel", "4"); err != nil { // they mostly wait
		panic(err)
	}
	leak.Main(m)
}

// hang bounds whatever is waited for; reaching it means that it will not come.
const hang = 2 * time.Minute

// markVariable marks a tree of processes.
const markVariable = "ERRAND_TEST_MARK"

// tree is a tree of agents: parents, and at its leaves scripted agents.
type tree struct {
	*testing.T
	dir  string // of all sessions
	home string // agents' files, which no agent finds
	mark string
}

// plant makes a tree of which nothing may be left when the test ends.
func plant(t *testing.T) *tree {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("processes are found by /proc")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &tree{T: t, dir: dir, home: t.TempDir(), mark: markVariable + "=" + rand.Text()}
	t.Cleanup(func() {
		for pid, command := range w.alive() {
			t.Errorf("alive afterwards: %d %s", pid, command)
			if p, err := os.FindProcess(pid); err == nil {
				p.Kill()
			}
		}
	})
	return w
}

// alive are the processes of the tree, zombies not among them.
func (w *tree) alive() map[int]string {
	alive := map[int]string{}
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(env, []byte(w.mark+"\x00")) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		command, _ := os.ReadFile(filepath.Dir(file) + "/cmdline")
		alive[pid] = strings.ReplaceAll(string(command), "\x00", " ")
	}
	return alive
}

// scripted is the command of an agent that follows a script.
func (w *tree) scripted(src string) []string {
	w.Helper()
	path, args := script.Command(w, src)
	return append([]string{path}, args...)
}

// parent is the command of a parent of these agents.
func (w *tree) parent(agents map[string][]string, flags ...string) []string {
	w.Helper()
	return w.parentOf(filepath.Join(w.home, rand.Text()+".json"), agents, flags...)
}

// parentOf is parent with the name of its file, which may be that of one of the agents.
func (w *tree) parentOf(file string, agents map[string][]string, flags ...string) []string {
	w.Helper()
	type agent struct {
		Command []string `json:"command"`
	}
	list := map[string]agent{}
	for name, command := range agents {
		list[name] = agent{command}
	}
	text, err := json.Marshal(list)
	if err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		w.Fatal(err)
	}
	return append(append([]string{w.self()}, flags...), file)
}

func (w *tree) self() string {
	self, err := os.Executable()
	if err != nil {
		w.Fatal(err)
	}
	return self
}

// levels puts so many parents above an agent.
func (w *tree) levels(n int, agent []string) []string {
	for range n {
		agent = w.parent(map[string][]string{"next": agent})
	}
	return agent
}

// env is the environment of the tree.
func (w *tree) env(more ...string) []string {
	return append(append(os.Environ(), runMain+"=1", w.mark, "GORACE=atexit_sleep_ms=0"), more...)
}

// command is errand run, with an agent.
func (w *tree) command(errand string, agent []string, flags ...string) *exec.Cmd {
	args := append([]string{"run", "--json", "--dir", w.dir}, flags...)
	cmd := exec.Command(errand, append(append(args, "a task", "--"), agent...)...)
	cmd.Env = w.env()
	return cmd
}

// run runs a command, an errand run, to its end, and returns its status and its result.
func (w *tree) run(cmd *exec.Cmd) (int, *subagent.Result) {
	w.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	return w.wait(cmd)
}

// wait waits for a command that run, or somebody like it, has started.
func (w *tree) wait(cmd *exec.Cmd) (int, *subagent.Result) {
	w.Helper()
	hung := time.AfterFunc(hang, func() { cmd.Process.Kill() })
	_ = cmd.Wait() // the status tells
	if !hung.Stop() {
		w.Fatalf("it hangs; stderr:\n%s", cmd.Stderr)
	}
	// What ended at the same time may be a moment from being seen as ended.
	for deadline := time.Now().Add(10 * time.Second); len(w.alive()) > 0 && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
	}
	for pid, command := range w.alive() {
		w.Errorf("alive after the run: %d %s", pid, command)
	}
	var res subagent.Result
	if err := json.Unmarshal(cmd.Stdout.(*bytes.Buffer).Bytes(), &res); err != nil {
		w.Fatalf("%v: stdout %s\nstderr: %s", err, cmd.Stdout, cmd.Stderr)
	}
	return cmd.ProcessState.ExitCode(), &res
}

// await waits until there is a file of that name in the tree's directory, with so many words.
func (w *tree) await(name string, words int) {
	w.Helper()
	for deadline := time.Now().Add(hang); len(strings.Fields(w.file(name))) < words; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("%s does not come", name)
		}
	}
}

func (w *tree) file(name string) string {
	text, _ := os.ReadFile(filepath.Join(w.dir, name)) // empty if there is none
	return string(text)
}

// build builds the command line.
func build(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "errand")
	if out, err := exec.Command("go", "build", "-o", file, "github.com/errand-acp/errand/cmd/errand").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}
