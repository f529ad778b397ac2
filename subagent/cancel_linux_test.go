package subagent_test

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/ptrace"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// The last rungs of Close are over in no time; where a process can be kept from exiting
// there is a moment to strike in.
func init() {
	points = append(points,
		point{
			name: "in Close, at SIGKILL", settled: stopreason.Completed, closing: true,
			script: "write pid \"$pid\"; ignore TERM\non eof; wait forever",
			setup:  soon, at: dying("pid"), after: (*spot).letGo,
		},
		point{
			name: "in Close, in the sweep", settled: stopreason.Completed, closing: true,
			script: "spawn session; write helper \"$pid\"; wait forever; end; wait file helper",
			setup:  soon, at: dying("helper"), after: (*spot).letGo,
		},
	)
}

func soon(_ *spot, o *subagent.ACPOptions, _ *subagent.Request) {
	o.Graces = client.Graces{EOF: 20 * time.Millisecond, Term: 20 * time.Millisecond, Kill: hang}
}

// dying closes the run and is there when a process of it has got SIGKILL and is on its
// way out, where it stays until it is let go.
func dying(file string) func(*spot) {
	return func(sp *spot) {
		sp.within("the outcome", sp.run.Done())
		sp.await(file)
		release, err := ptrace.KeepFromExiting(int(sp.pid.Load()))
		if err != nil {
			sp.t.Logf("it cannot be kept from exiting: %v", err)
		}
		sp.release = release
		sp.spawn(func() { sp.run.Close() })
		for deadline := time.Now().Add(cancelHang); err == nil; time.Sleep(300 * time.Microsecond) {
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", sp.pid.Load()))
			if _, state, _ := strings.Cut(string(stat), ") "); strings.HasPrefix(state, "t") {
				return
			}
			if time.Now().After(deadline) {
				sp.errorf("the process gets no SIGKILL: %s", stat)
				return
			}
		}
	}
}

func (sp *spot) letGo() { sp.release() }
