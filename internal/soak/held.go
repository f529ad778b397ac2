package main

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/errand-acp/errand/internal/leak"
)

// runVariable is where the processes of a run have its id.
const runVariable = "ERRAND_RUN"

// held is what this process holds at one moment.
type held struct {
	goroutines, descriptors, threads, children int
	heap                                       int64 // bytes
}

// heapMargin is how much the live heap may have grown by a phase: what the runtime keeps
// for next time.
const heapMargin = 4 << 20

// settle is how long what was let go may take to be gone.
const settle = 10 * time.Second

func look() held {
	state := leak.Snapshot()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return held{
		goroutines: runtime.NumGoroutine(), descriptors: len(state.FDs), threads: countThreads(),
		children: len(state.Children), heap: int64(m.HeapAlloc),
	}
}

// rest is what is held once everything unused was let go.
func rest() held {
	runtime.GC()
	runtime.GC() // what finalizers of the first let go
	return look()
}

// leftSince returns what is held beyond before; mark is that of all processes of this
// program's runs.
func leftSince(before held, state leak.State, mark string) (now held, wrong []string) {
	deadline := time.Now().Add(settle)
	for {
		now, wrong = rest(), nil
		if err := state.Check(); err != nil {
			wrong = append(wrong, err.Error())
		}
		if left := processesOf(mark); len(left) > 0 {
			wrong = append(wrong, "processes are left: "+clip(strings.Join(left, "\n")))
		}
		if now.goroutines > before.goroutines {
			wrong = append(wrong, fmt.Sprintf("%d goroutines, %d before\n%s", now.goroutines, before.goroutines, stacks()))
		}
		if now.heap > before.heap+heapMargin {
			wrong = append(wrong, fmt.Sprintf("%d bytes of heap, %d before", now.heap, before.heap))
		}
		if len(wrong) == 0 || time.Now().After(deadline) {
			return now, wrong
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func stacks() string {
	text := make([]byte, 64<<10)
	return strings.TrimSpace(string(text[:runtime.Stack(text, true)]))
}

// peaks is the most that was held, of each thing for itself.
type peaks struct {
	mu   sync.Mutex // guards most
	most held
	stop chan struct{}
	done sync.WaitGroup
}

// watch looks often until end is called.
func watch() *peaks {
	p := &peaks{stop: make(chan struct{})}
	p.done.Go(func() { // ends with stop
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.take(look())
			case <-p.stop:
				return
			}
		}
	})
	return p
}

func (p *peaks) take(h held) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := &p.most
	m.goroutines, m.descriptors = max(m.goroutines, h.goroutines), max(m.descriptors, h.descriptors)
	m.threads, m.children = max(m.threads, h.threads), max(m.children, h.children)
	m.heap = max(m.heap, h.heap)
}

func (p *peaks) end() held {
	close(p.stop)
	p.done.Wait()
	return p.most
}
