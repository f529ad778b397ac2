package subagent_test

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/ptrace"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// Where one can look into a pipe it is known that a prompt is being written. And the last
// rungs of Close are over in no time: where a process can be kept from exiting there is a
// moment to strike in.
func init() {
	points = append(points,
		point{
			// session/cancel is queued behind the prompt, which the agent answers unread.
			name: "an answer before the cancel is written", race: true, deaf: true, heavy: true,
			script: `on session/new; write up "$pid"; stdin stop; background; wait file go
				send {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}; end`,
			setup: func(sp *spot, o *subagent.ACPOptions, req *subagent.Request) {
				large(sp, o, req)
				o.Graces.Cancel = forever
			},
			at: sent, after: (*spot).goOn,
			check: func(sp *spot, res *subagent.Result) {
				if res.Stop != stopreason.Completed && !(sp.means.kill || sp.means.crash) {
					sp.errorf("%q although it was answered before session/cancel was written", res.Stop)
				}
			},
		},
		point{
			name: "in Close, at SIGKILL", settled: stopreason.Completed, closing: true,
			// The agent goes at the end of its stdin. What it leaves in its group is not swept up.
			script: `spawn; ignore TERM; write helper "$pid"; wait forever; end; wait file helper`,
			setup: func(sp *spot, o *subagent.ACPOptions, req *subagent.Request) {
				brisk(sp, o, req)
				o.Sweep = client.SweepGroup
			},
			at: dying("helper"), after: (*spot).letGo, check: noHelper,
		},
		point{
			name: "in Close, in the sweep", settled: stopreason.Completed, closing: true,
			script: "spawn session; write helper \"$pid\"; wait forever; end; wait file helper",
			setup:  brisk, at: dying("helper"), after: (*spot).letGo, check: noHelper,
		},
	)
}

// brisk comes to SIGKILL in no time.
func brisk(_ *spot, o *subagent.ACPOptions, _ *subagent.Request) {
	o.Graces.EOF, o.Graces.Term = soon, soon
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

// noHelper checks that the process which the agent had started is gone; nobody may have
// reaped it.
func noHelper(sp *spot, _ *subagent.Result) {
	sp.await("helper")
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", sp.pid.Load()))
	if _, state, _ := strings.Cut(string(stat), ") "); state != "" && !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X") {
		sp.errorf("the helper is alive: %s", stat)
	}
}

// sent is there when a part of the prompt is in the agent's stdin, which it does not read.
func sent(sp *spot) {
	up(sp)
	for deadline := time.Now().Add(cancelHang); ; time.Sleep(300 * time.Microsecond) {
		n := 0
		if f, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/0", sp.pid.Load()), os.O_RDONLY|unix.O_NONBLOCK, 0); err == nil {
			n, _ = unix.IoctlGetInt(int(f.Fd()), unix.TIOCINQ)
			f.Close()
		}
		if n > 0 {
			return
		}
		if time.Now().After(deadline) {
			sp.errorf("the prompt is not written")
			return
		}
	}
}
