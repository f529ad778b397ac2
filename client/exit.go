package client

import (
	"cmp"
	"fmt"

	"github.com/errand-acp/errand/internal/proc"
)

// Exit is how an agent's process ended. Its JSON is part of the result's contract.
type Exit struct {
	// Code is the exit status; null for a signal.
	Code *int `json:"code"`
	// Signal is the name of the signal that ended it, such as SIGKILL; null for an
	// exit.
	Signal *string `json:"signal"`
	// Rung is the last rung of the shutdown ladder that was taken before the process
	// was gone.
	Rung Rung `json:"rung"`
}

// Rung is a rung of the shutdown ladder.
type Rung string

// The rungs, in their order.
const (
	RungExit   Rung = "exit"    // it ended by itself, before anything was done
	RungCancel Rung = "cancel"  // after session/cancel
	RungClose  Rung = "close"   // after session/close
	RungEOF    Rung = "eof"     // after its stdin was closed
	RungTerm   Rung = "sigterm" // after SIGTERM to its group
	RungKill   Rung = "sigkill" // after SIGKILL to its group
	// RungNone is that of a process that outlived them all.
	RungNone Rung = "none"
)

// String is how an error tells it: "exit status 2", "signal SIGKILL".
func (e *Exit) String() string {
	switch {
	case e.Signal != nil:
		return "signal " + *e.Signal
	case e.Code != nil:
		return fmt.Sprintf("exit status %d", *e.Code)
	}
	return "a status that is not known"
}

// Report is how the end of an agent went.
type Report struct {
	Exit Exit
	// GroupRung is the last rung that was taken before every process of the agent's group
	// was gone: Exit.Rung, or a later one where it left some behind.
	GroupRung Rung
	// Leftover says which processes of the agent could not be ended, one line each.
	Leftover []string
	// Unsure says which processes began during the agent's life and may be left by
	// it: they hide what would tell.
	Unsure []string
	// StderrErr is why [Options.Stderr] did not get all of stderr: its error, or that it
	// panicked or blocks. Nil if there is nothing to tell.
	StderrErr error
}

func newExit(e proc.Exit, rung Rung) Exit {
	out := Exit{Rung: rung}
	switch {
	case e.Signal != "":
		out.Signal = &e.Signal
	case e.Code >= 0:
		out.Code = &e.Code
	}
	return out
}

// newReport puts p together with the rung of ours that was taken before the process's
// own: RungExit if there was none.
func newReport(p proc.Report, before Rung) *Report {
	taken := func(rung proc.Rung) Rung {
		switch rung {
		case proc.RungExit:
			return before
		case "":
			return RungNone
		}
		return Rung(rung)
	}
	r := &Report{Exit: newExit(p.Exit, taken(p.Rung)), GroupRung: taken(p.GroupRung), StderrErr: p.StderrErr}
	for _, l := range p.Leftover {
		line := l.Reason
		if l.PID != 0 { // else it is about nobody in particular
			line = fmt.Sprintf("%s (pid %d): %s", cmp.Or(l.Command, "a process"), l.PID, l.Reason)
		}
		if l.Ours {
			r.Leftover = append(r.Leftover, line)
		} else {
			r.Unsure = append(r.Unsure, line)
		}
	}
	return r
}
