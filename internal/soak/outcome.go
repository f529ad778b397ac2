package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/subagent"
)

// outcome is what a script decides of a result.
type outcome struct {
	Started     bool   // there was a session
	Stop        string // the result's stop
	Reason      string // the agent's stop reason; empty without one
	Error       string // kind, step and code; empty without one
	Messages    []string
	Exit        string // "status 3", "SIGKILL", "none"
	Rung        string
	Noise       int
	Stderr      string
	Tools       []string // id, status, what was answered when it was asked for
	Permissions []string // tool call, decision, option
	Counts      subagent.Counts
	Truncated   bool
	// Read is how many updates came to the reader of Run.Updates.
	Read int
}

// observe is the outcome that a result tells of. It may be of a run that did not start.
func observe(res *subagent.Result, started bool, read int) outcome {
	o := outcome{
		Started: started, Stop: string(res.Stop), Error: errorText(res.Error), Noise: res.Noise.Lines,
		Stderr: res.StderrTail, Counts: res.Counts, Truncated: res.Truncated, Exit: "none", Read: read,
	}
	if res.StopReason != nil {
		o.Reason = *res.StopReason
	}
	if e := res.Exit; e != nil {
		o.Rung = string(e.Rung)
		switch {
		case e.Code != nil:
			o.Exit = fmt.Sprintf("status %d", *e.Code)
		case e.Signal != nil:
			o.Exit = *e.Signal
		}
	}
	for _, m := range res.Messages {
		o.Messages = append(o.Messages, m.Text)
	}
	for _, c := range res.ToolCalls {
		asked := "not asked"
		if c.Permitted != nil {
			asked = fmt.Sprintf("permitted %v", *c.Permitted)
		}
		o.Tools = append(o.Tools, fmt.Sprintf("%s %s, %s", c.ID, c.Status, asked))
	}
	for _, p := range res.Permissions {
		option := "no option"
		if p.OptionID != nil {
			option = *p.OptionID
		}
		o.Permissions = append(o.Permissions, fmt.Sprintf("%s %s, %s", p.ToolCallID, p.Decision, option))
	}
	return o
}

func errorText(e *subagent.Error) string {
	if e == nil {
		return ""
	}
	text := fmt.Sprintf("%s at %s", e.Kind, e.Step)
	if e.Code != nil {
		text += fmt.Sprintf(", code %d", *e.Code)
	}
	return text
}

// expectation is an outcome that will do.
type expectation struct {
	// In its texts "|" stands between what will do equally; "*" is anything.
	outcome
	// cut is set where a clock or the caller may end the turn at any point of it: what
	// the agent said up to there will do. missed is set where a reader of updates may not
	// get all of them.
	cut, missed bool
}

// whatever stands for all that may come.
const whatever = "*"

// diff is how got differs from what was wanted; empty if it does not.
func (e expectation) diff(got outcome) string {
	w := e.outcome
	for _, f := range []struct{ want, got *string }{
		{&w.Stop, &got.Stop}, {&w.Reason, &got.Reason}, {&w.Error, &got.Error},
		{&w.Exit, &got.Exit}, {&w.Rung, &got.Rung}, {&w.Stderr, &got.Stderr},
	} {
		if *f.want == whatever || slices.Contains(strings.Split(*f.want, "|"), *f.got) {
			*f.want = *f.got
		}
	}
	// An update that came after the answer may have come too late for the reader.
	if got.Read <= w.Read && got.Read >= w.Read-w.Counts.Late {
		w.Read = got.Read
	}
	if e.missed {
		w.Read = min(w.Read, got.Read)
	}
	if e.cut {
		w.shorten(got)
	}
	return cmp.Diff(w, got)
}

// shorten takes from w what got does not have, if got is a beginning of it.
func (w *outcome) shorten(got outcome) {
	if strings.HasPrefix(strings.Join(w.Messages, ""), strings.Join(got.Messages, "")) {
		w.Messages = got.Messages
	}
	w.Truncated = w.Truncated && got.Truncated
	if strings.HasPrefix(w.Stderr, got.Stderr) {
		w.Stderr = got.Stderr
	}
	if subset(got.Permissions, w.Permissions) {
		w.Permissions = got.Permissions
	}
	if subset(names(got.Tools), names(w.Tools)) {
		w.Tools = got.Tools
	}
	for _, n := range []struct {
		want *int
		got  int
	}{
		{&w.Noise, got.Noise}, {&w.Counts.Updates, got.Counts.Updates}, {&w.Counts.Unknown, got.Counts.Unknown},
		{&w.Counts.Foreign, got.Counts.Foreign}, {&w.Counts.Late, got.Counts.Late}, {&w.Counts.Dropped, got.Counts.Dropped},
		{&w.Read, got.Read},
	} {
		*n.want = min(*n.want, n.got)
	}
}

func subset(some, all []string) bool {
	for _, s := range some {
		if !slices.Contains(all, s) {
			return false
		}
	}
	return true
}

// names are the first words of texts.
func names(texts []string) []string {
	var out []string
	for _, t := range texts {
		name, _, _ := strings.Cut(t, " ")
		out = append(out, name)
	}
	return out
}
