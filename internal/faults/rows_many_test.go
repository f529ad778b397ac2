package faults

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/subagent"
)

// startsFailRow is about slots of runs that never were.
func startsFailRow() row {
	// fails has the start fail as want says, by an agent of a script, or as change says.
	fails := func(name, script, want string, change func(s *scene, t *subagent.Task)) form {
		if want != "" {
			want = "10 times " + want + "\ncompleted; \"done: eleventh\"; 1 updates; exit status 0"
		}
		return form{name: name, script: script, do: tenStarts(change), want: want, check: func(s *scene) {
			for _, r := range s.results[:10] {
				if r.Stop != "error" && r.Stop != "aborted" {
					s.Errorf("a start has not failed: %s", (&scene{result: r}).summary())
				}
			}
			s.completed(s.results[10], "done: eleventh")
		}}
	}
	command := func(cmd client.Command) func(*scene, *subagent.Task) {
		return func(s *scene, t *subagent.Task) { t.Provider = s.providerOf(cmd) }
	}
	return row{
		id: "L14", does: "10 runs whose start fails, 2 at once at most, and an 11th", noSDK: notOne,
		errand: "10 errors, and the 11th has a slot; then there are two",
		forms: []form{
			fails("", "l14-start-fails", "error: agent at session/new; no text; exit status 0", nil),
			fails("there is no such program", "", "error: spawn at spawn; no text", command(client.Command{Path: "/no/such/agent"})),
			fails("it is none", "", "error: spawn at spawn; no text", command(client.Command{Path: "/dev/null"})),
			fails("it dies at once", "exit 3", "error: exit at initialize; no text; exit status 3", nil),
			fails("it dies on initialize", "on initialize; raise KILL", "error: exit at initialize; no text; signal SIGKILL", nil),
			fails("it speaks another version", `on initialize; answer {"protocolVersion": 2}`, "error: version at initialize; no text; exit status 0", nil),
			fails("it wants a login", `on session/new; fail -32000 "log in"`, "error: auth_required at session/new; no text; exit status 0", nil),
			fails("it dies on session/new", "on session/new; exit 4", "error: exit at session/new; no text; exit status 4", nil),
			fails("it never answers", "on initialize; never reply", "error: startup_timeout at initialize; no text; exit status 0", func(s *scene, t *subagent.Task) {
				s.opts.StartTimeout = 300 * time.Millisecond
				t.Provider = s.acp()
			}),
			fails("it does not take the prompt", "", "error: capability at session/prompt; no text; exit status 0", func(_ *scene, t *subagent.Task) {
				t.Request.Prompt = []acp.ContentBlock{acp.ImageBlock("aGk=", "image/png")}
			}),
			fails("there is no such directory", "", "error: config at config; no text", func(s *scene, t *subagent.Task) { t.Request.Dir = s.dir + "/missing" }),
			fails("it is asked for what it cannot do", "", "error: capability at config; no text", func(_ *scene, t *subagent.Task) { t.Request.Model = "another" }),
			fails("it is cancelled", "on session/new; never reply", "", func(_ *scene, t *subagent.Task) { t.Provider = impatient{t.Provider} }),
			fails("it panics", "", "error: agent at spawn; no text", func(_ *scene, t *subagent.Task) { t.Provider = panicking{t.Provider} }),
		},
	}
}

// tenStarts carries out ten tasks, to which change has been made, and then one of an
// agent of the same command that completes, two at once at most. Then it looks whether both
// slots are free.
func tenStarts(change func(*scene, *subagent.Task)) func(*scene) {
	return func(s *scene) {
		limits, err := subagent.NewLimits(subagent.LimitOptions{Runs: 2, PerProvider: 2, Starts: 2})
		s.must(err)
		good := limits.Provider(s.following(`on session/prompt; text "done: $prompt"`))
		list := s.tasks("1 2 3 4 5 6 7 8 9 10 eleventh")
		for i := range list[:10] {
			if change != nil {
				change(s, &list[i])
			}
			list[i].Provider = limits.Provider(list[i].Provider)
		}
		list[10].Provider = good
		s.gather(list, &subagent.FanOutOptions{Limit: 2})

		ctx, cancel := s.bounded()
		defer cancel()
		for range 2 {
			run, err := good.Start(ctx, list[10].Request)
			if err != nil {
				s.Fatalf("there are not two slots: %v", err)
			}
			defer run.Close()
		}
	}
}

// impatient is a provider whose starts are given up soon, wherever they are by then.
type impatient struct{ subagent.Provider }

func (p impatient) Start(ctx context.Context, req subagent.Request) (subagent.Run, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer time.AfterFunc(200*time.Millisecond, cancel).Stop()
	return p.Provider.Start(ctx, req)
}

// manyRunsRow is about what many runs leave in this process.
func manyRunsRow() row {
	return row{id: "L15", does: "200 runs in a row, and 50 at once", noSDK: notOne, forms: []form{
		{script: "on session/prompt; stderr noise; noise noise; permission c1 Write; option r reject_once No; end; text \"an answer\"", alone: true,
			do: func(s *scene) {
				p := s.acp()
				s.leavesNothing(200, 50, func(int) subagent.Task { return subagent.Task{Provider: p, Request: s.request} }, func(_ int, r *subagent.Result) {
					s.result = r
					check.Equal(s, "result", s.summary(), s.form.want)
				})
			},
			want: `completed; "an answer"; 1 updates; 1 lines of noise; denied; exit status 0`},
		{name: "that end in every way", script: "f02-as-told", alone: true, do: endInEveryWay, check: func(s *scene) {
			left, err := os.ReadDir(s.dir + "/homes")
			if err != nil || len(left) > 0 {
				s.Errorf("homes are left: %v, %v", left, err)
			}
		}},
	}}
}

// endInEveryWay has runs that complete, crash, are refused, cancelled, do not start, or have
// started something, each in a home of its own.
func endInEveryWay(s *scene) {
	mkdir(s, s.dir+"/homes")
	s.opts.Home = &subagent.Home{Parent: s.dir + "/homes"}
	words := "crash refuse a hang b missing none helper"
	list := s.tasks(words)
	list[3].Provider = givesUp{list[3].Provider}
	list[5].Provider = s.providerOf(client.Command{Path: "/no/such/agent"})
	list[6].Provider = s.following("on session/new; fail -32603 no")
	list[7].Provider = s.following(`on session/prompt; spawn session; ignore TERM; write "$pid.up"; wait forever; end; wait file "$child.up"; text up`)
	want := []string{
		`error: exit at session/prompt; "half"; 1 updates; signal SIGKILL`, "refusal; no text; exit status 0", `completed; "done: a"; 1 updates; exit status 0`,
		`aborted; "half"; 1 updates; exit status 0`, `completed; "done: b"; 1 updates; exit status 0`, "error: spawn at spawn; no text", "error: agent at session/new; no text; exit status 0",
		`completed; "up"; 1 updates; exit status 0`,
	}
	s.leavesNothing(5*len(list), 50, func(i int) subagent.Task { return list[i%len(list)] }, func(i int, r *subagent.Result) {
		check.Equal(s, "run "+s.prompts[i%len(list)], (&scene{result: r}).summary(), want[i%len(list)])
	})
}

// givesUp is a provider whose runs are cancelled when they have said something.
type givesUp struct{ subagent.Provider }

func (p givesUp) Start(ctx context.Context, req subagent.Request) (subagent.Run, error) {
	ctx, cancel := context.WithCancel(ctx)
	req.Events = func(e subagent.Event) {
		switch e.Type {
		case subagent.EventUpdate, subagent.EventEnd:
			cancel()
		}
	}
	run, err := p.Provider.Start(ctx, req)
	if err != nil {
		cancel()
	}
	return run, err
}

// leavesNothing carries out so many tasks in a row, and so many at once, and checks that
// they leave nothing in this process. ended is told the results.
func (s *scene) leavesNothing(inARow, atOnce int, task func(i int) subagent.Task, ended func(i int, r *subagent.Result)) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 4*hang)
	defer cancel()
	carryOut := func(n, limit int) {
		list := make([]subagent.Task, n)
		for i := range list {
			list[i] = task(i)
		}
		for i, res := range subagent.FanOut(ctx, list, &subagent.FanOutOptions{Limit: limit}) {
			ended(i, res)
		}
	}
	carryOut(1, 1) // what is made once, is
	before, goroutines := leak.Snapshot(), runtime.NumGoroutine()
	for _, tt := range []struct {
		what     string
		n, limit int
	}{{"in a row", inARow, 1}, {"at once", atOnce, subagent.NoLimit}} {
		carryOut(tt.n, tt.limit)
		if err := before.Check(); err != nil {
			s.Errorf("%s: %v", tt.what, err)
		}
		s.until(fmt.Sprintf("%s: %d goroutines", tt.what, goroutines), func() bool { return runtime.NumGoroutine() <= goroutines })
		if left := marked(s.mark); len(left) > 0 {
			s.Errorf("%s: processes are left: %v", tt.what, left)
		}
	}
}
