package conform

import (
	"fmt"
	"slices"
	"time"

	"github.com/errand-acp/errand/client/transcript"
)

const whyEnd = "A client that crashes, or is killed, can say goodbye in no other way"

const exitUnasked = "exit-unasked"

var processRules = []Rule{
	{
		ID: "exit-on-eof", Title: "the agent exits when its stdin ends", Level: Manners,
		Quote:  whyEnd + ": an agent that stays is left behind, with its memory and its locks, for every client that ever was. And status 0, or a signal that asks for it, is how it says that it was not a crash that ended it.",
		scenes: []string{"handshake"},
		judge: func(r *recording) outcome {
			o := exits(markEOF, "its stdin ended")(r)
			at, _ := r.mark(markEOF)
			if end := r.ending(at.index); o.verdict == Pass && end != nil && end.Code != nil && *end.Code != 0 {
				return broken(o.why+exitText(end), o.entries...)
			}
			return o
		},
	},
	{
		ID: "exit-on-eof-in-turn", Title: "the agent exits when its stdin ends in the middle of a turn", Level: Manners,
		Quote:  whyEnd + ": an agent that works on goes on changing files, and spending money, for nobody. With what status it exits, or whether by a signal that asks for it, is its own affair; a crash is none.",
		scenes: []string{"eof-in-turn"},
		judge:  exits(markEOF, "its stdin ended in the middle of a turn"),
	},
	{
		ID: "exit-on-sigterm", Title: "the agent exits on SIGTERM", Level: Manners,
		Quote:  "SIGTERM is how systems ask a program to end; one that ignores it is killed, and cannot save or clean up anything. With what status it exits, or whether by SIGTERM itself, is its own affair; a crash is none.",
		scenes: []string{"methods"},
		judge:  exits(markSignal, "SIGTERM"),
	},
	{
		ID: "exit-on-sigterm-in-turn", Title: "the agent exits on SIGTERM in the middle of a turn", Level: Manners,
		Quote:  "SIGTERM is how systems ask a program to end; one that ignores it is killed, and cannot save or clean up anything. With what status it exits, or whether by SIGTERM itself, is its own affair; a crash is none.",
		scenes: []string{"sigterm-in-turn"},
		judge:  exits(markSignal, "SIGTERM in the middle of a turn"),
	},
	{
		ID: exitUnasked, Title: "the agent stays until it is told to go", Level: Manners,
		Quote: "As long as its stdin is open somebody has more to say to it: with its process he loses the sessions in it, and a client sees a crash. Where another rule tells of the end, this one does not.",
		judge: func(r *recording) outcome {
			l, died := r.death()
			switch {
			case r.mute():
				return untried(orText(r.stopped, "it answered nothing"))
			case r.echoes():
				return untried(whyEcho)
			case died && l.last < 0:
				return broken("before anything was said to it " + r.gone(l.end))
			case died:
				shown := []int{l.last}
				for i := range r.from(transcript.FromAgent, l.last+1, l.end) {
					shown = []int{l.last, i} // the last it said
				}
				return brokenf(r.at(shown...), "after %s %s", named(r.message(l.last)), r.gone(l.end))
			case len(r.lives()) == 0:
				return untried(orText(r.stopped, "it did not end"))
			}
			return kept("it was there until it was told to go", r.end(0)...)
		},
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

// onPurpose are the signals that ask a process to end: some end their whole group so, to take
// their children along. All others are a crash, or a kill.
var onPurpose = []string{"SIGTERM", "SIGINT", "SIGHUP"}

// exits judges that the agent has ended by itself after that, and not by a crash.
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
		if end := r.ending(at.index); end != nil && end.Signal != nil && !slices.Contains(onPurpose, *end.Signal) {
			return brokenf(r.end(at.index), "%v after %s it was ended by %s", waited.waited.Round(time.Millisecond), after, *end.Signal)
		}
		return kept(fmt.Sprintf("it exited %v after %s", waited.waited.Round(time.Millisecond), after), r.end(at.index)...)
	}
}

// named is what a message of ours is called.
func named(m message) string {
	switch {
	case m.Method != "":
		return m.Method
	case m.isResponse():
		return "the answer to its request"
	}
	return "a line that is no message"
}
