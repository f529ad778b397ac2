package faults

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

const notOne = "not a matter of one connection"

// fanOutRows are about many runs at once.
func fanOutRows() []row {
	return []row{slowConsumerRow(), batchRow(), halfWayRow(), homesRow()}
}

// slowConsumerRow is about a consumer of one run that does nothing before the other runs
// are over.
func slowConsumerRow() row {
	// The first has more to say than is kept anywhere.
	const chunks, size = 3000, 4096
	const agent = `
		on session/prompt "first"
		  permission c1 "$prompt"; option yes allow_once Yes; end
		  burst 3000 x size=4096B
		on session/prompt
		  permission c1 "$prompt"; option yes allow_once Yes; end
		  text "done: $prompt"`
	whole := func(s *scene) {
		s.Helper()
		for i, r := range s.results {
			want := "done: " + strconv.Itoa(i)
			if i == 0 {
				want = filled("x", chunks*size)
			}
			check.Equal(s, "outcome", r.Stop, "completed")
			s.same("output", r.Output, want)
		}
	}
	slow := func(name string, n int, hold holder) form {
		return form{name: name, script: agent, given: allow, do: oneOf(n, hold), check: whole}
	}
	listens := func(at subagent.EventType) holder {
		return func(_ *scene, list []subagent.Task, others func()) {
			once := sync.OnceFunc(others)
			list[0].Request.Events = func(e subagent.Event) {
				if e.Type == at {
					once()
				}
			}
		}
	}
	return row{
		id: "F1", does: "a slow consumer of one run among 50", noSDK: notOne,
		errand: "the other 49 are over while it has not come to the second update; then its own is whole as well",
		forms: []form{
			slow("", 50, listens(subagent.EventUpdate)),
			slow("by Run.Updates", 50, func(_ *scene, list []subagent.Task, others func()) {
				once := sync.OnceFunc(others)
				list[0].Provider = readBy{list[0].Provider, func(run subagent.Run) {
					for range run.Updates() {
						once()
					}
				}}
			}),
			slow("by a policy that is everybody's", 12, func(s *scene, list []subagent.Task, others func()) {
				s.opts.Permission = permission.PolicyFunc(func(ctx context.Context, r permission.Request) permission.Decision {
					if *r.ToolCall.Title == "first" {
						others()
					}
					return permission.Allow().Decide(ctx, r)
				})
				shared := s.acp()
				for i := range list {
					list[i].Provider = shared
				}
			}),
			slow("at its start", 12, listens(subagent.EventStart)),
			slow("at a permission", 12, listens(subagent.EventPermission)),
			{name: "of the results", script: `on session/prompt; text "done: $prompt"`, do: slowLoop, check: func(s *scene) {
				for i, r := range s.results {
					s.completed(r, "done: "+strconv.Itoa(i))
				}
			}},
		},
	}
}

// holder has the consumer of the first of several tasks call others, which comes back when
// the rest of them are over.
type holder func(s *scene, list []subagent.Task, others func())

// oneOf carries out n tasks at once.
func oneOf(n int, hold holder) func(*scene) {
	return func(s *scene) {
		list := s.tasks("first " + strings.TrimSuffix(numbered("%d ", n-1), " "))
		over := make(chan struct{})
		hold(s, list, func() {
			select {
			case <-over:
			case <-time.After(hang):
				s.Error("the other runs do not go on")
			}
		})
		ctx, cancel := s.bounded()
		defer cancel()
		s.results = make([]*subagent.Result, n)
		left := n - 1
		for i, res := range subagent.FanOut(ctx, list, &subagent.FanOutOptions{Limit: subagent.NoLimit}) {
			s.results[i] = res
			if i == 0 {
				check.Equal(s, "runs that are not over when that of the slow consumer is", left, 0)
				continue
			}
			if left--; left == 0 {
				close(over)
			}
		}
	}
}

// slowLoop does not go on with the first result before all runs are over.
func slowLoop(s *scene) {
	list := s.tasks("0 " + numbered("%d ", 19))
	var ended atomic.Int64
	for i := range list {
		list[i].Request.Events = func(e subagent.Event) {
			if e.Type == subagent.EventEnd {
				ended.Add(1)
			}
		}
	}
	ctx, cancel := s.bounded()
	defer cancel()
	s.results = make([]*subagent.Result, len(list))
	for i, res := range subagent.FanOut(ctx, list, nil) {
		s.results[i] = res
		s.until("the end of all runs", func() bool { return int(ended.Load()) == len(list) })
	}
}

// readBy is a provider with a reader of each run's updates.
type readBy struct {
	subagent.Provider
	read func(subagent.Run)
}

func (p readBy) Start(ctx context.Context, req subagent.Request) (subagent.Run, error) {
	run, err := p.Provider.Start(ctx, req)
	if err != nil {
		return nil, err
	}
	r := &readRun{Run: run}
	r.reader.Go(func() { p.read(run) }) // ends with the turn; Close waits for it
	return r, nil
}

type readRun struct {
	subagent.Run
	reader sync.WaitGroup
}

func (r *readRun) Close() *subagent.Result {
	defer r.reader.Wait()
	return r.Run.Close()
}

// batchRow is about runs that fail, each in its own way, beside others that do not.
func batchRow() row {
	const told = "f02-as-told"
	// idles gives a task's agent so long to say something.
	idles := func(s *scene, t *subagent.Task) {
		s.opts.IdleTimeout = idle
		t.Provider = s.acp()
	}
	kept := func(from int, words ...string) func(*scene) {
		return func(s *scene) {
			s.Helper()
			for i, word := range words {
				s.completed(s.results[from+i], "done: "+word)
			}
		}
	}
	const (
		crashed = `error: exit at session/prompt; "half"; 1 updates; signal SIGKILL` + "\n"
		hung    = `aborted: idle_timeout at session/prompt; "half"; 1 updates; exit status 0` + "\n"
		abc     = `completed; "done: a"; 1 updates; exit status 0` + "\n" + `completed; "done: b"; 1 updates; exit status 0` + "\n" + `completed; "done: c"; 1 updates; exit status 0`
	)
	return row{
		id: "F2", does: "one run of a batch crashes, one hangs, one is refused", noSDK: notOne,
		errand: "error: exit, aborted: idle_timeout and refusal are theirs, with what they had said; the others complete",
		forms: []form{
			{script: told, do: batch("crash hang refuse a b c", nil, func(s *scene, list []subagent.Task) { idles(s, &list[1]) }),
				want: crashed + hung + "refusal; no text; exit status 0\n" + abc},
			{name: "two at a time, those that fail first", script: told, do: batch("crash crash hang crash a b c", &subagent.FanOutOptions{Limit: 2}, func(s *scene, list []subagent.Task) { idles(s, &list[2]) }),
				want: "2 times " + crashed + hung + crashed + abc},
			{name: "they do not start", script: told, do: batch("1 2 3 4 5 6 7 8 a b c", nil, func(s *scene, list []subagent.Task) {
				list[0].Provider = s.providerOf(client.Command{Path: "/no/such/agent"})
				list[1].Provider = s.following("stderr dying; exit 3")
				list[2].Provider = s.following("on session/new; fail -32603 no")
				list[3].Provider = s.following(`on session/new; fail -32000 "log in"`)
				list[4].Provider = s.following(`on initialize; answer {"protocolVersion": 2}`)
				list[6].Request.Dir = "/no/such/directory"
				list[7].Provider = nil
				s.opts.StartTimeout = 700 * time.Millisecond
				list[5].Provider = s.following("on initialize; never reply")
			}), check: all(kept(8, "a", "b", "c"), func(s *scene) {
				for i, want := range []string{
					"spawn at spawn", "exit at initialize", "agent at session/new", "auth_required at session/new",
					"version at initialize", "startup_timeout at initialize", "config at config", "config at config",
				} {
					e := s.results[i].Error
					if e == nil || string(e.Kind)+" at "+string(e.Step) != want {
						s.Errorf("result %d: %v, want %s", i, e, want)
					}
				}
				check.Equal(s, "stderr of one", s.results[1].StderrTail, "dying")
				check.Lacks(s, s.results[2].Error.Message+s.results[2].StderrTail, "dying")
			})},
			{name: "they do what nobody understands", script: `
				on session/prompt "liar"; text half; stop no_such_reason
				on session/prompt "noisy"; repeat 500; noise garbage; stderr "garbage\n"; end; text half; exit 1
				on session/prompt "huge"; raw "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"stopReason\":\""; raw x size=2MiB; raw "\"}}\n"; never reply
				on session/prompt "closes"; text half; stdout close; wait forever
				on session/prompt; text "done: $prompt"`,
				given: func(s *scene) { s.opts.MaxMessageBytes = 1 << 20 },
				do:    batch("liar noisy huge closes a b c", nil, nil), check: all(kept(4, "a", "b", "c"), func(s *scene) {
					for i, kind := range []client.ErrorKind{client.KindProtocol, client.KindExit, client.KindTooLarge, client.KindTransport} {
						if r := s.results[i]; r.Stop != "error" || r.Error == nil || r.Error.Kind != kind {
							s.Errorf("result %d: %s, want an error of kind %s", i, (&scene{result: r}).summary(), kind)
						}
					}
					check.Equal(s, "noise of one", s.results[1].Noise.Lines, 500)
					check.Equal(s, "noise of another", s.results[0].Noise.Lines, 0)
				})},
			{name: "what they call panics", script: "on session/prompt\npermission c1 $prompt; option yes allow_once Yes; end\ntext \"done: $prompt\"", given: allow,
				do: batch("listener provider policy a b c", nil, func(s *scene, list []subagent.Task) {
					list[0].Request.Events = func(subagent.Event) { panic("no") }
					list[1].Provider = panicking{list[1].Provider}
					s.opts.Permission = permission.PolicyFunc(func(context.Context, permission.Request) permission.Decision { panic("no") })
					list[2].Provider = s.acp()
				}), check: func(s *scene) {
					for i, want := range []string{"completed", "error", "completed", "completed", "completed", "completed"} {
						check.Equal(s, "outcome", string(s.results[i].Stop), want)
					}
					check.Has(s, strings.Join(s.results[0].Warnings, "\n"), "Events panicked")
					check.Has(s, s.results[1].Error.Message, "panicked")
					check.Equal(s, "what the policy did not decide", s.results[2].Permissions[0].Decision, permission.Cancelled)
					for i, r := range s.results[3:] {
						check.Equal(s, "output", r.Output, "done: "+string("abc"[i]))
					}
				}},
			{name: "all but one", script: told, do: batch("crash refuse crash refuse crash a refuse crash", nil, nil), check: all(kept(5, "a"), func(s *scene) {
				check.Equal(s, "completed", subagent.Total(s.results).Outcomes["completed"], 1)
			})},
		},
	}
}

// panicking is a provider that does, when it is to start a run.
type panicking struct{ subagent.Provider }

func (panicking) Start(context.Context, subagent.Request) (subagent.Run, error) { panic("no") }

// halfWayRow is about a fan-out that is ended when half of its runs have completed and the
// others are at work.
func halfWayRow() row {
	const agent = `
		on session/prompt "hang"; text half; wait forever
		on session/prompt; wait file go; text "done: $prompt"`
	const deaf = `
		on session/prompt "hang"
		  ignore TERM
		  spawn session; ignore TERM; append helper.pid $pid; wait forever; end
		  wait file helper.pid
		  text half
		  wait forever
		on session/prompt; wait file go; text "done: $prompt"; stop end_turn
		on session/cancel; wait forever`
	const four = "a b c d hang1 hang2 hang3 hang4"
	const eight = "a b c d e f g h hang1 hang2 hang3 hang4 hang5 hang6 hang7 hang8"
	unlimited := subagent.FanOutOptions{Limit: subagent.NoLimit}
	cancels := func(cancel func()) bool { cancel(); return true }
	leaves := func(func()) bool { return false }
	// kept checks all the results: those of the runs that were to complete, and those of
	// the rest, if it has any.
	kept := func(rest func(s *scene, word string, r *subagent.Result)) func(*scene) {
		return func(s *scene) {
			s.Helper()
			for i, word := range s.prompts {
				if !strings.HasPrefix(word, "hang") {
					s.completed(s.results[i], "done: "+word)
					continue
				}
				rest(s, word, s.results[i])
			}
		}
	}
	atWork := kept(func(s *scene, word string, r *subagent.Result) {
		s.aborted(word, r)
		if r != nil {
			check.Equal(s, word, (&scene{result: r}).summary(), `aborted; "half"; 1 updates; exit status 0`)
		}
	})
	none := kept(func(s *scene, word string, r *subagent.Result) {
		if r != nil {
			s.Errorf("%s has a result although nobody was there any more", word)
		}
	})
	return row{
		id: "F3", does: "a fan-out is cancelled half way", noSDK: notOne,
		errand: "8 completed, with all they said; 8 aborted, with what they had said; no process is left",
		forms: []form{
			{script: agent, do: halfWay(eight, 8, unlimited, cancels), check: atWork},
			{name: "the loop is left", script: agent, do: halfWay(eight, 8, unlimited, leaves), check: none},
			{name: "by a panic", script: agent, do: halfWay(eight, 8, unlimited, func(func()) bool { panic(leftLoop) }), check: none},
			{name: "so many were wanted", script: agent, do: halfWay(eight, 8, subagent.FanOutOptions{Limit: subagent.NoLimit, Want: 8}, nil), check: atWork},
			{name: "a first one was wanted", script: agent, do: halfWay("hang1 hang2 a hang3", 3, subagent.FanOutOptions{Want: 1}, nil), check: atWork},
			{name: "some wait for their turn", script: agent, do: halfWay("hang1 hang2 hang3 a b c d e hang4 hang5 hang6 hang7", 3, subagent.FanOutOptions{Limit: 4}, cancels),
				check: kept(func(s *scene, word string, r *subagent.Result) {
					s.aborted(word, r)
					if r == nil {
						return
					}
					switch word {
					case "hang1", "hang2", "hang3":
						check.Equal(s, word, r.Output, "half")
					case "hang4": // has got the slot of the last one that has completed
					default:
						check.Equal(s, word+": run", r.RunID, "")
					}
				})},
			{name: "the deadline of the caller passes", script: agent, do: halfWay(eight, 8, unlimited, nil), check: kept(func(s *scene, word string, r *subagent.Result) {
				check.Equal(s, word, (&scene{result: r}).summary(), `aborted: timeout at session/prompt; "half"; 1 updates; exit status 0`)
			})},
			{name: "of agents that are deaf to it, and have helpers", given: deafTo(toCancel, toEOF, toTerm), script: deaf, do: halfWay(four, 4, unlimited, cancels),
				check: all(gone("helper.pid"), kept(func(s *scene, word string, r *subagent.Result) {
					s.aborted(word, r)
					check.Equal(s, word, r.Output, "half")
				}))},
			{name: "the loop is left while they are deaf", given: deafTo(toCancel, toEOF, toTerm), script: deaf, do: halfWay(four, 4, unlimited, leaves), check: all(gone("helper.pid"), none)},
		},
	}
}

// leftLoop is what a loop is left with.
const leftLoop = "the loop is left"

// halfWay carries out a task for each word. When so many of those that hang are at work the
// others may complete, and when they have stop is called, which reports whether to go on
// with the loop. Without one the deadline passes, unless so many were all that was wanted.
func halfWay(words string, atWork int64, o subagent.FanOutOptions, stop func(cancel func()) bool) func(*scene) {
	return func(s *scene) {
		list := s.tasks(words)
		hangs := func(i int) bool { return strings.HasPrefix(s.prompts[i], "hang") }
		var working atomic.Int64
		left := 0
		for i := range list {
			if !hangs(i) {
				left++
				continue
			}
			list[i].Request.Events = func(e subagent.Event) {
				if said(e) == "half" && working.Add(1) == atWork {
					s.write("go")
				}
			}
		}
		ctx, cancel := s.bounded()
		defer cancel()
		late := newDeadline(ctx)
		defer context.AfterFunc(ctx, late.pass)()
		s.results = make([]*subagent.Result, len(list))
		func() {
			defer func() {
				if p := recover(); p != nil && p != leftLoop {
					panic(p)
				}
			}()
			if stop == nil && o.Want == 0 {
				ctx = late
			}
			for i, res := range subagent.FanOut(ctx, list, &o) {
				s.results[i] = res
				if hangs(i) {
					continue
				}
				if left--; left > 0 {
					continue
				}
				if stop == nil {
					late.pass()
				} else if !stop(cancel) {
					break
				}
			}
		}()
		s.nothingLeft()
	}
}
