package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/errand-acp/errand/internal/leak"
)

// soak is what all runs have in common.
type soak struct {
	out    io.Writer
	root   string    // the directory of the runs' directories
	errand string    // the file of a built errand
	mark   string    // the id of this program among the runs of its processes
	until  time.Time // when the last run may begin

	mu       sync.Mutex // guards the rest
	tally    tally
	failures int
}

// maxFailures is after how many no run begins any more: they are of one kind by then.
const maxFailures = 10

// phase is many runs of one sort.
type phase struct {
	name   string
	atOnce int
	runs   int
	scene  func(i int) *scene
}

// figures are what a phase came to.
type figures struct {
	phase
	done                int // runs
	took                time.Duration
	before, most, after held
	wrong               []string
}

// carryOut plays the scenes of a phase and looks at what is left of them.
func (k *soak) carryOut(p phase) figures {
	f := figures{phase: p}
	state := leak.Snapshot()
	f.before = rest()
	peak := watch()
	begin := time.Now()

	next := make(chan int)
	var players sync.WaitGroup
	for range p.atOnce {
		players.Go(func() { // ends when next is closed
			for i := range next {
				k.play(p.scene(i))
			}
		})
	}
	for ; f.done < p.runs && !k.enough(); f.done++ {
		next <- f.done
	}
	close(next)
	players.Wait()

	f.took = time.Since(begin)
	f.most = peak.end()
	f.after, f.wrong = leftSince(f.before, state, k.mark)
	for _, wrong := range f.wrong {
		fmt.Fprintf(k.out, "\nFAILED: after %s: %s\n", p.name, wrong)
	}
	fmt.Fprintf(k.out, "%s: %d runs, %d at once, %v; the longest so far was %s, %v\n",
		p.name, f.done, p.atOnce, f.took.Round(time.Millisecond), k.tally.slowest, k.tally.longest.Round(time.Millisecond))
	return f
}

// enough reports whether no run is to begin any more.
func (k *soak) enough() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.failures >= maxFailures || time.Now().After(k.until)
}

// play carries one scene out and counts it.
func (k *soak) play(s *scene) {
	p := s.play(k.root, k.errand)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tally.add(p)
	if len(p.wrong) > 0 {
		k.failures++
		p.print(k.out)
	}
}

// failed is how many runs and phases were not as they must be, and runs that were not
// carried out for that.
func (k *soak) failed(phases []figures) int {
	n := k.failures
	for _, f := range phases {
		n += len(f.wrong) + f.runs - f.done
	}
	return n
}
