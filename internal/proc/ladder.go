package proc

import (
	"slices"
	"time"
)

// Rung is a step of the ladder by which a child is ended.
type Rung string

const (
	RungExit Rung = "exit"    // it ended by itself, before anything was done
	RungEOF  Rung = "eof"     // its stdin was closed
	RungTerm Rung = "sigterm" // its group got SIGTERM and SIGCONT
	RungKill Rung = "sigkill" // its group got SIGKILL; on Windows: its job was terminated
)

// Report says how a child and what it started came to their end.
type Report struct {
	// Exit is how the child itself ended; see Rung.
	Exit Exit
	// Rung is the last one that was taken before the child itself was gone; empty
	// if it outlived them all, and is there when the report is made.
	Rung Rung
	// GroupRung is the last one that was taken before its whole group was gone;
	// empty if it outlived them all.
	GroupRung Rung
	// Leftover are the processes that could not be ended, or not be read.
	Leftover []Leftover
	// StderrErr is why [Spec.Stderr] did not get all of stderr: its error, or that it,
	// or the filter, panicked or blocks. Nil if there is nothing to tell.
	StderrErr error
}

// Leftover is a process that is, or may be, alive after the end of its run.
type Leftover struct {
	PID     int    // 0 for nobody in particular: it was not possible to look
	Command string // its short name; empty if unknown
	// Ours is true where the process is known to belong to the run; false where it
	// began during the run, as a process of this user, and its environment, which
	// would tell, cannot be read. The first is a fault, the second a warning.
	Ours   bool
	Reason string
}

// Shutdown ends the child and all that it started: it closes stdin and waits for the
// whole group to go, then sends SIGTERM (and SIGCONT, for those that are stopped)
// and waits, then SIGKILL, and then sweeps up what has left the group. Each wait is
// over as soon as the group is gone. A group whose leader is gone before the first
// rung is not waited for after EOF: there is nobody who was told by it.
//
// The first call decides on the graces; all later and concurrent ones, those of
// Kill too, return the same report at the same time. After it nothing is held but
// [Process.Stdout].
func (p *Process) Shutdown(g Graces) Report {
	p.endOnce.Do(func() { p.report = p.end(g) })
	return p.report
}

// Kill ends the child and all that it started by SIGKILL at once, and waits for them
// to be gone, for as long as grace. During a Shutdown it jumps to that rung, with
// Shutdown's own grace.
func (p *Process) Kill(grace time.Duration) Report {
	p.hurryOnce.Do(func() { close(p.hurry) })
	return p.Shutdown(Graces{Kill: grace})
}

// end climbs the ladder, sweeps, and lets go of everything.
func (p *Process) end(g Graces) Report {
	if isClosed(p.exited) {
		g.EOF = 0
	}
	f := p.family
	l := ladder{
		exited: p.exited,
		hurry:  p.hurry,
		gone:   f.gone,
		steps: []step{
			{RungEOF, func() { f.track(); p.stdin.Close() }, g.EOF},
			{RungTerm, func() { f.track(); f.terminate() }, g.Term},
			{RungKill, func() { f.track(); f.kill() }, g.Kill},
		},
	}
	if !canTerminate {
		l.steps = slices.Delete(l.steps, 1, 2)
	}
	var r Report
	r.Rung, r.GroupRung = l.climb()
	r.Leftover = f.sweep(time.Now().Add(g.Kill))
	if r.Exit = p.Exit(); r.Rung == "" && r.Exit.Signal != "" {
		r.Rung = RungKill // it went during the sweep
	}

	p.stdin.Close()
	p.cut()
	if isClosed(p.exited) {
		p.sink.wait(stderrGrace, p.hurry)
	}
	r.StderrErr = p.sink.failure()
	if isClosed(p.exited) {
		f.release()
	} else {
		// A child that even SIGKILL did not end. This goroutine belongs to p and
		// ends with the child.
		go func() {
			<-p.exited
			f.release()
		}()
	}
	return r
}

// ladder is the way from asking to forcing: data and one loop.
type ladder struct {
	steps  []step
	exited <-chan struct{} // closed when the child itself is gone
	hurry  <-chan struct{} // closed when only the last step is to be taken still
	gone   func() bool     // whether its group is gone as well
}

type step struct {
	rung  Rung
	take  func()
	grace time.Duration
}

// climb takes one step after the other until the group is gone. It returns the
// last rung taken before the child was, and before its group was.
func (l *ladder) climb() (child, group Rung) {
	at := RungExit
	for i := 0; ; i++ {
		gone := l.gone()
		if child == "" && isClosed(l.exited) {
			child = at
		}
		if gone {
			return child, at
		}
		if i == len(l.steps) {
			return child, ""
		}
		hurry := l.hurry
		if i == len(l.steps)-1 {
			hurry = nil
		} else if isClosed(hurry) {
			continue
		}
		l.steps[i].take()
		at = l.steps[i].rung
		l.wait(l.steps[i].grace, hurry)
	}
}

// How often a group is looked at whose leader is gone: at once, then ever less.
const (
	firstPause = 100 * time.Microsecond
	lastPause  = 10 * time.Millisecond
)

// wait returns when the group is gone, grace has passed, or hurry is closed.
func (l *ladder) wait(grace time.Duration, hurry <-chan struct{}) {
	over := time.After(grace)
	select {
	case <-l.exited:
	case <-over:
		return
	case <-hurry:
		return
	}
	for pause := firstPause; !l.gone(); pause = min(2*pause, lastPause) {
		select {
		case <-time.After(pause):
		case <-over:
			return
		case <-hurry:
			return
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
