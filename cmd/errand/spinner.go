package main

import (
	"sync/atomic"
	"time"
)

const (
	// spinAfter is how long nothing must have been shown before the spinner comes.
	spinAfter = 400 * time.Millisecond
	spinEvery = 100 * time.Millisecond
)

var spinFrames = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

// starting is the first label of a spinner.
const starting = "starting"

// spinner says that something is under way while nothing is to be seen.
type spinner struct {
	label string // guarded by its screen
	drawn bool   // guarded by its screen

	shown atomic.Int64 // when something was shown last, in nanoseconds since began
	began time.Time
	quit  chan struct{}
	ended chan struct{}
}

// startSpinner calls draw with each frame and the time since the start, while touch
// was not called for a moment.
func startSpinner(draw func(frame string, since time.Duration)) *spinner {
	sp := &spinner{label: starting, began: time.Now(), quit: make(chan struct{}), ended: make(chan struct{})}
	// Ends with stop, which waits for it.
	go func() {
		defer close(sp.ended)
		tick := time.NewTicker(spinEvery)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-sp.quit:
				return
			case <-tick.C:
				if since := time.Since(sp.began); since-time.Duration(sp.shown.Load()) >= spinAfter {
					draw(spinFrames[n%len(spinFrames)], since)
				}
			}
		}
	}()
	return sp
}

// touch says that something was shown.
func (sp *spinner) touch() { sp.shown.Store(int64(time.Since(sp.began))) }

func (sp *spinner) stopped() bool {
	select {
	case <-sp.quit:
		return true
	default:
		return false
	}
}

func (sp *spinner) stop() {
	close(sp.quit)
	<-sp.ended
}
