package subagent

import (
	"context"
	"time"
)

// idleTicks is how many times within its limit the idle clock looks.
const idleTicks = 10

// openCallFactor is how much longer than its limit the idle clock waits while a
// tool call is open: a build may say nothing for long.
const openCallFactor = 10

// idleClock decides when an agent has been silent for too long. It is pure: whoever
// has the time and the counts calls tick.
type idleClock struct {
	limit  time.Duration
	last   time.Time // when the agent was last seen to do something
	looked time.Time // when tick was last called
	frames int64     // how many frames had been read by then
}

// activity is what the clock goes by.
type activity struct {
	frames   int64 // frames read so far
	waiting  bool  // the agent waits for us
	openCall bool  // a tool call is under way
}

// tick looks at the agent and reports whether its time is up. A frame, and a wait of
// the agent for us, begin the time anew. A look that is late counts for two at the most:
// where this process stood still (Ctrl-Z, a machine that slept), what the agent wrote
// meanwhile has not been read yet.
func (c *idleClock) tick(now time.Time, a activity) (expired bool) {
	if late := now.Sub(c.looked) - 2*c.limit/idleTicks; late > 0 {
		c.last = c.last.Add(late)
	}
	c.looked = now
	if a.frames != c.frames || a.waiting {
		c.frames, c.last = a.frames, now
		return false
	}
	limit := c.limit
	if a.openCall {
		limit *= openCallFactor
	}
	return now.Sub(c.last) >= limit
}

// watchIdle calls expire once the agent has been silent for limit. It returns then,
// or when ctx ends; the run's turn starts it on a goroutine of its own.
func watchIdle(ctx context.Context, limit time.Duration, look func() activity, expire func()) {
	now := time.Now()
	clock := idleClock{limit: limit, last: now, looked: now, frames: look().frames}
	ticker := time.NewTicker(max(limit/idleTicks, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if clock.tick(time.Now(), look()) {
				expire()
				return
			}
		}
	}
}
