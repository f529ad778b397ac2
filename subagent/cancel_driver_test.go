//go:build unix

package subagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
	"go.uber.org/goleak"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// How TestCancel works: a point is a moment of a run's life that can be hit exactly, a
// means is a way to end the run. The driver brings a run with a real agent to the point,
// strikes, and checks what must be true whatever the two are: there is one outcome and
// it is the right one, everything that waits ends, and nothing is left.

var (
	cancelRuns = flag.Int("cancel.n", 24, "runs for each point of TestCancel, divided among the means")
	cancelSeed = flag.Uint64("cancel.seed", 0, "seed of TestCancel's choices; 0 takes one from the clock")
)

// cancelWorkers is how many runs are under way at once.
const cancelWorkers = 4

// cancelHang is hang for runs of which several are under way on a machine that may have
// more to do.
const cancelHang = 3 * hang

// end is how a run may end.
type end struct {
	stop stopreason.Outcome // empty: it never started
	kind client.ErrorKind
}

// point is a moment of a run's life.
type point struct {
	name   string
	script string
	// starting says that Start has not returned at the point.
	starting bool
	// anywhere says that the point may be before the start is over or after the turn is:
	// nobody knows.
	anywhere bool
	// settled says that the outcome has settled before, as this.
	settled stopreason.Outcome
	// closing says that Close was called before.
	closing bool
	// race says that the agent answers at the same moment: both outcomes are right.
	race bool
	// unborn says that there is no agent, or that nobody knows its pid.
	unborn bool
	// heavy says that a run takes seconds of the processor: there are fewer of them.
	heavy bool
	// deaf says that the agent does not hear session/cancel; it is closed with short
	// graces.
	deaf bool

	setup  func(*spot, *subagent.ACPOptions, *subagent.Request)
	events func(*spot, subagent.Event)
	read   func(*spot, client.Update) // reads Updates; nil ignores them
	at     func(*spot)                // returns when the point is reached
	after  func(*spot)                // called after the strike
	check  func(*spot, *subagent.Result)
}

// means is a way to end a run.
type means struct {
	name   string
	kind   client.ErrorKind // the error it makes, if any
	crash  bool             // the agent dies at the same time
	kill   bool             // the agent hears of nothing
	run    bool             // it needs a run that was handed out
	strike func(*spot)
}

var allMeans = []means{
	{name: "context", strike: func(sp *spot) { sp.cancel() }},
	{name: "deadline", kind: client.KindTimeout, strike: func(sp *spot) { sp.life.pass() }},
	{name: "Kill", kill: true, strike: func(sp *spot) { sp.kill() }},
	{name: "Cancel", run: true, strike: func(sp *spot) { sp.with(subagent.Run.Cancel) }},
	{name: "Close", run: true, strike: func(sp *spot) { sp.spawn(func() { sp.with(closeRun) }) }},
	{name: "several", run: true, strike: func(sp *spot) {
		sp.spawn(sp.cancel)
		for _, f := range []func(subagent.Run){subagent.Run.Cancel, closeRun, closeRun, subagent.Run.Cancel} {
			sp.spawn(func() { sp.with(f) })
		}
	}},
	{name: "context and crash", crash: true, strike: func(sp *spot) {
		sp.spawn(sp.crash)
		sp.cancel()
	}},
	{name: "Close and crash", run: true, crash: true, strike: func(sp *spot) {
		sp.spawn(func() { sp.with(closeRun) })
		sp.crash()
	}},
}

func closeRun(r subagent.Run) { r.Close() }

// with does something with the run, if there is one yet; else there is the context.
func (sp *spot) with(f func(subagent.Run)) {
	select {
	case <-sp.started:
		if sp.err == nil {
			f(sp.run)
		}
	default:
		sp.cancel()
	}
}

// over is closed when the outcome has settled, or the start has failed.
func (sp *spot) over() <-chan struct{} {
	<-sp.started
	if sp.err != nil {
		return sp.started
	}
	return sp.run.Done()
}

// life is a context whose deadline passes when a test says so.
type life struct {
	context.Context
	done chan struct{}

	mu    sync.Mutex // guards what is below
	over  bool
	after []func()
}

func newLife(parent context.Context) *life { return &life{Context: parent, done: make(chan struct{})} }

func (l *life) Done() <-chan struct{} { return l.done }

func (l *life) Err() error {
	select {
	case <-l.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// AfterFunc is how its children are told, when they are told at once: of any other context
// that is not its own, package context hears by a goroutine of its own, some time later.
func (l *life) AfterFunc(f func()) (stop func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		go f()
		return func() bool { return false }
	}
	l.after = append(l.after, f)
	return func() bool { return false } // a child that has ended takes no harm
}

func (l *life) pass() {
	l.mu.Lock()
	after := l.after
	l.after = nil
	if !l.over {
		l.over = true
		close(l.done)
	}
	l.mu.Unlock()
	for _, f := range after {
		f()
	}
}

// spot is one run on its way to a point.
type spot struct {
	t      *testing.T
	point  *point
	means  means
	rand   *rand.Rand
	dir    string
	log    string
	life   *life
	ctx    context.Context
	cancel context.CancelFunc
	kill   context.CancelFunc

	free    chan struct{} // closed when callbacks that were held may go on
	reached chan struct{} // closed by a hook at the point
	arrive  sync.Once     // at the point
	struck  sync.Once
	bytes   atomic.Int64 // of updates received

	started chan struct{} // closed when Start has returned; then run and err are set
	run     subagent.Run
	err     error
	outcome *subagent.Result
	release func()       // lets a process go that is kept from exiting
	pid     atomic.Int64 // the agent's, once await has read it

	others sync.WaitGroup
}

func (sp *spot) errorf(format string, args ...any) {
	sp.t.Helper()
	log, _ := os.ReadFile(sp.log)
	sp.t.Errorf("by %s: %s; the agent read\n%.3000s", sp.means.name, fmt.Sprintf(format, args...), log)
}

// spawn runs f beside the driver; it ends before the run is checked.
func (sp *spot) spawn(f func()) { sp.others.Go(f) }

// crash kills the agent.
func (sp *spot) crash() {
	sp.signal(syscall.SIGKILL)
}

func (sp *spot) signal(sig syscall.Signal) {
	pid := int(sp.pid.Load())
	if pid <= 1 { // 0 would be ourselves
		sp.errorf("the point does not know the agent's pid")
		return
	}
	syscall.Kill(pid, sig)
}

// here is called by a hook at the point.
func (sp *spot) here() { sp.arrive.Do(func() { close(sp.reached) }) }

// strike ends the run by the means, once. A hook may do it itself, to be exact.
func (sp *spot) strike() {
	sp.struck.Do(func() {
		sp.means.strike(sp)
		if sp.point.after != nil {
			sp.point.after(sp)
		}
	})
	sp.here()
}

// within waits for something that must come.
func (sp *spot) within(what string, c <-chan struct{}) bool {
	sp.t.Helper()
	select {
	case <-c:
		return true
	case <-time.After(cancelHang):
		sp.errorf("%s: it does not come", what)
		return false
	}
}

// await waits until the agent has written a file and takes its pid from that.
func (sp *spot) await(name string) {
	sp.t.Helper()
	for deadline := time.Now().Add(cancelHang); ; time.Sleep(300 * time.Microsecond) {
		text, err := os.ReadFile(filepath.Join(sp.dir, name))
		if err == nil {
			pid, _ := strconv.Atoi(string(text))
			sp.pid.Store(int64(pid))
			return
		}
		if time.Now().After(deadline) {
			sp.errorf("the agent never comes to %q", name)
			return
		}
	}
}

// up is the usual point: the agent says that it is there.
func up(sp *spot) { sp.await("up") }

// hooked is a point that a hook finds.
func hooked(sp *spot) { sp.within("the point", sp.reached) }

// once brings one run to the point, strikes and checks.
func (p *point) once(sp *spot, agent string) {
	life, kill := newLife(sp.t.Context()), context.CancelFunc(nil)
	var killed context.Context
	killed, kill = context.WithCancel(context.Background())
	defer kill()
	sp.life, sp.kill = life, kill
	sp.ctx, sp.cancel = context.WithCancel(life)
	defer sp.cancel()
	free := sync.OnceFunc(func() { close(sp.free) })
	defer free()

	o := &subagent.ACPOptions{Kill: killed}
	if p.deaf {
		o.Graces = client.Graces{Cancel: 50 * time.Millisecond, Close: 50 * time.Millisecond, EOF: 50 * time.Millisecond, Term: hang, Kill: hang}
	}
	req := subagent.Request{Dir: sp.dir, Prompt: subagent.Text("go")}
	if p.events != nil {
		req.Events = func(e subagent.Event) { p.events(sp, e) }
	}
	if p.setup != nil {
		p.setup(sp, o, &req)
	}
	src := fmt.Sprintf("record %q\n%s", sp.log, p.script)
	prov, err := subagent.NewACP("scripted", client.Command{Path: agent, Args: []string{"-e", src}, Env: raceEnv}, o)
	if err != nil {
		sp.errorf("%v", err)
		return
	}
	sp.spawn(func() {
		defer close(sp.started)
		sp.run, sp.err = prov.Start(sp.ctx, req)
	})
	if !p.starting && !p.anywhere {
		if !sp.within("Start", sp.started) {
			return
		}
		if sp.err != nil {
			sp.errorf("it did not start: %v", sp.err)
			return
		}
	}
	read := make(chan struct{})
	if p.starting {
		close(read)
	} else {
		go func() { // ends with the run's updates
			defer close(read)
			if <-sp.started; sp.err != nil {
				return
			}
			for u := range sp.run.Updates() {
				if p.read != nil {
					p.read(sp, u)
				}
			}
		}()
	}
	p.at(sp)
	sp.strike()

	if !sp.within("Start", sp.started) {
		return
	}
	if sp.err != nil {
		sp.others.Wait()
		sp.neverStarted()
		return
	}
	over := sp.run.Done()
	if !sp.within("the outcome", over) {
		return
	}
	outcome, err := sp.run.Wait(context.Background())
	if err != nil {
		sp.errorf("Wait: %v", err)
		return
	}
	free()
	final := make(chan *subagent.Result, 1)
	closed := make(chan struct{})
	go func() { // ends with Close
		defer close(closed)
		final <- sp.run.Close()
	}()
	if !sp.within("Close", closed) || !sp.within("the end of Updates", read) {
		return
	}
	sp.others.Wait()
	sp.outcome = outcome
	sp.ended(outcome, <-final)
}

// ends are how the run may end.
func (sp *spot) ends() []end {
	p, m := sp.point, sp.means
	switch {
	case p.starting && sp.err == nil && !m.kill: // which is not at once
		return nil
	case sp.err != nil:
		ends := []end{{kind: client.KindCancelled}}
		if m.kind != "" {
			ends = []end{{kind: m.kind}}
		}
		if m.crash {
			ends = append(ends, end{kind: client.KindExit})
		}
		return ends
	case p.settled != "":
		return []end{{stop: p.settled}}
	case p.closing:
		return []end{{stop: stopreason.Aborted}}
	}
	ends := []end{{stop: stopreason.Aborted, kind: m.kind}}
	if m.crash {
		ends = append(ends, end{stop: stopreason.Error, kind: client.KindExit})
	}
	// Nobody waits for a Kill: a run that is not held up may be over before it strikes.
	if p.race || p.anywhere || m.kill && p.unborn {
		ends = append(ends, end{stop: stopreason.Completed})
	}
	return ends
}

// neverStarted checks the error of a start that was ended.
func (sp *spot) neverStarted() {
	e, ok := errors.AsType[*subagent.Error](sp.err)
	if !ok || !slices.Contains(sp.ends(), end{kind: e.Kind}) {
		sp.errorf("error %#v, want one of %v", sp.err, sp.ends())
		return
	}
	switch {
	case e.Kind == client.KindCancelled && !sp.means.kill && !errors.Is(e, context.Canceled):
		sp.errorf("%v is not context.Canceled", e)
	case e.Kind == client.KindTimeout && !errors.Is(e, context.DeadlineExceeded):
		sp.errorf("%v is not context.DeadlineExceeded", e)
	case e.Partial != nil && e.Partial.Stop == stopreason.Completed:
		sp.errorf("a run that never started is %q", e.Partial.Stop)
	}
	for _, f := range sp.frames() {
		if f.Method == acp.AgentMethodSessionPrompt || f.Method == acp.AgentMethodSessionCancel {
			sp.errorf("%s was sent by a run that never started", f.Method)
		}
	}
}

// ended checks the outcome and the final result of a run.
func (sp *spot) ended(outcome, final *subagent.Result) {
	got := end{stop: outcome.Stop}
	if outcome.Error != nil {
		got.kind = outcome.Error.Kind
	}
	if !slices.Contains(sp.ends(), got) {
		sp.errorf("%v (error %v), want one of %v", got, outcome.Error, sp.ends())
	}
	if again, err := sp.run.Wait(sp.ctx); again != outcome || err != nil {
		sp.errorf("Wait returns another outcome after Close: %v, %v", again, err)
	}
	if sp.run.Close() != final {
		sp.errorf("Close returns another result the second time")
	}
	if final.Stop != outcome.Stop || (final.Error == nil) != (outcome.Error == nil) || final.Output != outcome.Output {
		sp.errorf("the outcome changed: %q %v %q, then %q %v %q", outcome.Stop, outcome.Error, outcome.Output, final.Stop, final.Error, final.Output)
	}
	if final.Exit == nil || final.Exit.Rung == client.RungNone {
		sp.errorf("exit %v", final.Exit)
	}
	switch err := final.Err(); {
	case got.stop == stopreason.Completed && err != nil,
		got.stop == stopreason.Aborted && got.kind == "" && !errors.Is(err, context.Canceled),
		got.kind == client.KindTimeout && !errors.Is(err, context.DeadlineExceeded):
		sp.errorf("%v has the error %v", got, err)
	}
	for _, call := range final.ToolCalls {
		if call.Status == "pending" || call.Status == "in_progress" {
			sp.errorf("tool call %q is %q in a result", call.ID, call.Status)
		}
	}
	for _, w := range final.Warnings {
		if strings.Contains(w, "left behind") {
			sp.errorf("%s", w)
		}
	}
	if _, err := json.Marshal(final); err != nil {
		sp.errorf("%v", err)
	}
	sp.wire(final)
	if sp.point.check != nil {
		sp.point.check(sp, final)
	}
}

// wire checks what the agent was sent.
func (sp *spot) wire(final *subagent.Result) {
	prompts, cancels := 0, 0
	for _, f := range sp.frames() {
		switch f.Method {
		case acp.AgentMethodSessionPrompt:
			prompts++
		case acp.AgentMethodSessionCancel:
			cancels++
		case "$/cancel_request":
			if sp.point.closing {
				break // session/close was withdrawn
			}
			sp.errorf("a prompt was withdrawn with %s", f.Method)
		case "":
			if cancels > 0 && strings.Contains(string(f.Result), "selected") {
				sp.errorf("%s was written after session/cancel", f.Result)
			}
			if len(f.Error) > 0 {
				sp.errorf("a permission request was answered with an error: %s", f.Error)
			}
		}
	}
	answered := final.StopReason != nil && *final.StopReason == "cancelled"
	switch {
	case prompts > 1 || cancels > 1,
		// A cancel that is on its way when the answer is read is too late.
		final.Stop == stopreason.Completed && (prompts != 1 || cancels != 0 && sp.point.settled != ""),
		answered && cancels != 1,
		cancels > prompts:
		sp.errorf("%q with %d prompts and %d cancels", final.Stop, prompts, cancels)
	}
	// An agent that hears has its time to.
	if !sp.point.deaf && !sp.point.race && !sp.point.anywhere && !sp.means.kill && !sp.means.crash && final.Stop == stopreason.Aborted && prompts == 1 && !answered {
		sp.errorf("the agent's own answer to the cancel was not waited for")
	}
}

// frames are the lines that the agent has read; the last may be torn where it was
// killed.
func (sp *spot) frames() []frame {
	text, _ := os.ReadFile(sp.log)
	var frames []frame
	for line := range strings.Lines(string(text)) {
		var f frame
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			if !sp.means.crash && !sp.means.kill && !sp.point.deaf {
				sp.errorf("the agent read %.200q: %v", line, err)
			}
			continue
		}
		frames = append(frames, f)
	}
	return frames
}

// drive does all of a point's runs.
func (p *point) drive(t *testing.T, agent string, n int, seed uint64) {
	held := leak.Snapshot()
	running := goleak.IgnoreCurrent()
	var usable []means
	for _, m := range allMeans {
		if !(m.run && p.starting) && !(m.crash && (p.unborn || p.settled != "" || p.closing)) {
			usable = append(usable, m)
		}
	}
	if p.heavy {
		n /= 3
	}
	root := canonical(t, t.TempDir())
	next := make(chan int)
	var workers sync.WaitGroup
	for range cancelWorkers {
		workers.Go(func() {
			for i := range next {
				sp := &spot{
					t: t, point: p, means: usable[i%len(usable)], rand: rand.New(rand.NewPCG(seed, uint64(i))),
					dir:  filepath.Join(root, strconv.Itoa(i)),
					free: make(chan struct{}), reached: make(chan struct{}), started: make(chan struct{}),
				}
				sp.log = sp.dir + ".log"
				if err := os.Mkdir(sp.dir, 0o700); err != nil {
					t.Error(err)
					continue
				}
				p.once(sp, agent)
			}
		})
	}
	for i := range max(n, len(usable)) {
		if t.Failed() {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	if err := goleak.Find(running); err != nil {
		t.Error(err)
	}
	if err := held.Check(); err != nil {
		t.Error(err)
	}
	if t.Failed() {
		t.Logf("repeat it with -cancel.seed=%d", seed)
	}
}

// cheapAgent builds the scripted agent without the race detector, which makes a start
// six times as cheap. Where that cannot be, this test binary is the agent.
func cheapAgent(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "scripted-agent")
	build := exec.Command("go", "build", "-o", path, "../testdata/scripted-agent")
	if out, err := build.CombinedOutput(); err == nil {
		return path
	} else {
		t.Logf("this test binary is the agent: %v: %s", err, out)
	}
	self, args := script.Command(t, "")
	link := filepath.Join(t.TempDir(), "agent")
	text := fmt.Sprintf("#!/bin/sh\nexec '%s' '%s' \"$@\"\n", self, args[0])
	if err := os.WriteFile(link, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return link
}

// held is a policy that says when it is asked and then waits for release, or for the
// end of the request too.
func held(sp *spot, heeds bool) permission.Policy {
	return permission.PolicyFunc(func(ctx context.Context, req permission.Request) permission.Decision {
		sp.here()
		done := ctx.Done()
		if !heeds {
			done = nil
		}
		select {
		case <-done:
		case <-sp.free:
		}
		return permission.Allow().Decide(ctx, req)
	})
}
