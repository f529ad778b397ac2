package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/internal/traces"
)

// parentVariable makes the test binary a program that uses agents, see parent.
const parentVariable = "ERRAND_TEST_CLIENT_PARENT"

// order is what such a program is to do.
type order struct {
	Dirs   []string // those of its agents
	Src    string   // the script of each
	Prompt string   // given to each in turn; empty: they are only there
	Close  string   // when there is this file, the agent in the first directory is closed; then there is one with a d after its name
}

// init, because the agents of this binary begin in TestMain.
func init() {
	text, ok := os.LookupEnv(parentVariable)
	if !ok {
		return
	}
	os.Unsetenv(parentVariable) // its agents are agents
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	parent(o)
}

// parent starts an agent in each directory, each on a thread that ends, and prompts them
// when those threads have. It goes on until it is killed.
func parent(o order) {
	agents := make([]*client.Agent, len(o.Dirs))
	sessions := make([]*client.Session, len(o.Dirs))
	var started sync.WaitGroup
	for i, dir := range o.Dirs {
		started.Go(func() {
			runtime.LockOSThread() // never unlocked: the thread ends
			path, args := script.Command(must{}, o.Src)
			a, err := client.Start(context.Background(), client.Command{Path: path, Args: args, Dir: dir}, nil)
			if err != nil {
				panic(err)
			}
			session, err := a.NewSession(context.Background(), nil)
			if err != nil {
				panic(err)
			}
			agents[i], sessions[i] = a, session
		})
	}
	started.Wait()
	for _, session := range sessions {
		go session.Prompt(context.Background(), textPrompt(o.Prompt), nil) // ends with the program
	}
	for o.Close != "" {
		time.Sleep(time.Millisecond)
		if _, err := os.Stat(o.Close); err == nil {
			r := agents[0].Close()
			err := errors.Join( // it appears whole
				os.WriteFile(o.Close+"~", []byte(strings.Join(r.Leftover, "\n")), 0o600),
				os.Rename(o.Close+"~", o.Close+"d"))
			if err != nil {
				panic(err)
			}
			break
		}
	}
	time.Sleep(time.Hour) // select would be a deadlock
}

// must is the test of a program that has none.
type must struct{}

func (must) Helper()           {}
func (must) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// parentCommand is that of such a program.
func parentCommand(t testing.TB, o order) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	text, err2 := json.Marshal(o)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), parentVariable+"="+string(text), "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	return cmd
}

// A program that is killed in mid prompt takes its agents with it, and of their groups
// who is deaf to SIGTERM and who has stopped. Until then none dies because the thread
// has ended that started it.
func TestParentIsKilled(t *testing.T) {
	t.Parallel()
	const promised = time.Second
	var o order
	var scenes []*scene
	for range 4 {
		s := &scene{Traces: traces.New(t)}
		scenes, o.Dirs = append(scenes, s), append(o.Dirs, s.Dir)
	}
	o.Prompt = "go"
	o.Src = `ignore TERM
		on session/prompt
			spawn
				ignore TERM
				spawn
					ignore TERM
					ignore HUP
					write grandchild "$pid"
					wait forever
				end
				write child "$pid"
				raise STOP
			end
			wait file grandchild
			wait file child
			write leader "$pid"
			wait forever
		on eof; wait forever`
	cmd := parentCommand(t, o)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	var all []held
	for _, s := range scenes {
		for _, name := range []string{"leader", "child", "grandchild"} {
			all = append(all, s.hold(name))
		}
	}
	for _, h := range all {
		h.there()
	}
	cmd.Process.Kill()
	deadline := time.Now().Add(10 * promised) // later, and it is a hang
	for _, h := range all {
		if !h.ends(time.Until(deadline)) {
			t.Errorf("%s, process %d, outlives the program", h.name, h.pid)
		}
	}
}

// An Errand inside of an agent ends its own and nobody else's while it is at work; the
// end of the agent around it ends them all.
func TestNestedErrand(t *testing.T) {
	t.Parallel()
	inner := []*scene{{Traces: traces.New(t)}, {Traces: traces.New(t)}}
	src := "on session/prompt\n" + daemon("daemon") + "write leader \"$pid\"\nwait forever"
	file := filepath.Join(t.TempDir(), "close")
	nested := parentCommand(t, order{Dirs: []string{inner[0].Dir, inner[1].Dir}, Src: src, Prompt: "go", Close: file})

	// The agent around it is started by a shell that starts the nested program too.
	outer := play(t, "on session/prompt\n"+daemon("daemon"))
	env := nested.Env[slices.IndexFunc(nested.Env, func(e string) bool { return strings.HasPrefix(e, parentVariable+"=") })]
	outer.command.Env = append(outer.command.Env, "NESTED="+strings.TrimPrefix(env, parentVariable+"="), "NESTED_PROGRAM="+nested.Path)
	outer.command.Args = append([]string{"-c", parentVariable + `="$NESTED" "$NESTED_PROGRAM" </dev/null >/dev/null & exec "$0" "$@"`, outer.command.Path}, outer.command.Args...)
	outer.command.Path = "sh"
	outer.opts.Graces = deafToEOF // as the nested program is
	outer.completes(outer.session(), "go", "end_turn")
	beside := play(t, "on session/prompt\n"+daemon("daemon"))
	beside.opts.Graces = patient
	beside.completes(beside.session(), "go", "end_turn")

	besides := beside.hold("daemon")
	outers := []held{hold(outer, "the agent around", outer.agent.PID()), outer.hold("daemon")}
	var inners [2][]held
	for i, s := range inner {
		inners[i] = []held{s.hold("leader"), s.hold("daemon")}
	}
	all := func(check func(held), lists ...[]held) {
		for _, list := range lists {
			for _, h := range list {
				check(h)
			}
		}
	}

	beside.close(beside.agent, client.RungEOF, "exit status 0")
	besides.gone()
	all(held.there, outers, inners[0], inners[1])

	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check.Equal(t, "leftover", outer.Await(file+"d"), "")
	all(held.gone, inners[0])
	all(held.there, outers, inners[1])

	outer.agent.Close()
	all(held.gone, outers, inners[1])
}
