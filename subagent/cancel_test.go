//go:build unix

package subagent_test

import (
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// everything is an honest agent whose run has a frame of each sort.
const everything = `on session/close
on session/prompt
	text "one "
	tool c1 "Write it" kind=edit
` + askToWrite + `
	tool-update c1 status=completed
	plan "[x] it"
	text two`

// atFrame is a point at the nth thing that passes between the run and its agent.
func atFrame(n int) *point {
	return &point{
		name: "at frame " + strconv.Itoa(n), script: everything, anywhere: true, unborn: true,
		setup: func(sp *spot, o *subagent.ACPOptions, _ *subagent.Request) {
			o.Permission = permission.Allow()
			var seen atomic.Int64
			o.Logger = slog.New(frameHook(func(string, string, int) {
				if seen.Add(1) == int64(n) {
					sp.strike()
				}
			}))
		},
		// A run that is over before is closed then.
		at: func(sp *spot) {
			select {
			case <-sp.reached:
			case <-sp.over():
			}
		},
	}
}

// frames is how many things pass in such a run, up to its close.
const frames = 24

// atRandom is a point that nobody has thought of.
var atRandom = point{
	name: "at random", script: everything, anywhere: true, unborn: true,
	setup: func(_ *spot, o *subagent.ACPOptions, _ *subagent.Request) { o.Permission = permission.Allow() },
	at: func(sp *spot) {
		// The moment is what is chosen here; nothing is waited for. Most of a run is its
		// start.
		time.Sleep(time.Duration(sp.rand.ExpFloat64() * float64(6*time.Millisecond)))
	},
}

func TestCancel(t *testing.T) {
	seed := *cancelSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	agent := cheapAgent(t)
	for i := range points {
		p := &points[i]
		t.Run(p.name, func(t *testing.T) { p.drive(t, agent, *cancelRuns, seed) })
	}
	t.Run("at each frame", func(t *testing.T) {
		for n := range frames {
			atFrame(n+1).drive(t, agent, max(*cancelRuns/6, 5), seed)
		}
	})
	t.Run("at random", func(t *testing.T) { atRandom.drive(t, agent, *cancelRuns*10, seed) })
}
