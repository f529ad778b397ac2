package main

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/visible"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// fan is a fan-out of this program's.
type fan struct {
	flags    *fanFlags
	settings *settings // what its tasks have in common; nil before they are known
	tasks    []*fanTask
	want     int         // of them have to complete
	journal  *fanJournal // nil without one

	con     *console
	out     *output
	board   *board
	results []*fanResult // by task; nil where there is none yet
	over    atomic.Bool  // all is told: a killed run may still have events
}

// fanResult is a result as --json prints it.
type fanResult struct {
	Index int    `json:"index"`
	Name  string `json:"name"`
	// Resumed says that the result is of an earlier invocation, from the journal.
	Resumed bool `json:"resumed"`
	*subagent.Result
	failed bool // though it may have completed
}

// good reports whether the run did what was asked for.
func (r *fanResult) good() bool { return r.Stop.Success() && r.Error == nil && !r.failed }

// fanEvent is an event as --events prints it, and the journal has it.
type fanEvent struct {
	Index int    `json:"index"`
	Name  string `json:"name"`
	subagent.Event
	Resumed bool `json:"resumed,omitempty"`
}

// run carries out the tasks and returns the exit status.
func (x *fan) run(ctx context.Context, signals *interrupt) int {
	x.board = newBoard(x)
	var tasks []subagent.Task
	for _, t := range x.tasks {
		task, err := x.subagentTask(t)
		if err != nil {
			x.board.close()
			return x.refused(ctx, err)
		}
		tasks = append(tasks, task)
	}
	for _, note := range x.notes() {
		x.board.note(note)
	}
	context.AfterFunc(ctx, func() { x.board.cancelling(killsAtOnce(ctx)) })
	if c := x.settings.command; c != nil && !x.flags.quiet {
		c.tell = x.board.aside
	}
	x.carryOut(ctx, signals, tasks)
	if x.settings.command != nil {
		x.settings.command.close()
	}
	var warnings []string
	if x.settings.audit != nil {
		if lost := x.settings.audit.end(); lost != "" {
			warnings = append(warnings, lost)
		}
	}
	if x.journal != nil {
		if lost := x.journal.close(); lost != "" {
			warnings = append(warnings, lost)
		}
	}
	return x.report(ctx, warnings)
}

// carryOut fills in the results.
func (x *fan) carryOut(ctx context.Context, signals *interrupt, all []subagent.Task) {
	x.results = make([]*fanResult, len(all))
	left := x.want - x.resume()
	var tasks []subagent.Task
	var indexes []int
	for i, task := range all {
		if x.results[i] == nil {
			tasks, indexes = append(tasks, task), append(indexes, i)
		}
	}
	o := &subagent.FanOutOptions{Limit: x.flags.jobs}
	if x.want < len(all) {
		o.Want, o.Counts = left, x.counts
		if left <= 0 {
			x.leaveOut(indexes)
			return
		}
	}
	if x.flags.starts > 0 {
		o.Limits, _ = subagent.NewLimits(subagent.LimitOptions{Starts: x.flags.starts}) // which is no negative number
	}
	type ended struct {
		index int
		res   *subagent.Result
	}
	over := make(chan ended, len(tasks)) // room for all of them
	// Ends with the last run; where a killed one does not end, with the program.
	go func() {
		defer close(over)
		for i, res := range subagent.FanOut(ctx, tasks, o) {
			over <- ended{indexes[i], res}
		}
	}()
	var late <-chan time.Time
	for killed := signals.killed.Done(); ; {
		select {
		case e, more := <-over:
			if !more {
				return
			}
			x.ended(e.index, e.res)
		case <-killed:
			killed, late = nil, time.After(killWait)
		case <-late:
			for len(over) > 0 {
				e := <-over
				x.ended(e.index, e.res)
			}
			for _, i := range indexes {
				if x.results[i] == nil {
					x.ended(i, x.tasks[i].withoutRun("killed; what came of the run is not known"))
				}
			}
			return
		}
	}
}

// counts reports whether an outcome is one of those that are wanted.
func (x *fan) counts(res *subagent.Result) bool {
	return (&fanResult{Result: res, failed: len(x.flags.faults(res)) > 0}).good()
}

// withoutRun is the result of a task that nobody knows of, or has not run.
func (t *fanTask) withoutRun(warning string) *subagent.Result {
	res := t.failed(&subagent.Error{Kind: client.KindCancelled})
	res.Warnings = append(res.Warnings, warning)
	return res
}

// leaveOut fills in the results of tasks that there is no need to run.
func (x *fan) leaveOut(indexes []int) {
	for _, i := range indexes {
		r := x.earlier(i)
		if r == nil {
			r = &fanResult{Index: i, Name: x.tasks[i].name, Result: x.tasks[i].withoutRun("not started: enough other tasks had completed")}
		}
		x.take(r)
	}
}

// subagentTask is the task as the library takes it.
func (x *fan) subagentTask(t *fanTask) (subagent.Task, error) {
	if t.asker != nil {
		asker := *t.asker
		asker.on(newScreen(x.out, x.con, t.title(), false, true, t.redact))
		if len(x.tasks) > 1 {
			asker.cancels = "cancels all runs"
		}
		t.asker = &asker
	}
	if t.reasons != nil {
		t.reasons = &reasons{tell: func(text string) { x.board.did(t.index, clip(visible.Line(t.redact(text)), 400)) }}
	}
	policy := t.policy(func(p permission.Policy) permission.Policy {
		return attended{p, x.board, t.index, t.asker != nil}
	})
	t.audit, t.opts.Audit = x.settings.audit, x.settings.opts.Audit
	x.flags.watch(t.settings, t.dir)
	if t.doings != nil {
		t.doings.tell = func(text string) { x.board.did(t.index, text) }
	}
	if err := t.provide(sparing(policy, x.flags.policy, x.flags.audit, x.flags.journal, x.flags.transcript)); err != nil {
		return subagent.Task{}, err
	}
	provider, err := t.provider, error(nil)
	if x.flags.worktree {
		provider, err = subagent.Worktree(provider, &subagent.WorktreeOptions{Uncommitted: x.flags.uncommitted, Kill: t.opts.Kill})
	}
	if n := x.flags.retries; n > 0 && err == nil {
		provider, err = subagent.Fallback(t.agent.name, &subagent.FallbackOptions{Retries: n}, provider)
	}
	if err != nil {
		return subagent.Task{}, err
	}
	run := &fanProvider{Provider: provider, fan: x, task: t}
	return subagent.Task{Provider: run, Request: subagent.Request{
		Prompt: t.prompt, Dir: t.dir, Labels: t.labels, MaxDepth: t.maxDepth, Events: run.event,
	}}, nil
}

// fanProvider is the provider of one task. It tells of what happens.
type fanProvider struct {
	subagent.Provider
	fan  *fan
	task *fanTask
}

// Start implements subagent.Provider.
func (p *fanProvider) Start(ctx context.Context, req subagent.Request) (subagent.Run, error) {
	p.fan.board.starting(p.task.index)
	req.Transcript = p.startRecord()
	return p.Provider.Start(ctx, req)
}

// event is told what happens in the run. The end is left to the end: only then the result
// is whole. But in the journal there is the outcome, in case we do not live to see that;
// not without the patch that is all the run is for.
func (p *fanProvider) event(e subagent.Event) {
	if p.fan.over.Load() {
		return
	}
	if e.Type == subagent.EventEnd {
		if x := p.fan; x.journal != nil && !x.flags.worktree {
			x.journal.add(p.task.index, encode(fanEvent{Index: p.task.index, Name: p.task.name, Event: e}))
		}
	} else {
		p.fan.tell(p.task, e)
		if e.Type == subagent.EventStart {
			for _, note := range p.task.agent.notes {
				p.fan.tell(p.task, subagent.Event{Type: subagent.EventWarning, RunID: e.RunID, Time: e.Time, Warning: note})
			}
		}
	}
	p.fan.board.event(p.task.index, e)
}

// tell puts an event where they are kept and printed.
func (x *fan) tell(t *fanTask, e subagent.Event) {
	if x.journal == nil && !x.flags.events {
		return
	}
	line := encode(fanEvent{Index: t.index, Name: t.name, Event: e})
	x.journal.add(t.index, line)
	if x.flags.events {
		x.out.out(line)
	}
}

// ended takes the final result of a run.
func (x *fan) ended(i int, res *subagent.Result) {
	t := x.tasks[i]
	r := *res
	if len(r.Agent.Command) == 0 {
		r.Agent.Command = t.words()
	}
	t.nameTimeout(&r)
	if t.audit == nil { // its lines are for doings only
		r.Warnings = slices.DeleteFunc(slices.Clone(r.Warnings), func(w string) bool { return strings.HasPrefix(w, auditIncomplete) })
	}
	r.Warnings = append(append([]string{}, t.agent.notes...), r.Warnings...)
	if lost := t.endRecord(); lost != "" {
		r.Warnings = append(r.Warnings, lost)
	}
	faults := x.flags.faults(&r)
	for _, text := range faults {
		if !slices.Contains(r.Warnings, text) {
			r.Warnings = append(r.Warnings, text)
		}
	}
	result := &fanResult{Index: i, Name: t.name, Result: &r, failed: len(faults) > 0}
	x.journal.end(i, result.line())
	x.take(result)
}

// take takes a result, which is not changed any more, and tells of it.
func (x *fan) take(r *fanResult) {
	x.results[r.Index] = r
	if x.flags.events {
		x.out.result(r.line())
	}
	x.board.ended(r)
}

// line is the result as the last event of its run.
func (r *fanResult) line() string {
	return encode(fanEvent{Index: r.Index, Name: r.Name, Resumed: r.Resumed, Event: subagent.Event{
		Type: subagent.EventEnd, RunID: r.RunID, Time: time.Now(), Result: r.Result,
	}})
}

// attended is a policy that somebody is behind who takes his time.
type attended struct {
	permission.Policy
	board    *board
	index    int
	terminal bool // is where he is
}

// Decide implements permission.Policy.
func (a attended) Decide(ctx context.Context, req permission.Request) permission.Decision {
	defer a.board.waiting(a.index, req, a.terminal)()
	return a.Policy.Decide(ctx, req)
}

// GuardsReads implements permission.ReadGuard.
func (a attended) GuardsReads() bool { return permission.GuardsReads(a.Policy) }

// Digest is that of the policy.
func (a attended) Digest() string {
	if d, ok := a.Policy.(interface{ Digest() string }); ok {
		return d.Digest()
	}
	return ""
}

// earlier is the last result that the journal had of a task when it was opened, nil
// where there is none.
func (x *fan) earlier(i int) *fanResult {
	res := x.journal.last(i)
	if res == nil {
		return nil
	}
	if denied := failedOnDenied(res); !x.flags.failOnDenied {
		res.Warnings = slices.DeleteFunc(res.Warnings, func(w string) bool { return w == denied })
	}
	return &fanResult{Index: i, Name: x.tasks[i].name, Resumed: true, Result: res, failed: len(x.flags.faults(res)) > 0}
}

// resume fills in the results of the runs that had completed before, and returns how many
// there are.
func (x *fan) resume() int {
	n := 0
	for i := range x.tasks {
		if r := x.earlier(i); r != nil && r.good() {
			x.take(r)
			n++
		}
	}
	return n
}
