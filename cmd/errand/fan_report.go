package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/visible"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// fanReport is what --json prints.
type fanReport struct {
	SchemaVersion int `json:"schemaVersion"`
	// Reached says whether as many runs completed as were wanted.
	Reached bool `json:"reached"`
	Wanted  int  `json:"wanted"`
	// Results are in the order of the tasks.
	Results []fanResult     `json:"results"`
	Totals  subagent.Totals `json:"totals"`
	// Error is why nothing was started; null where something was.
	Error    *subagent.Error `json:"error"`
	Warnings []string        `json:"warnings"`
}

// totalsType is what the last line of --events is told by.
const totalsType = "totals"

// fanTotals is the last line of --events.
type fanTotals struct {
	Type          string          `json:"type"` // totalsType
	Time          time.Time       `json:"time"`
	SchemaVersion int             `json:"schemaVersion"`
	Reached       bool            `json:"reached"`
	Wanted        int             `json:"wanted"`
	Totals        subagent.Totals `json:"totals"`
	Error         *subagent.Error `json:"error"`
	Warnings      []string        `json:"warnings"`
}

// newReport counts the results.
func (x *fan) newReport(warnings []string) *fanReport {
	r := &fanReport{SchemaVersion: subagent.SchemaVersion, Wanted: x.want, Results: []fanResult{}, Warnings: append([]string{}, warnings...)}
	var all []*subagent.Result
	good := 0
	for _, res := range x.results {
		r.Results, all = append(r.Results, *res), append(all, res.Result)
		if res.good() {
			good++
		}
	}
	r.Totals = subagent.Total(all)
	r.Reached = len(all) > 0 && good >= x.want
	return r
}

// text is what is printed of it on stdout at the end.
func (r *fanReport) text(f *fanFlags) string {
	switch {
	case f.json:
		return encode(r)
	case f.events:
		return encode(fanTotals{totalsType, time.Now(), r.SchemaVersion, r.Reached, r.Wanted, r.Totals, r.Error, r.Warnings})
	}
	var b strings.Builder
	for _, res := range r.Results {
		if res.Stop == stopreason.Aborted && res.Error == nil && (r.Reached || res.Empty) {
			continue // nobody wants what a loser was about to say
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		if !f.quiet || len(r.Results) > 1 { // of several it says whose answer it is
			b.WriteString(res.heading() + "\n")
		}
		text := visible.Text(res.Output)
		if b.WriteString(text); text != "" && !strings.HasSuffix(text, "\n") {
			b.WriteString("\n")
		}
		for _, c := range res.Changes {
			b.WriteString(changeLine(c) + "\n")
		}
	}
	return b.String()
}

// heading stands before an answer.
func (r *fanResult) heading() string {
	row := row{}
	row.finish(r, time.Time{})
	what := string(row.state)
	if row.why != "" {
		what += ": " + row.why
	}
	return fmt.Sprintf("== %d %s: %s ==", r.Index+1, visible.Line(r.Name), what)
}

// changeLine tells of a file that a run in a work tree changed.
func changeLine(c subagent.Change) string {
	text := fmt.Sprintf("changed: %s: %s", visible.Line(c.Path), c.Status)
	if c.OldPath != nil {
		text += " from " + visible.Line(*c.OldPath)
	}
	if c.Added != nil && c.Deleted != nil {
		text += fmt.Sprintf(", +%d -%d", *c.Added, *c.Deleted)
	}
	return text
}

// report tells what came of it all, and returns the exit status.
func (x *fan) report(ctx context.Context, warnings []string) int {
	x.over.Store(true)
	x.board.close()
	if n := x.out.dropped(); n > 0 {
		warnings = append(warnings, fmt.Sprintf("%d pieces of the output are missing: nobody read them while the runs were ended", n))
	}
	r := x.newReport(warnings)
	err := x.out.deliver(r.text(x.flags), func(warning string) string {
		r.Warnings = append(r.Warnings, warning)
		return r.text(x.flags)
	})
	for _, text := range warnings {
		x.out.diag("errand: " + visible.Line(text) + "\n")
	}
	x.explain(ctx, r)
	status := statusOK
	switch {
	case r.Reached && len(warnings) > 0:
		status = statusFailed
	case !r.Reached:
		if status = stopStatus(ctx); status == 0 {
			status = r.failure()
		}
	}
	return x.out.end(err, status, stopStatus(ctx))
}

// failure is the status of what was not reached: that of a mistake where nothing was
// started, for that alone.
func (r *fanReport) failure() int {
	for _, res := range r.Results {
		switch {
		case res.Resumed && res.good():
		case res.RunID != "" || res.Error == nil || res.Error.Kind != client.KindConfig && res.Error.Kind != client.KindLimit:
			return statusFailed
		}
	}
	return statusUsage
}

// explain says what was not reached, and why.
func (x *fan) explain(ctx context.Context, r *fanReport) {
	why := ""
	if ctx.Err() != nil {
		why = context.Cause(ctx).Error()
	}
	var all []*subagent.Result
	good, cancelled := 0, 0
	for _, res := range r.Results {
		all = append(all, res.Result)
		switch {
		case res.good():
			good++
			continue
		case res.Stop == stopreason.Aborted && res.Error == nil:
			cancelled++
			continue
		}
		for i, line := range explain(res.Result, why, "", x.tasks[res.Index].agent) {
			if i == 0 {
				line = res.subject(line)
			}
			x.out.diag(line + "\n")
		}
	}
	f := x.flags
	if text := deniedHint(all...); !f.quiet && !f.permissionSet && !f.commandSet && text != "" {
		x.out.diag(text + "\n")
	}
	text := fmt.Sprintf("errand: %d of %d completed", good, len(r.Results))
	if n := len(r.Results) - good - cancelled; n > 0 {
		text += fmt.Sprintf(", %d failed", n)
	}
	if cancelled > 0 {
		text += fmt.Sprintf(", %d cancelled", cancelled)
	}
	switch {
	case why != "" && !r.Reached:
		text += ": " + why
	case !r.Reached:
		text += fmt.Sprintf("; wanted %d", r.Wanted)
	case f.quiet || f.events:
		return
	}
	x.out.diag(text + "\n")
}

// subject puts the run, as it is called everywhere else, in the place of the agent in the
// first line of an explanation.
func (r *fanResult) subject(line string) string {
	what := strings.TrimPrefix(line, "errand: ")
	if of, ok := strings.CutPrefix(what, visible.Line(r.Provider)); ok {
		what = strings.TrimLeft(of, ": ")
	}
	return fmt.Sprintf("errand: %d %s: %s", r.Index+1, visible.Line(r.Name), what)
}

// refused says why nothing was started, and returns the exit status.
func (x *fan) refused(ctx context.Context, err error) int {
	r, status := x.newReport(nil), statusUsage
	var texts []string
	if _, ok := errors.AsType[*stopped](err); ok {
		status, texts = stopStatus(ctx), []string{"cancelled before anything was started: " + err.Error()}
		r.Warnings = append(r.Warnings, texts...)
	} else {
		r.Error = configError(err)
		texts = []string{r.Error.Message}
		if several, ok := errors.AsType[*mistakes](err); ok {
			texts = several.texts()
		}
	}
	var failed error
	if x.flags.json || x.flags.events {
		failed = x.out.deliver(r.text(x.flags), func(string) string { return r.text(x.flags) })
	}
	for _, text := range texts {
		x.out.diag("errand: " + visible.Line(text) + "\n")
	}
	return x.out.end(failed, status, stopStatus(ctx))
}
