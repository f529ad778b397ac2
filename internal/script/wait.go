package script

import (
	"os"
	"time"
)

// A wait in a prompt's section ends early when the turn is cancelled, and the turn
// with it.

var waitStatements = []*statement{
	{
		usage: "wait DURATION",
		doc:   "Pauses.",
		run:   runWait,
	},
	{
		usage: "wait forever",
		doc:   "Never goes on.",
		run:   func(t *task, c *call) error { return t.waitFor(nil) },
	},
	{
		usage: "wait for METHOD [N]",
		doc:   "Waits until the client has sent METHOD N times (1).",
		run:   runWaitFor,
	},
	{
		usage: "wait cancel",
		doc:   "Waits for the turn's session/cancel. A section with this in it says itself how a cancelled turn goes on and ends.",
		run:   func(t *task, c *call) error { return t.until(func() bool { return t.turn.cancelled }) },
	},
	{
		usage: "wait idle",
		doc:   "Waits until no earlier turn of the session is open.",
		run:   runWaitIdle,
	},
	{
		usage: "wait background",
		doc:   "Waits for the background blocks that this section has started.",
		run:   func(t *task, c *call) error { return t.until(func() bool { return t.turn.background == 0 }) },
	},
	{
		usage: "wait children",
		doc:   "Waits until every spawned process has ended.",
		run:   func(t *task, c *call) error { return t.until(func() bool { return len(t.r.children) == 0 }) },
	},
	{
		usage: "wait eof",
		doc:   "Waits for the end of stdin.",
		run:   func(t *task, c *call) error { return t.until(func() bool { return t.r.counts["eof"] > 0 }) },
	},
	{
		usage: "wait signal SIGNAL",
		doc:   "Waits until the signal has come; it has no other effect.",
		run:   runWaitSignal,
	},
	{
		usage: "wait file PATH",
		doc:   "Waits until the file exists.",
		run:   runWaitFile,
	},
}

func runWait(t *task, c *call) error {
	d, err := t.duration(c, "DURATION")
	if err != nil {
		return err
	}
	return t.pause(d)
}

func (t *task) pause(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-t.interruption():
		return errInterrupted
	case <-t.r.ctx.Done():
		return errEnded
	}
}

func runWaitFor(t *task, c *call) error {
	n := 1
	if c.has("N") {
		var err error
		if n, err = t.number(c, "N"); err != nil {
			return err
		}
	}
	method := t.text(c, "METHOD")
	return t.until(func() bool { return t.r.counts[method] >= n })
}

// runWaitIdle looks only at earlier turns, so that two that wait cannot wait for each
// other.
func runWaitIdle(t *task, c *call) error {
	return t.until(func() bool {
		turns := t.session.turns
		return len(turns) == 0 || turns[0].turn == t.turn
	})
}

func runWaitSignal(t *task, c *call) error {
	event := "signal " + t.text(c, "SIGNAL")
	return t.until(func() bool { return t.r.counts[event] > 0 })
}

// runWaitFile looks again and again: there is no portable way to be told.
func runWaitFile(t *task, c *call) error {
	name := t.path(t.text(c, "PATH"))
	for {
		if _, err := os.Lstat(name); err == nil {
			return nil
		}
		if err := t.pause(5 * time.Millisecond); err != nil {
			return err
		}
	}
}
