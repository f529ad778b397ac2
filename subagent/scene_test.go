package subagent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// hang bounds whatever is waited for; reaching it means that it will not come.
const hang = 20 * time.Second

// shortGraces are for agents that do not go by themselves. Those that do are given
// the default ones: they cost them nothing, and a slow machine does not matter.
var shortGraces = client.Graces{
	Cancel: 500 * time.Millisecond, EOF: time.Second, Term: time.Second, Kill: 2 * time.Second,
}

// raceEnv keeps a program built with the race detector, which this test binary is,
// from sleeping for a second when it exits.
var raceEnv = []string{"GORACE=atexit_sleep_ms=0"}

// scripted returns a provider of an agent that follows the script, with these
// variables set for it.
func scripted(t testing.TB, src string, o *subagent.ACPOptions, env ...string) subagent.Provider {
	t.Helper()
	return provider(t, command(t, src, env...), o)
}

// command is that of an agent that follows the script.
func command(t testing.TB, src string, env ...string) client.Command {
	t.Helper()
	path, args := script.Command(t, src)
	return client.Command{Path: path, Args: args, Env: append(env, raceEnv...)}
}

func provider(t testing.TB, cmd client.Command, o *subagent.ACPOptions) subagent.Provider {
	t.Helper()
	p, err := subagent.NewACP("scripted", cmd, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// scene is a scripted agent, a directory that it works in, and what it has read.
type scene struct {
	testing.TB
	dir      string // canonical
	log      string // every line that the agent read; there as soon as it was started
	provider subagent.Provider
}

// play makes a scene of an agent that follows the script.
func play(t testing.TB, src string, o *subagent.ACPOptions, env ...string) *scene {
	t.Helper()
	s := &scene{TB: t, dir: canonical(t, t.TempDir()), log: filepath.Join(t.TempDir(), "wire")}
	s.provider = scripted(t, s.recording(src), o, env...)
	return s
}

// recording is the script of an agent that writes what it reads into the scene's log.
func (s *scene) recording(src string) string { return fmt.Sprintf("record %q\n%s", s.log, src) }

func canonical(t testing.TB, dir string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

func (s *scene) request(text string) subagent.Request {
	return subagent.Request{Dir: s.dir, Prompt: subagent.Text(text)}
}

// run carries out one task from start to close.
func (s *scene) run(text string) *subagent.Result { return s.do(s.request(text)) }

func (s *scene) do(req subagent.Request) *subagent.Result {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), hang)
	defer cancel()
	res, err := subagent.Delegate(ctx, s.provider, req)
	if err != nil {
		s.Fatalf("it did not start: %v", err)
	}
	return res
}

// start begins a run that is closed with the test.
func (s *scene) start(ctx context.Context) subagent.Run {
	s.Helper()
	run, err := s.provider.Start(ctx, s.request("go"))
	if err != nil {
		s.Fatalf("it did not start: %v", err)
	}
	s.Cleanup(func() { run.Close() })
	return run
}

// refused checks that a start fails, in time, with an error of that kind.
func (s *scene) refused(ctx context.Context, req subagent.Request, kind client.ErrorKind) *subagent.Error {
	s.Helper()
	ctx, cancel := context.WithTimeout(ctx, hang)
	defer cancel()
	run, err := s.provider.Start(ctx, req)
	if err == nil {
		run.Close()
		s.Fatalf("it was started, want an error of kind %q", kind)
	}
	return asError(s, err, kind)
}

func asError(t testing.TB, err error, kind client.ErrorKind) *subagent.Error {
	t.Helper()
	e, ok := errors.AsType[*subagent.Error](err)
	if !ok || e.Kind != kind {
		t.Fatalf("error %#v, want a *subagent.Error of kind %q", err, kind)
	}
	return e
}

// notSpawned checks that no process of the scene was ever started.
func (s *scene) notSpawned() {
	s.Helper()
	if s.exists(s.log) {
		s.Error("a process was started")
	}
}

// outcome waits for the run's outcome.
func outcome(t testing.TB, run subagent.Run) *subagent.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	res, err := run.Wait(ctx)
	if err != nil {
		t.Fatalf("there is no outcome: %v", err)
	}
	return res
}

// closed closes the run and checks that this does not hang.
func closed(t testing.TB, run subagent.Run) *subagent.Result {
	t.Helper()
	final := make(chan *subagent.Result, 1)
	go func() { final <- run.Close() }() // ends with Close
	select {
	case res := <-final:
		return res
	case <-time.After(hang):
		t.Fatal("Close hangs")
		return nil
	}
}

// ended checks how a run ended.
func ended(t testing.TB, res *subagent.Result, stop stopreason.Outcome, kind client.ErrorKind) {
	t.Helper()
	var got client.ErrorKind
	if res.Error != nil {
		got = res.Error.Kind
	}
	if res.Stop != stop || got != kind {
		t.Fatalf("stop %q, error %+v; want %q and an error of kind %q; stderr: %s", res.Stop, res.Error, stop, kind, res.StderrTail)
	}
}

// frame is a line that the agent read.
type frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// frames are the lines that the agent has read.
func (s *scene) frames() []frame {
	s.Helper()
	text, err := os.ReadFile(s.log)
	if err != nil {
		s.Fatal(err)
	}
	var frames []frame
	for line := range bytes.Lines(text) {
		var f frame
		if err := json.Unmarshal(line, &f); err != nil {
			s.Fatalf("the agent read %q: %v", line, err)
		}
		frames = append(frames, f)
	}
	return frames
}

// methods are those of the requests and notifications that the agent has read.
func (s *scene) methods() string {
	s.Helper()
	var methods []string
	for _, f := range s.frames() {
		if f.Method != "" {
			methods = append(methods, f.Method)
		}
	}
	return strings.Join(methods, " ")
}

// params are those of the only message of that method.
func (s *scene) params(method string) string {
	s.Helper()
	found := ""
	for _, f := range s.frames() {
		if f.Method == method {
			if found != "" {
				s.Errorf("%s was sent twice", method)
			}
			found = string(f.Params)
		}
	}
	if found == "" {
		s.Fatalf("%s was not sent", method)
	}
	return found
}

// answers are the results and errors that the agent was sent.
func (s *scene) answers() []string {
	s.Helper()
	var answers []string
	for _, f := range s.frames() {
		if f.Method == "" {
			answers = append(answers, string(f.Result)+string(f.Error))
		}
	}
	return answers
}

// file is the content of a file, in the scene's directory if it is not absolute.
func (s *scene) file(name string) string {
	s.Helper()
	text, err := os.ReadFile(s.path(name))
	if err != nil {
		s.Fatal(err)
	}
	return string(text)
}

func (s *scene) exists(name string) bool {
	s.Helper()
	_, err := os.Lstat(s.path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.Fatal(err)
	}
	return err == nil
}

func (s *scene) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.dir, name)
}

// touch makes a file that the agent waits for.
func (s *scene) touch(name string) {
	s.Helper()
	if err := os.WriteFile(s.path(name), nil, 0o600); err != nil {
		s.Fatal(err)
	}
}

// await waits until the agent has made a file.
func (s *scene) await(name string) {
	s.Helper()
	until(s, name, func() bool { return s.exists(name) })
}

// until polls for what no channel tells.
func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(hang); !condition(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: it does not come", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// pid is the process id that the agent has written into a file.
func (s *scene) pid(name string) int {
	s.Helper()
	pid, err := strconv.Atoi(s.file(name))
	if err != nil {
		s.Fatal(err)
	}
	return pid
}

// reaped checks that a child of ours has ended and was reaped.
func reaped(t testing.TB, pid int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		gone(t, pid)
	} else if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		t.Errorf("process %d is still there: %s", pid, stat)
	}
}

// gone checks that a process has ended. A zombie whose parent has not looked yet has.
func gone(t testing.TB, pid int) {
	t.Helper()
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		if _, state, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(state, "Z") {
			t.Errorf("process %d is still there: %s", pid, stat)
		}
		return
	}
	if runtime.GOOS == "linux" || runtime.GOOS == "windows" {
		return // a pid of Windows cannot be asked after without a risk of error
	}
	if p, err := os.FindProcess(pid); err == nil && p.Signal(syscall.Signal(0)) == nil {
		t.Errorf("process %d is still there", pid)
	}
}
