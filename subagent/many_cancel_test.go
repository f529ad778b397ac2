package subagent

import (
	"context"
	crand "crypto/rand"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/stopreason"
)

var (
	fanOuts = flag.Int("fanouts", 60, "how many fan-outs TestFanOutsOfProcessesAtRandom cancels; make soak has it cancel 200")
	seed    = flag.Uint64("seed", 0, "what TestFanOutsOfProcessesAtRandom draws them from; 0: it is drawn too")
)

// Fan-outs over processes that are cancelled at random moments: each task has had one result
// or the loop was left, what has finished is in it, no process is left and every slot is back.
func TestFanOutsOfProcessesAtRandom(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64N(1_000_000) + 1
	}
	t.Logf("-seed %d", *seed)
	before := leak.Snapshot()
	w := newWorld(t)
	for i := range *fanOuts {
		d := &drawn{world: w, T: t, Rand: rand.New(rand.NewPCG(*seed, uint64(i))), name: fmt.Sprintf("-seed %d, fan-out %d", *seed, i)}
		d.carryOut()
		if t.Failed() {
			return
		}
	}
	w.pool.Close()
	if err := before.Check(); err != nil {
		t.Error(err)
	}
	if left := w.processes(); len(left) > 0 {
		t.Errorf("-seed %d: processes are left: %v", *seed, left)
	}
}

// world is what fan-outs draw from.
type world struct {
	dir, mark string
	providers []Provider
	pool      *Pool
}

// deeds are what the agents can be asked for, besides an answer.
var deeds = []string{"answer", "answer", "answer", "crash", "refuse", "hang", "helper", "deaf", "slow"}

func newWorld(t *testing.T) *world {
	w := &world{dir: t.TempDir(), mark: crand.Text()}
	const does = `
		on session/prompt "crash"; text crash; raise KILL
		on session/prompt "refuse"; text refuse; stop refusal
		on session/prompt "hang"; text hang; wait forever
		on session/prompt "helper"; spawn session; ignore TERM; wait forever; end; text helper; stop end_turn
		on session/prompt "deaf"; ignore TERM; text deaf; background; wait forever; end; wait cancel; wait forever
		on session/prompt "slow"; text slow; wait 200ms; stop end_turn
		on session/prompt; text answer`
	// Who is to be ended is not given much time, and it makes no difference to the results.
	o := &ACPOptions{Graces: client.Graces{Cancel: 100 * time.Millisecond, EOF: 200 * time.Millisecond, Term: 100 * time.Millisecond}}
	command := func(mark, src string) client.Command {
		path, args := script.Command(t, src)
		return client.Command{Path: path, Args: args, Env: []string{"GORACE=atexit_sleep_ms=0", "ERRAND_TEST_MARK=" + w.mark + mark}}
	}
	provider := func(p Provider, err error) Provider {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a := provider(NewACP("a", command("", does), o))
	b := provider(NewACP("b", command("", does), o))
	broken := provider(NewACP("broken", command("", "on session/new; wait 20ms; fail -32603 no"), o))
	missing := provider(NewACP("missing", client.Command{Path: "/no/such/agent"}, o))
	either := provider(Fallback("either", &FallbackOptions{Retries: 1, Backoff: time.Millisecond}, missing, broken, b))
	var err error
	// Its spares are there all the time.
	if w.pool, err = NewPool("pool", command(" of the pool", does), o, &PoolOptions{Dirs: []string{w.dir}, Recent: -1}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.pool.Close)
	w.providers = []Provider{a, a, b, broken, missing, either, w.pool}
	return w
}

// drawn is one fan-out.
type drawn struct {
	*world
	*testing.T
	*rand.Rand
	name string

	mu     sync.Mutex // guards what is below
	events int
	ended  map[int]*Result // the outcomes that were told of, by task
}

func (d *drawn) carryOut() {
	limits, err := NewLimits(LimitOptions{Runs: 1 + d.IntN(8), PerProvider: d.IntN(4), Starts: d.IntN(3), Total: d.IntN(2) * 6})
	if err != nil {
		d.Fatal(err)
	}
	d.ended = map[int]*Result{}
	ctx, cancel := context.WithCancel(d.Context())
	defer cancel()
	// It ends at an event or a result, with a delay, or by the clock: in any case then.
	tasks := make([]Task, 1+d.IntN(8))
	atEvent, atResult, delay := -1, -1, time.Duration(d.Int64N(int64(20*time.Millisecond)))
	switch d.IntN(3) {
	case 0:
		atEvent = d.IntN(3 * len(tasks))
	case 1:
		atResult = d.IntN(len(tasks))
	}
	leaves := d.IntN(3) == 0
	var done context.CancelFunc
	ctx, done = context.WithTimeout(ctx, time.Duration(d.Int64N(int64(1500*time.Millisecond))))
	defer done()

	for i := range tasks {
		p := d.providers[d.IntN(len(d.providers))]
		if d.IntN(3) == 0 {
			p = limits.Provider(p)
		}
		tasks[i] = Task{Provider: p, Request: Request{Dir: d.dir, Prompt: Text(deeds[d.IntN(len(deeds))]), Events: func(e Event) {
			d.mu.Lock()
			defer d.mu.Unlock()
			if e.Type == EventEnd {
				d.ended[i] = e.Result
			}
			if d.events++; d.events == atEvent {
				time.AfterFunc(delay, cancel)
			}
		}}}
	}
	o := &FanOutOptions{Limit: []int{NoLimit, 0, 1, 3}[d.IntN(4)], Limits: limits, Want: d.IntN(3)}
	seen := map[int]*Result{}
	for i, res := range FanOut(ctx, tasks, o) {
		if res == nil || seen[i] != nil {
			d.Fatalf("%s: result %d: %v after %v", d.name, i, res, seen[i])
		}
		seen[i] = res
		if len(seen) != atResult {
			continue
		}
		if leaves {
			break
		}
		cancel()
	}
	if left := d.processes(); len(left) > 0 {
		d.Errorf("%s: processes are left: %v", d.name, left)
	}
	// The next spare of the pool is started through the gate that the last one went through.
	err = limits.free()
	for begin := time.Now(); err != nil && time.Since(begin) < time.Minute; err = limits.free() {
		time.Sleep(time.Millisecond)
	}
	if err != nil {
		d.Errorf("%s: %v", d.name, err)
	}
	d.check(tasks, seen, len(seen) == atResult && leaves)
}

// check checks the results. Where the loop was left not all of them came.
func (d *drawn) check(tasks []Task, seen map[int]*Result, left bool) {
	if !left && len(seen) != len(tasks) {
		d.Errorf("%s: %d results of %d tasks", d.name, len(seen), len(tasks))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, res := range seen {
		text := tasks[i].Request.Prompt[0].Text.Text
		outcome := d.ended[i]
		switch {
		case outcome == nil && res.Stop == stopreason.Completed:
			d.Errorf("%s: task %d, %s, has completed, and nobody was told", d.name, i, text)
		case outcome != nil && (outcome.Stop != res.Stop || outcome.Output != res.Output || outcome.RunID != res.RunID):
			d.Errorf("%s: task %d, %s, came to %s %q, and its result is %s %q", d.name, i, text, outcome.Stop, outcome.Output, res.Stop, res.Output)
		case res.Stop == stopreason.Completed && res.Output != text:
			d.Errorf("%s: task %d, %s, completed with %q", d.name, i, text, res.Output)
		case res.Stop == stopreason.Error && res.Error == nil:
			d.Errorf("%s: task %d, %s, has failed without an error", d.name, i, text)
		}
		for _, warning := range res.Warnings {
			if strings.Contains(warning, "left behind") {
				d.Errorf("%s: task %d, %s: %s", d.name, i, text, warning)
			}
		}
	}
}

// processes are those of the runs, and what they have started; of the pool only once that is
// closed.
func (w *world) processes() (left []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		env, err := os.ReadFile(f)
		_, after, ok := strings.Cut(string(env), "ERRAND_TEST_MARK="+w.mark)
		if err == nil && ok && (!strings.HasPrefix(after, " of the pool") || w.pool.ctx.Err() != nil) {
			left = append(left, f)
		}
	}
	return left
}
