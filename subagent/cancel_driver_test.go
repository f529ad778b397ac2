//go:build unix

package subagent_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/internal/script"
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

// patient are graces that never pass: what is waited for ends each wait. soon is for
// the rungs that an agent is deaf to.
var patient = client.Graces{Cancel: forever, Close: forever, EOF: forever, Term: forever, Kill: forever}

const (
	forever = time.Hour
	soon    = 50 * time.Millisecond
)

// cancelWorkers is how many runs are under way at once.
const cancelWorkers = 4

// cancelHang is hang for runs of which several are under way on a machine that may have
// more to do.
const cancelHang = 3 * hang

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
	// unborn says that there is no agent, or that nobody knows its pid; unspawned that
	// there must be none.
	unborn, unspawned bool
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

	o := &subagent.ACPOptions{Kill: killed, Graces: patient}
	if p.deaf {
		o.Graces.Cancel, o.Graces.Close, o.Graces.EOF = soon, soon, soon
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
