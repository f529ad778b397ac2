package faults

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/subagent"
)

// parentVariable makes this binary a program that delegates. Its value is the script of
// the agents, a scripted one each; the arguments are a directory and a cross for each of
// the runs that it has at the same time.
const parentVariable = "ERRAND_TEST_PARENT"

// parentHook does not return in such a program, which waits to be killed.
func parentHook() {
	src, ok := os.LookupEnv(parentVariable)
	if !ok {
		return
	}
	os.Unsetenv(parentVariable) // its agents are none
	var runs sync.WaitGroup
	for range os.Args[2] {
		runs.Go(func() {
			// The threads that start runs come and go: this one goes with its goroutine.
			runtime.LockOSThread()
			path, args := script.Command(panics{}, src)
			provider, err := subagent.NewACP("scripted", client.Command{Path: path, Args: args}, &subagent.ACPOptions{StartTimeout: hang, Graces: patient})
			if err != nil {
				panic(err)
			}
			_, _ = subagent.Delegate(context.Background(), provider, subagent.Request{Dir: os.Args[1], Prompt: subagent.Text("go")})
		})
	}
	runs.Wait()
	syscall.Exit(0)
}

type panics struct{}

func (panics) Helper()           {}
func (panics) Fatal(args ...any) { panic(args) }

// parentRow is the one fault that is committed upon the whole program.
func parentRow() row {
	// Nobody heeds EOF or TERM.
	const deaf = `
		ignore TERM
		on session/prompt
		  spawn; ignore TERM; spawn; ignore TERM; append ready $pid; wait forever; end; wait forever; end
		  wait forever
		on eof; wait forever`
	return row{
		id: "L6", does: "the program that delegates is killed in mid turn",
		errand: "agent and child are gone within a second",
		noSDK:  "not a matter of the connection",
		forms: []form{
			{script: "l06-parent-dies", do: killedParent(1, "child.pid"), check: nobodyLeft},
			{name: "a grandchild that ignores TERM", script: deaf, do: killedParent(1, "ready"), check: nobodyLeft},
			{name: "eight runs at once", script: deaf, do: killedParent(8, "ready"), check: nobodyLeft},
			{name: "while it starts", script: "on initialize; spawn; append ready $pid; wait forever; end; never reply\non eof; wait forever", do: killedParent(1, "ready"), check: nobodyLeft},
			{name: "while it closes", script: "ignore TERM\non eof; spawn; ignore TERM; append ready $pid; wait forever; end; wait forever", do: killedParent(1, "ready"), check: nobodyLeft},
			{name: "behind a launcher", script: `
				spawn stdin stdout stderr
				  on session/prompt; append ready $pid; wait forever
				  on eof; wait forever
				end
				wait children`, do: killedParent(1, "ready"), check: nobodyLeft},
			{name: "an agent that has stopped", script: "on session/prompt; append ready $pid; raise STOP", do: killedParent(1, "ready"), check: nobodyLeft},
			{name: "a helper in a session of its own that waits for EOF", script: `
				on session/prompt
				  spawn session stdin; append ready $pid; on session/prompt; wait forever; end
				  wait forever`, do: killedParent(1, "ready"), check: nobodyLeft},
		},
	}
}

// killedParent has another program delegate, and kills it when as many processes have
// written their ids into a file.
func killedParent(runs int, ready string) func(*scene) {
	return func(s *scene) {
		if runtime.GOOS != "linux" {
			s.Skip("the life-line is Linux's")
		}
		self, err := os.Executable()
		if err != nil {
			s.Fatal(err)
		}
		cmd := exec.Command(self, s.dir, strings.Repeat("x", runs))
		cmd.Env = append(os.Environ(), parentVariable+"="+s.form.source(s), markVariable+"="+s.mark)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Start(); err != nil {
			s.Fatal(err)
		}
		s.until("all runs are under way", func() bool { return len(strings.Fields(s.file(ready))) == runs })
		cmd.Process.Kill()
		cmd.Wait()
	}
}

// nobodyLeft gives the processes of the scene time to end; that they have is checked of
// every scene.
func nobodyLeft(s *scene) {
	s.Helper()
	killed := time.Now()
	for len(marked(s.mark)) > 0 && time.Since(killed) < hang {
		time.Sleep(5 * time.Millisecond)
	}
}
