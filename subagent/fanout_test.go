package subagent_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// tasks are of one provider, a prompt each.
func tasks(t testing.TB, p subagent.Provider, prompts ...string) []subagent.Task {
	t.Helper()
	dir := t.TempDir()
	tasks := make([]subagent.Task, len(prompts))
	for i, text := range prompts {
		tasks[i] = subagent.Task{Provider: p, Request: subagent.Request{Dir: dir, Prompt: subagent.Text(text)}}
	}
	return tasks
}

// bounded is the test's context, within the time that means a hang.
func bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	t.Cleanup(cancel)
	return ctx
}

// summary is a result in a few words: its outcome, the kind of its error, and its text.
func summary(res *subagent.Result) string {
	kind := client.ErrorKind("-")
	if res.Error != nil {
		kind = res.Error.Kind
	}
	return strings.TrimSpace(fmt.Sprint(res.Stop, " ", kind, " ", res.Output))
}

func summaries(results []*subagent.Result) []string {
	out := make([]string, len(results))
	for i, res := range results {
		out[i] = summary(res)
	}
	return out
}

// meter is a function provider that counts its turns. The first word of the prompt says
// what to do: answer, fail, panic, leave (ends its goroutine), hang, or linger (hang, and
// take a while to end).
type meter struct {
	subagent.Provider
	running, most, ended atomic.Int64

	mu    sync.Mutex // guards began
	began []string   // the prompts, in the order in which their turns began
}

func newMeter(t testing.TB, name string) *meter {
	t.Helper()
	m := &meter{}
	var err error
	m.Provider, err = subagent.NewFunc(name, func(ctx context.Context, req subagent.Request, update func(acp.SessionUpdate)) (acp.StopReason, error) {
		text := req.Prompt[0].Text.Text
		m.begin(text)
		defer m.ended.Add(1)
		defer m.running.Add(-1)
		update(acp.UpdateAgentMessageText(text))
		switch word, _, _ := strings.Cut(text, " "); word {
		case "fail":
			return "", errors.New("it was to fail")
		case "panic":
			panic("it was to panic")
		case "leave":
			runtime.Goexit()
		case "linger":
			<-ctx.Done()
			time.Sleep(time.Second) // in a synctest bubble
		case "hang":
			<-ctx.Done()
		}
		return acp.StopReasonEndTurn, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *meter) begin(text string) {
	n := m.running.Add(1)
	for most := m.most.Load(); n > most && !m.most.CompareAndSwap(most, n); {
		most = m.most.Load()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.began = append(m.began, text)
}

// prompts are n prompts of one word and their number.
func prompts(word string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(word, " ", i)
	}
	return out
}

// panicky is a provider that panics, or ends its goroutine, where it is told to.
type panicky struct {
	subagent.Provider
	start, close func()
}

func (p panicky) Start(ctx context.Context, req subagent.Request) (subagent.Run, error) {
	if p.start != nil {
		p.start()
		return nil, nil
	}
	run, err := p.Provider.Start(ctx, req)
	return panickyRun{run, p.close}, err
}

type panickyRun struct {
	subagent.Run
	close func()
}

func (r panickyRun) Close() *subagent.Result {
	r.Run.Close()
	r.close()
	return nil
}

// pointer is a provider whose nil pointer is of no use.
type pointer struct{ subagent.Provider }

func boom() { panic("boom") }

// Whatever becomes of one task, the others' results are theirs, and each of them has one.
func TestGatherKeepsTasksApart(t *testing.T) {
	m := newMeter(t, "m")
	list := tasks(t, m, "answer a", "fail b", "panic c", "leave d", "answer e", "")
	add := func(p subagent.Provider) {
		list = append(list, subagent.Task{Provider: p, Request: list[0].Request})
	}
	add(nil)
	add((*pointer)(nil))
	add(panicky{Provider: m, start: boom})
	add(panicky{Provider: m, start: runtime.Goexit})
	add(panicky{Provider: m, start: func() {}}) // gives no run
	add(panicky{Provider: m, close: boom})
	add(panicky{Provider: m, close: runtime.Goexit})
	list = append(list, list[0])
	list[len(list)-1].Request.Model = "none of its own"

	want := []string{
		"completed - answer a", "error agent fail b", "error agent panic c", "error agent leave d", "completed - answer e", "error config",
		"error config", "error agent", "error agent", "error agent", "error spawn", "completed - answer a", "completed - answer a", "error capability",
	}
	for _, limit := range []int{0, 1, 3, subagent.NoLimit} {
		results := subagent.Gather(bounded(t), list, &subagent.FanOutOptions{Limit: limit})
		if diff := cmp.Diff(want, summaries(results)); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
		check.Has(t, results[11].Warnings[0], "panicked when it was closed")
		check.Has(t, results[12].Warnings[0], "ended its goroutine when it was closed")
		for i, res := range results {
			if res.SchemaVersion != subagent.SchemaVersion || res.StartedAt.IsZero() || res.Warnings == nil || res.Labels == nil {
				t.Errorf("result %d is not whole: %+v", i, res)
			}
			if res.Error != nil && (res.Error.Message == "" || strings.Contains(res.Error.Message, "boom")) {
				t.Errorf("result %d: message %q", i, res.Error.Message)
			}
		}
	}
	check.Equal(t, "results of no tasks", len(subagent.Gather(bounded(t), nil, nil)), 0)
}

func TestFanOutOfProcesses(t *testing.T) {
	t.Parallel()
	p := scripted(t, `
		on session/prompt "crash"; text half; raise KILL
		on session/prompt "refuse"; stop refusal
		on session/prompt "hang"; text "so far"; wait forever
		on session/prompt; text "said $prompt"`, &subagent.ACPOptions{Graces: shortGraces})
	missing := provider(t, client.Command{Path: "/does/not/exist"}, nil)
	list := tasks(t, p, "crash", "refuse", "hang", "a", "b", "c", "a")
	list[6].Provider = missing
	list[3].Request.Labels = map[string]string{"n": "3"}
	list[6].Request.Labels = map[string]string{"n": "6"}

	// The agent that hangs has said so before it is cancelled.
	spoke, said := make(chan struct{}), sync.Once{}
	list[2].Request.Events = func(e subagent.Event) {
		if e.Type == subagent.EventUpdate {
			said.Do(func() { close(spoke) })
		}
	}
	ctx, cancel := context.WithCancel(bounded(t))
	defer cancel()
	got := make([]string, len(list))
	labels := ""
	n := 0
	for i, res := range subagent.FanOut(ctx, list, nil) {
		got[i] = summary(res)
		labels += res.Labels["n"]
		if n++; n == len(list)-1 {
			<-spoke
			cancel() // all but the one that hangs
		}
	}
	want := []string{
		"error exit half", "refusal -", "aborted - so far", "completed - said a", "completed - said b", "completed - said c", "error spawn",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if labels != "36" && labels != "63" {
		t.Errorf("labels %q", labels)
	}
}

func TestFanOutWants(t *testing.T) {
	for _, tt := range []struct {
		want      int
		prompts   []string
		completed int
		aborted   int
	}{
		{0, []string{"answer", "fail", "answer"}, 2, 0},
		{1, []string{"hang", "hang", "answer", "hang", "hang"}, 1, 4},
		{2, []string{"hang", "answer", "hang", "answer", "hang", "hang"}, 2, 4},
		{2, []string{"answer", "fail", "fail"}, 1, 0},
		{9, []string{"answer", "answer", "fail"}, 2, 0},
		{-1, []string{"answer", "answer"}, 2, 0},
	} {
		t.Run(fmt.Sprint(tt.want, " of ", tt.prompts), func(t *testing.T) {
			m := newMeter(t, "m")
			stops := map[stopreason.Outcome]int{}
			for _, res := range subagent.FanOut(bounded(t), tasks(t, m, tt.prompts...), &subagent.FanOutOptions{Limit: 4, Want: tt.want}) {
				stops[res.Stop]++
				if res.Stop == stopreason.Aborted && (res.Error != nil || !errors.Is(res.Err(), context.Canceled)) {
					t.Errorf("a loser's error: %+v, Err() %v", res.Error, res.Err())
				}
				if res.RunID == "" {
					check.Has(t, strings.Join(res.Warnings, "\n"), "enough other tasks had completed")
				}
			}
			check.Equal(t, "completed", stops[stopreason.Completed], tt.completed)
			check.Equal(t, "aborted", stops[stopreason.Aborted], tt.aborted)
			check.Equal(t, "errors", stops[stopreason.Error], len(tt.prompts)-tt.completed-tt.aborted)
		})
	}
}

// There are as many runs at once as may be, and they begin in order.
// Which results count the caller may say; a panic says no.
func TestFanOutCounts(t *testing.T) {
	echo, err := subagent.NewFunc("echo", func(_ context.Context, req subagent.Request, update func(acp.SessionUpdate)) (acp.StopReason, error) {
		update(acp.UpdateAgentMessageText(req.Prompt[0].Text.Text))
		return acp.StopReasonEndTurn, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	list := tasks(t, echo, "no", "panics", "yes", "never")
	got := subagent.Gather(bounded(t), list, &subagent.FanOutOptions{Limit: 1, Want: 1, Counts: func(res *subagent.Result) bool {
		if res.Output == "panics" {
			panic(res.Output)
		}
		return res.Output == "yes"
	}})
	var stops []stopreason.Outcome
	for _, res := range got {
		stops = append(stops, res.Stop)
	}
	if diff := cmp.Diff([]stopreason.Outcome{stopreason.Completed, stopreason.Completed, stopreason.Completed, stopreason.Aborted}, stops); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFanOutLimit(t *testing.T) {
	for limit, want := range map[int]int64{0: subagent.DefaultFanOutLimit, 1: 1, 3: 3, 50: 20, subagent.NoLimit: 20} {
		synctest.Test(t, func(t *testing.T) {
			m := newMeter(t, "m")
			list := tasks(t, m, prompts("hang", 20)...)
			ctx, cancel := context.WithCancel(t.Context())
			results := make(chan []*subagent.Result, 1)
			go func() { // ends with Gather
				results <- subagent.Gather(ctx, list, &subagent.FanOutOptions{Limit: limit})
			}()
			synctest.Wait()
			check.Equal(t, fmt.Sprint("running with limit ", limit), m.running.Load(), want)
			cancel()
			for i, res := range <-results {
				check.Equal(t, fmt.Sprint("result ", i), res.Stop, stopreason.Aborted)
			}
			check.Equal(t, "began", int64(len(m.began)), want)
		})
	}
	m := newMeter(t, "m")
	list := prompts("answer", 50)
	subagent.Gather(bounded(t), tasks(t, m, list...), &subagent.FanOutOptions{Limit: 1})
	if !slices.Equal(m.began, list) {
		t.Errorf("they began as %q", m.began)
	}
}

// Cancelling keeps what is finished; the rest is aborted, and each has its result.
func TestFanOutCancelled(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(context.Context) (context.Context, context.CancelFunc)
		kind string
	}{
		"cancelled": {context.WithCancel, "-"},
		"past its deadline": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Minute)
		}, "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMeter(t, "m")
				list := tasks(t, m, "answer a", "hang b", "answer c", "hang d", "answer e", "hang f")
				ctx, cancel := tt.end(t.Context())
				defer cancel()
				got := make([]string, len(list))
				n := 0
				for i, res := range subagent.FanOut(ctx, list, &subagent.FanOutOptions{Limit: 2}) {
					got[i] = summary(res)
					if n++; n == 2 && name == "cancelled" {
						synctest.Wait()
						cancel()
					}
				}
				stopped := "aborted " + tt.kind
				want := []string{"completed - answer a", stopped + " hang b", "completed - answer c", stopped + " hang d", stopped, stopped}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
				check.Equal(t, "began", len(m.began), 4)
			})
		})
	}

	m := newMeter(t, "m")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for i, res := range subagent.Gather(ctx, tasks(t, m, "answer a", "hang b"), nil) {
		check.Equal(t, fmt.Sprint("result ", i), summary(res), "aborted -")
		check.Equal(t, "runId", res.RunID, "")
	}
	check.Equal(t, "began", len(m.began), 0)
}

// However the loop is left, FanOut has ended everything by then.
func TestFanOutLeft(t *testing.T) {
	for name, tt := range map[string]struct {
		leave func()
		panic any
	}{
		"by a break":                  {},
		"by a panic":                  {boom, "boom"},
		"by the end of its goroutine": {runtime.Goexit, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMeter(t, "m")
				list := tasks(t, m, append([]string{"answer"}, prompts("linger", 20)...)...)
				var panicked any
				done := make(chan struct{})
				go func() { // ends with the loop
					defer close(done)
					defer func() { panicked = recover() }()
					defer func() { check.Equal(t, "still running", m.running.Load(), 0) }()
					for range subagent.FanOut(t.Context(), list, &subagent.FanOutOptions{Limit: 5}) {
						synctest.Wait()
						check.Equal(t, "running", m.running.Load(), 5)
						if tt.leave == nil {
							break
						}
						tt.leave()
					}
				}()
				<-done
				check.Equal(t, "the panic", panicked, tt.panic)
				check.Equal(t, "began", len(m.began), 6)
			})
		})
	}
}

// The runs do not wait for who takes the results.
func TestFanOutSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeter(t, "m")
		n := 0
		for range subagent.FanOut(t.Context(), tasks(t, m, prompts("answer", 100)...), &subagent.FanOutOptions{Limit: 2}) {
			if n++; n == 1 {
				synctest.Wait()
				check.Equal(t, "ended while the first is looked at", m.ended.Load(), 100)
			}
		}
		check.Equal(t, "results", n, 100)
	})
}

// Each range is a fan-out of its own.
func TestFanOutTwice(t *testing.T) {
	m := newMeter(t, "m")
	all := subagent.FanOut(bounded(t), tasks(t, m, "answer a", "answer b"), nil)
	for range 2 {
		n := 0
		for _, res := range all {
			n++
			check.Equal(t, "stop", res.Stop, stopreason.Completed)
		}
		check.Equal(t, "results", n, 2)
	}
	check.Equal(t, "began", len(m.began), 4)
}

// A task that waits for its own provider does not keep those of others waiting.
func TestFanOutUnderLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := newLimits(t, subagent.LimitOptions{PerProvider: 1})
		a, b := newMeter(t, "a"), newMeter(t, "b")
		list := append(tasks(t, a, prompts("hang", 10)...), tasks(t, b, prompts("answer", 10)...)...)
		// It makes no difference that these are under them already.
		list[0].Provider, list[15].Provider = limits.Provider(list[0].Provider), limits.Provider(list[15].Provider)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		for i, res := range subagent.FanOut(ctx, list, &subagent.FanOutOptions{Limit: 2, Limits: limits}) {
			want := "aborted -"
			switch {
			case i >= 10:
				want = "completed - " + list[i].Request.Prompt[0].Text.Text
			case i == 0:
				want += " hang 0"
			}
			check.Equal(t, fmt.Sprint("result ", i), summary(res), want)
			if n++; n == 10 {
				synctest.Wait()
				check.Equal(t, "running of a", a.running.Load(), 1)
				cancel()
			}
		}
		check.Equal(t, "most of b", b.most.Load(), 1)
		check.Equal(t, "results", n, 20)
	})
}

// Several fan-outs under the same limits keep them together.
func TestFanOutsShareLimits(t *testing.T) {
	limits := newLimits(t, subagent.LimitOptions{Runs: 5, Providers: map[string]int{"b": 2}})
	a, b := newMeter(t, "a"), newMeter(t, "b")
	both := newMeter(t, "both") // counts the turns of the other two
	for _, m := range []*meter{a, b} {
		inner := m.Provider
		m.Provider = function(t, func(ctx context.Context, req subagent.Request, update func(acp.SessionUpdate)) (acp.StopReason, error) {
			both.begin("")
			defer both.running.Add(-1)
			res, err := subagent.Delegate(ctx, inner, req)
			if err != nil {
				return "", err
			}
			return acp.StopReason(*res.StopReason), nil
		})
		m.Provider = renamed{m.Provider, inner.Name()}
	}
	var group sync.WaitGroup
	for range 4 {
		list := append(tasks(t, a, prompts("answer", 50)...), tasks(t, b, prompts("answer", 50)...)...)
		group.Go(func() {
			for _, res := range subagent.Gather(bounded(t), list, &subagent.FanOutOptions{Limit: 4, Limits: limits}) {
				check.Equal(t, "stop", res.Stop, stopreason.Completed)
			}
		})
	}
	group.Wait()
	if most := both.most.Load(); most > 5 {
		t.Errorf("there were %d runs at once", most)
	}
	if most := b.most.Load(); most > 2 {
		t.Errorf("there were %d runs of b at once", most)
	}
	check.Equal(t, "runs", len(both.began), 400)
}

// renamed is a provider under another name.
type renamed struct {
	subagent.Provider
	name string
}

func (p renamed) Name() string { return p.name }
