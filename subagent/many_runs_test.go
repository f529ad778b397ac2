package subagent_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

const (
	// What an idle run holds at most: its prompt is sent, its agent silent.
	goroutinesOfRun = 4
	bytesOfRun      = 128 << 10
	// bytesOfTask is what a task of a fan-out holds at most that waits for its turn.
	bytesOfTask = 16 << 10
)

// 500 runs, 50 at once, each with a home of its own: every result is there, a run that waits
// for its agent holds no more than it may, and nothing is left of any of them.
func TestFiveHundredRuns(t *testing.T) {
	const runs, atOnce = 500, 50
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	dir, mark := t.TempDir(), rand.Text()
	// The first wait until all that may run at once are there.
	p := scripted(t, `
		on session/prompt "early"; text "I am "; write "$env.HOME/mine" "$prompt"; text "$prompt"; wait file go
		on session/prompt; text "I am "; write "$env.HOME/mine" "$prompt"; text "$prompt"`,
		&subagent.ACPOptions{Home: &subagent.Home{}}, "ERRAND_TEST_MARK="+mark)
	one := func(text string) subagent.Task {
		return subagent.Task{Provider: p, Request: subagent.Request{Dir: dir, Prompt: subagent.Text(text)}}
	}
	subagent.Gather(bounded(t), []subagent.Task{one("first")}, nil) // what is made once, is

	ctx, cancel := context.WithTimeout(t.Context(), 10*hang)
	defer cancel()
	state := leak.Snapshot()
	var there atomic.Int64
	all := make(chan struct{}) // closed when those that wait are there
	var before holding
	var watcher sync.WaitGroup
	watcher.Go(func() { // ends when they are, or no result is to come any more
		select {
		case <-all:
		case <-ctx.Done():
			return
		}
		idle(t, before, runs, atOnce)
		if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
			t.Error(err)
		}
	})
	before = holds()
	list := make([]subagent.Task, runs)
	for i := range list {
		if i >= atOnce {
			list[i] = one(fmt.Sprint("run ", i))
			continue
		}
		list[i] = one(fmt.Sprint("early ", i))
		list[i].Request.Events = func(e subagent.Event) {
			if e.Type == subagent.EventUpdate && strings.Contains(string(e.Update), "early ") && there.Add(1) == atOnce {
				close(all)
			}
		}
	}
	var results [runs]*subagent.Result
	most := 0
	for i, res := range subagent.FanOut(ctx, list, &subagent.FanOutOptions{Limit: atOnce}) {
		results[i] = res
		if i%10 == 0 { // it takes a while
			most = max(most, len(carrying(mark)))
		}
	}
	cancel()
	watcher.Wait()
	check.Equal(t, "runs that were there at once", there.Load(), atOnce)
	if most > atOnce {
		t.Errorf("there were %d processes", most)
	}
	for i, res := range results {
		check.Equal(t, fmt.Sprint("stop of ", i), res.Stop, stopreason.Completed)
		check.Equal(t, fmt.Sprint("output of ", i), res.Output, "I am "+list[i].Request.Prompt[0].Text.Text)
		// Of others' processes that cannot be looked at they may tell.
		check.Lacks(t, strings.Join(res.Warnings, "\n"), "the home of the run", "could not be ended")
	}
	totals := subagent.Total(results[:])
	check.Equal(t, "completed", totals.Outcomes[stopreason.Completed], runs)

	if err := state.Check(); err != nil {
		t.Error(err)
	}
	until(t, fmt.Sprint(before.goroutines, " goroutines"), func() bool { return runtime.NumGoroutine() <= before.goroutines })
	if left := carrying(mark); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	nothingIn(t, temp)
}

// idle checks what atOnce of runs tasks hold that are idle, while the rest wait for their turn.
func idle(t *testing.T, before holding, runs, atOnce int) {
	// Each task of a fan-out has a goroutine, which waits for its turn and then for its run.
	most := before.goroutines + runs + goroutinesOfRun*atOnce
	// What a start needs besides is over soon.
	for begin := time.Now(); runtime.NumGoroutine() > most && time.Since(begin) < hang; {
		time.Sleep(time.Millisecond)
	}
	now := holds()
	t.Logf("an idle run: %.2f goroutines; all that is idle or waits: %d KiB", float64(now.goroutines-before.goroutines-runs)/float64(atOnce), (now.bytes-before.bytes)>>10)
	if now.goroutines > most {
		t.Errorf("with %d idle runs there are %d goroutines, want %d at most", atOnce, now.goroutines, most)
	}
	if bytes := now.bytes - before.bytes; !raceEnabled && bytes > int64(bytesOfRun*atOnce+bytesOfTask*(runs-atOnce)) {
		t.Errorf("%d idle runs and %d tasks that wait hold %d bytes, want %d and %d each at most", atOnce, runs-atOnce, bytes, bytesOfRun, bytesOfTask)
	}
}

// holding is what this process holds: goroutines, live heap and stacks.
type holding struct {
	goroutines int
	bytes      int64
}

func holds() holding {
	runtime.GC()
	runtime.GC() // what finalizers of the first have let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return holding{runtime.NumGoroutine(), int64(m.HeapAlloc + m.StackInuse)}
}

// carrying are the processes, zombies aside, that have mark in their environment; none where
// the system does not tell.
func carrying(mark string) (processes []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		if env, err := os.ReadFile(f); err == nil && bytes.Contains(env, []byte(mark)) {
			processes = append(processes, filepath.Base(filepath.Dir(f)))
		}
	}
	return processes
}
