//go:build unix

package subagent_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/errand-acp/errand/subagent"
)

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

// over is closed when the outcome has settled, or the start has failed.
func (sp *spot) over() <-chan struct{} {
	<-sp.started
	if sp.err != nil {
		return sp.started
	}
	return sp.run.Done()
}

// goOn lets an agent go on that waits for the file "go".
func (sp *spot) goOn() {
	if err := os.WriteFile(filepath.Join(sp.dir, "go"), nil, 0o600); err != nil {
		sp.errorf("%v", err)
	}
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
