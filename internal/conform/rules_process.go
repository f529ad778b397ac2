package conform

import (
	"fmt"
	"time"
)

const whyEnd = "A client that crashes, or is killed, can say goodbye in no other way"

var processRules = []Rule{
	{
		ID: "exit-on-eof", Title: "the agent exits when its stdin ends", Level: Manners,
		Quote:  whyEnd + ": an agent that stays is left behind, with its memory and its locks, for every client that ever was.",
		scenes: []string{"handshake"},
		judge:  exits(markEOF, "its stdin ended"),
	},
	{
		ID: "exit-on-eof-in-turn", Title: "the agent exits when its stdin ends in the middle of a turn", Level: Manners,
		Quote:  whyEnd + ": an agent that works on goes on changing files, and spending money, for nobody.",
		scenes: []string{"eof-in-turn"},
		judge:  exits(markEOF, "its stdin ended in the middle of a turn"),
	},
	{
		ID: "exit-on-sigterm", Title: "the agent exits on SIGTERM", Level: Manners,
		Quote:  "SIGTERM is how systems ask a program to end; one that ignores it is killed, and cannot save or clean up anything.",
		scenes: []string{"methods"},
		judge:  exits(markSignal, "SIGTERM"),
	},
	{
		ID: "exit-on-sigterm-in-turn", Title: "the agent exits on SIGTERM in the middle of a turn", Level: Manners,
		Quote:  "SIGTERM is how systems ask a program to end; one that ignores it is killed, and cannot save or clean up anything.",
		scenes: []string{"sigterm-in-turn"},
		judge:  exits(markSignal, "SIGTERM in the middle of a turn"),
	},
	{
		ID: "nothing-left", Title: "the agent leaves no process behind", Level: Manners,
		Quote:  "What an agent has started works for nobody once it is gone: it holds files, ports and memory, and nobody knows whose it is.",
		scenes: []string{"handshake", "methods", "eof-in-turn", "sigterm-in-turn"},
		judge: func(r *recording) outcome {
			m, ok := r.mark("left")
			switch {
			case !ok:
				return untried(orText(r.stopped, "the agent did not exit"))
			case m.note == noteUnknown:
				return untried("processes can be looked at on Linux only")
			case m.note != noteNobody:
				return brokenf(r.end(m.index), "%v after its exit there was still: %s", m.waited.Round(time.Millisecond), m.note)
			}
			had, _ := r.mark("had")
			if had.note == noteNobody || had.note == "" {
				return untried("it had no other process that it could have left")
			}
			return kept("nothing was left of "+short(listed(had.note), 200), r.end(m.index)...)
		},
	},
}

// exits judges that the agent has exited by itself after that.
func exits(label, after string) func(r *recording) outcome {
	return func(r *recording) outcome {
		at, ok := r.mark(label)
		waited, ok2 := r.mark("exit")
		switch {
		case !ok && r.stopped == "" && label == markSignal:
			return untried("there is no SIGTERM here, or the agent was gone before")
		case !ok && r.stopped == "":
			return untried("the agent was gone before")
		case !ok || !ok2:
			return untried(orText(r.stopped, "it did not come to it"))
		case r.overBefore(label):
			return untried("the agent was gone before, or had closed its stdout")
		case waited.note == noteAlive:
			return brokenf(r.end(at.index), "it was still there %v after %s", waited.waited.Round(time.Millisecond), after)
		}
		if c := r.call("prompt"); c != nil && c.answered && c.answerAt < at.index {
			return untried(turnOver)
		}
		return kept(fmt.Sprintf("it exited %v after %s", waited.waited.Round(time.Millisecond), after), r.end(at.index)...)
	}
}
