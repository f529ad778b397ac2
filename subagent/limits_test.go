package subagent_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
	"github.com/errand-acp/errand/subagent/subagenttest"
)

func newLimits(t testing.TB, o subagent.LimitOptions) *subagent.Limits {
	t.Helper()
	l, err := subagent.NewLimits(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLimitsContract(t *testing.T) {
	t.Parallel()
	wide := subagent.LimitOptions{Runs: 20, PerProvider: 10, Total: 1000, Starts: 2}
	t.Run("a function", func(t *testing.T) {
		t.Parallel()
		subagenttest.Run(t, func(t *testing.T) subagent.Provider {
			return newLimits(t, wide).Provider(inProcess(t, "a function"))
		})
	})
	t.Run("ACP", func(t *testing.T) {
		t.Parallel()
		subagenttest.Run(t, func(t *testing.T) subagent.Provider {
			return newLimits(t, wide).Provider(scripted(t, contractScript, &subagent.ACPOptions{Graces: shortGraces}))
		})
	})
}

func TestNewLimitsRefuses(t *testing.T) {
	for name, o := range map[string]subagent.LimitOptions{
		"Runs": {Runs: -1}, "PerProvider": {PerProvider: -1}, "Total": {Total: -1}, "Starts": {Starts: -1},
		`Providers["a"]`: {Providers: map[string]int{"a": -1}},
	} {
		l, err := subagent.NewLimits(o)
		if l != nil {
			t.Errorf("%s: made", name)
		}
		check.Has(t, asError(t, err, client.KindConfig).Message, name)
	}
}

// The slot comes back however the run, or its start, ends.
func TestLimitsGiveBack(t *testing.T) {
	m := newMeter(t, "m")
	req := func(text string) subagent.Request { return tasks(t, m, text)[0].Request }
	begin := func(t *testing.T, p subagent.Provider, ctx context.Context, text string) subagent.Run {
		run, err := p.Start(ctx, req(text))
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	refused := func(t *testing.T, p subagent.Provider, ctx context.Context, text string) {
		if run, err := p.Start(ctx, req(text)); err == nil {
			run.Close()
			t.Errorf("%q was started", text)
		}
	}
	apart := func(f func()) { // f may panic, or end its goroutine
		var group sync.WaitGroup
		group.Go(func() {
			defer func() { recover() }()
			f()
		})
		group.Wait()
	}
	for name, use := range map[string]func(t *testing.T, l *subagent.Limits, p subagent.Provider){
		"a run": func(t *testing.T, _ *subagent.Limits, p subagent.Provider) {
			begin(t, p, t.Context(), "answer").Close()
		},
		"one that fails":    func(t *testing.T, _ *subagent.Limits, p subagent.Provider) { begin(t, p, t.Context(), "fail").Close() },
		"one that panics":   func(t *testing.T, _ *subagent.Limits, p subagent.Provider) { begin(t, p, t.Context(), "panic").Close() },
		"one that is ended": func(t *testing.T, _ *subagent.Limits, p subagent.Provider) { begin(t, p, t.Context(), "hang").Close() },
		"closed twice": func(t *testing.T, _ *subagent.Limits, p subagent.Provider) {
			run := begin(t, p, t.Context(), "hang")
			var group sync.WaitGroup
			for range 4 {
				group.Go(func() { run.Close() })
			}
			group.Wait()
			run.Close()
		},
		"its context ends": func(t *testing.T, _ *subagent.Limits, p subagent.Provider) {
			ctx, cancel := context.WithCancel(t.Context())
			run := begin(t, p, ctx, "hang")
			cancel()
			run.Close()
		},
		"a bad request":        func(t *testing.T, _ *subagent.Limits, p subagent.Provider) { refused(t, p, t.Context(), "") },
		"a context that ended": func(t *testing.T, _ *subagent.Limits, p subagent.Provider) { refused(t, p, over(t), "answer") },
		"a start that panics": func(t *testing.T, l *subagent.Limits, p subagent.Provider) {
			apart(func() { l.Provider(panicky{Provider: m, start: boom}).Start(t.Context(), req("answer")) })
		},
		"a start that ends its goroutine": func(t *testing.T, l *subagent.Limits, p subagent.Provider) {
			apart(func() { l.Provider(panicky{Provider: m, start: runtime.Goexit}).Start(t.Context(), req("answer")) })
		},
		"a start that gives no run": func(t *testing.T, l *subagent.Limits, p subagent.Provider) {
			refused(t, l.Provider(panicky{Provider: m, start: func() {}}), t.Context(), "answer")
		},
		"a close that panics": func(t *testing.T, l *subagent.Limits, p subagent.Provider) {
			run := begin(t, l.Provider(panicky{Provider: m, close: boom}), t.Context(), "answer")
			apart(func() { run.Close() })
		},
		"a listener that ends the goroutine of the start": func(t *testing.T, l *subagent.Limits, p subagent.Provider) {
			r := req("hang")
			r.Events = func(subagent.Event) { runtime.Goexit() }
			apart(func() { p.Start(t.Context(), r) })
		},
		"cancelled in the queue": func(t *testing.T, l *subagent.Limits, p subagent.Provider) {
			run := begin(t, p, t.Context(), "hang")
			ctx, cancel := context.WithCancel(t.Context())
			errs := make(chan error, 3)
			for range cap(errs) {
				go func() { // ends with Start
					_, err := p.Start(ctx, req("answer"))
					errs <- err
				}()
			}
			synctest.Wait()
			cancel()
			for range cap(errs) {
				e := asError(t, <-errs, client.KindCancelled)
				if !errors.Is(e, context.Canceled) {
					t.Errorf("%v is not context.Canceled", e)
				}
			}
			run.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimits(t, subagent.LimitOptions{Runs: 1, PerProvider: 1})
				p := l.Provider(m)
				for range 3 {
					use(t, l, p)
				}
				// A slot that is not there is waited for, and here that is a deadlock.
				begin(t, p, t.Context(), "answer").Close()
			})
		})
	}
}

// over is a context that has ended.
func over(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// FAULTS L14, and the same with runs that crash.
func TestLimitsOfProcesses(t *testing.T) {
	t.Parallel()
	l := newLimits(t, subagent.LimitOptions{Runs: 2, Starts: 1})
	fails := l.Provider(scripted(t, "exit 1", nil))
	crashes := l.Provider(scripted(t, "on session/prompt; raise KILL", nil))
	good := l.Provider(scripted(t, "on session/prompt; text fine", nil))
	var list []subagent.Task
	for range 10 {
		list = append(list, tasks(t, fails, "go")...)
		list = append(list, tasks(t, crashes, "go")...)
	}
	list = append(list, tasks(t, good, "go")...)
	for i, res := range subagent.Gather(bounded(t), list, nil) {
		want := "error exit"
		if i == 20 {
			want = "completed - fine"
		}
		check.Equal(t, fmt.Sprint("result ", i), summary(res), want)
	}
}

// Who waits is served in the order of coming; who waits for its own provider lets others
// pass, and holds none of their slots.
func TestLimitsAreFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimits(t, subagent.LimitOptions{Runs: 3, Providers: map[string]int{"a": 2, "c": 0}, PerProvider: 1})
		providers := map[byte]*meter{}
		for _, name := range "abc" {
			providers[byte(name)] = newMeter(t, string(name))
		}
		var mu sync.Mutex // guards order
		var order []string
		runs := map[string]subagent.Run{}
		begin := func(name string) { // the first letter is the provider's name
			m := providers[name[0]]
			req := tasks(t, m, "hang")[0].Request
			go func() { // ends when it has a slot
				run, err := l.Provider(m).Start(t.Context(), req)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, name)
				runs[name] = run
			}()
			synctest.Wait()
		}
		now := func(want ...string) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(order, want) {
				t.Errorf("started: %q, want %q", order, want)
			}
			order = nil
		}
		end := func(name string) {
			runs[name].Close()
			synctest.Wait()
		}
		for _, name := range []string{"a1", "a2", "a3", "b1", "b2", "c1", "a4"} {
			begin(name)
		}
		now("a1", "a2", "b1")
		end("b1")
		now("b2") // a3 has come before, but waits for a
		end("a2")
		now("a3")
		end("a1")
		now("c1") // three run, and a4 is behind
		end("b2")
		now("a4")
		for _, name := range []string{"c1", "a3", "a4"} {
			end(name)
		}
		now()
	})
}

// The breadth is what was started, not what is running, or was only asked for.
func TestLimitsTotal(t *testing.T) {
	m := newMeter(t, "m")
	l := newLimits(t, subagent.LimitOptions{Total: 3, Runs: 1})
	p := l.Provider(m)
	for range 5 {
		if _, err := p.Start(t.Context(), subagent.Request{Dir: t.TempDir()}); err == nil {
			t.Error("started without a prompt")
		}
		if _, err := p.Start(t.Context(), subagent.Request{Dir: "/does/not/exist", Prompt: subagent.Text("answer")}); err == nil {
			t.Error("started without a directory")
		}
		if _, err := p.Start(over(t), tasks(t, m, "answer")[0].Request); err == nil {
			t.Error("started when it was over")
		}
	}
	var got []string
	for _, res := range subagent.Gather(bounded(t), tasks(t, p, "answer 1", "fail 2", "answer 3", "answer 4", "answer 5"), &subagent.FanOutOptions{Limits: l}) {
		got = append(got, summary(res))
	}
	if want := []string{"completed - answer 1", "error agent fail 2", "completed - answer 3", "error limit", "error limit"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	_, err := p.Start(t.Context(), tasks(t, m, "answer")[0].Request)
	e := asError(t, err, client.KindLimit)
	check.Equal(t, "step", e.Step, client.StepConfig)
	check.Has(t, e.Error(), "m: ", "3 runs in all")
	if e.Retryable {
		t.Error("it says that it could go better")
	}
	check.Equal(t, "began", len(m.began), 3)

	// A start that failed when something had been started counts.
	l = newLimits(t, subagent.LimitOptions{Total: 2})
	p = l.Provider(scripted(t, "exit 1", nil))
	for _, kind := range []client.ErrorKind{client.KindExit, client.KindExit, client.KindLimit} {
		_, err := p.Start(t.Context(), request(t))
		asError(t, err, kind)
	}
}

// A provider is under the same limits once.
func TestLimitsTwice(t *testing.T) {
	l, other := newLimits(t, subagent.LimitOptions{Runs: 1}), newLimits(t, subagent.LimitOptions{Runs: 1})
	m := newMeter(t, "m")
	p := l.Provider(other.Provider(l.Provider(m)))
	check.Equal(t, "name", p.Name(), "m")
	results := subagent.Gather(bounded(t), tasks(t, p, "answer 1", "answer 2"), &subagent.FanOutOptions{Limits: l})
	results = append(results, subagent.Gather(bounded(t), tasks(t, p, "answer 3"), &subagent.FanOutOptions{Limits: other})...)
	for i, res := range results {
		check.Equal(t, fmt.Sprint("result ", i), res.Stop, stopreason.Completed)
	}
}

// A fallback of which one provider is under the limits already does not wait for itself, and
// each of its tries has the slots of its own provider.
func TestLimitsPartly(t *testing.T) {
	for name, put := range map[string]func(l *subagent.Limits, p subagent.Provider) (subagent.Provider, *subagent.FanOutOptions){
		"a fan-out's": func(l *subagent.Limits, p subagent.Provider) (subagent.Provider, *subagent.FanOutOptions) {
			return p, &subagent.FanOutOptions{Limits: l}
		},
		"the provider's": func(l *subagent.Limits, p subagent.Provider) (subagent.Provider, *subagent.FanOutOptions) {
			return l.Provider(p), nil
		},
		"both": func(l *subagent.Limits, p subagent.Provider) (subagent.Provider, *subagent.FanOutOptions) {
			return l.Provider(p), &subagent.FanOutOptions{Limits: l}
		},
		"within others": func(l *subagent.Limits, p subagent.Provider) (subagent.Provider, *subagent.FanOutOptions) {
			return newLimits(t, subagent.LimitOptions{Runs: 2}).Provider(p), &subagent.FanOutOptions{Limits: l}
		},
		"within another fallback": func(l *subagent.Limits, p subagent.Provider) (subagent.Provider, *subagent.FanOutOptions) {
			return fallback(t, nil, p, missing(t)), &subagent.FanOutOptions{Limits: l}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimits(t, subagent.LimitOptions{Runs: 1, Total: 4})
				m := l.Provider(newMeter(t, "m"))
				p, o := put(l, fallback(t, nil, missing(t), m))
				// Who waits for himself waits for ever, and here that is a deadlock.
				got := summaries(subagent.Gather(t.Context(), tasks(t, p, "answer 1", "answer 2"), o))
				if want := []string{"completed - answer 1", "completed - answer 2"}; !slices.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
				// That was all: two tries each, each under the limits.
				_, err := m.Start(t.Context(), tasks(t, m, "answer")[0].Request)
				asError(t, err, client.KindLimit)
			})
		})
	}
}
