package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/subagent"
)

// miss notes that something is not as it must be.
func (p *played) miss(what, how string) { p.wrong = append(p.wrong, what+": "+how) }

// check holds what came of the scene against what must, and against what is true of every
// run.
func (p *played) check() {
	if len(p.wrong) == 0 {
		p.checkOutcome()
	}
	if p.err != nil && hasCanary(p.err.Error()) {
		p.miss("a secret in the error", p.err.Error())
	}
	if res := p.result; res != nil {
		p.checkJSON(res)
		p.checkResult(res)
		for _, left := range processesOf(res.RunID) {
			p.miss("a process is left", left)
		}
	}
}

func (p *played) checkOutcome() {
	var first string
	for i, want := range p.want() {
		diff := want.diff(p.got)
		if diff == "" {
			return
		}
		if i == 0 {
			first = diff
		}
	}
	p.miss("the outcome (-want +got)", "\n"+first)
}

// checkJSON is what is true of every result's JSON.
func (p *played) checkJSON(res *subagent.Result) {
	text := p.jsonOf(res)
	if hasCanary(text) {
		p.miss("a secret in the result", text)
	}
	var back subagent.Result
	if err := json.Unmarshal([]byte(text), &back); err != nil {
		p.miss("the JSON does not come back", err.Error())
	}
	p.same("the JSON comes back as another (-before +after)", text, p.jsonOf(&back))
	if err := schema.validate([]byte(text)); err != nil {
		p.miss("not as the schema has it", err.Error())
	}
}

// checkResult is what is true of every result that began with a process.
func (p *played) checkResult(res *subagent.Result) {
	const tail = 64 << 10
	output, text := "", ""
	for _, m := range res.Messages {
		text += m.Text
		if strings.TrimSpace(m.Text) != "" {
			output = m.Text
		}
	}
	none := res.Exit == nil
	for _, c := range []struct {
		what string
		ok   bool
	}{
		{"the held-back secret is not named", none || slices.Contains(res.WithheldEnv, canary.withheldName)},
		{"the output is not the last message", res.Output == output},
		{"empty is not told", res.Empty == (text == "")},
		{"more of stderr is kept than the limit", len(res.StderrTail) <= tail},
		{"noise without a line of it", (res.Noise.Lines > 0) == (len(res.Noise.First) > 0)},
		{"more noise is kept than a few lines", len(res.Noise.First) <= 20},
		{"an error in a run that completed", res.Stop != "completed" || res.Error == nil},
		{"an end as error without an error", res.Stop != "error" || res.Error != nil},
		{"retryable although the prompt was sent", res.Error == nil || res.Error.Step != client.StepPrompt || !res.Error.Retryable || res.Stop == "aborted"},
		{"a time that is negative", min(res.Timing.StartMs, res.Timing.PromptMs, res.Timing.CloseMs) >= 0},
	} {
		if !c.ok {
			p.miss("of every result", c.what)
		}
	}
}

// jsonOf is the result as its JSON has it now.
func (p *played) jsonOf(res *subagent.Result) string {
	text, err := json.Marshal(res)
	if err != nil {
		p.miss("no JSON", err.Error())
	}
	return string(text)
}

// same notes how two results' JSON differ, if they do.
func (p *played) same(what, before, after string) {
	if before == after {
		return
	}
	var b, a any
	json.Unmarshal([]byte(before), &b)
	json.Unmarshal([]byte(after), &a)
	p.miss(what, cmp.Diff(b, a))
}

// checkOnce is that a run has one outcome: it does not change once it was told, it is the
// same for everybody, and the final result adds to it only what was not known then. before
// is the outcome's JSON when it was told.
func (p *played) checkOnce(run subagent.Run, outcome *subagent.Result, before string, finals [2]*subagent.Result) {
	p.same("the outcome changed by Close (-before +after)", before, p.jsonOf(outcome))
	for _, other := range []*subagent.Result{finals[1], run.Close()} {
		if other != finals[0] {
			p.same("two calls of Close differ", p.jsonOf(finals[0]), p.jsonOf(other))
		}
	}

	final := *finals[0]
	final.Warnings = final.Warnings[:min(len(final.Warnings), len(outcome.Warnings))]
	final.Permissions = final.Permissions[:min(len(final.Permissions), len(outcome.Permissions))]
	final.Exit, final.Noise, final.Counts = outcome.Exit, outcome.Noise, outcome.Counts
	final.StderrTail, final.StderrTruncated = outcome.StderrTail, outcome.StderrTruncated
	final.Timing.CloseMs, final.Timing.TotalMs = outcome.Timing.CloseMs, outcome.Timing.TotalMs
	p.same("the final result is another than the outcome (-outcome +final)", before, p.jsonOf(&final))
}

// eventLog is what Request.Events was told.
type eventLog struct {
	mu    sync.Mutex           // guards the rest
	types []subagent.EventType // but for updates that come after something else
	count int                  // of updates
	end   *subagent.Result
}

func (l *eventLog) take(e subagent.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Type == subagent.EventUpdate {
		l.count++
	}
	if e.Type != subagent.EventUpdate || len(l.types) == 0 {
		l.types = append(l.types, e.Type)
	}
	if e.Type == subagent.EventEnd {
		l.end = e.Result
	}
}

func (l *eventLog) updates() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// check is that there is one start, first, and one end, last, with the outcome.
func (l *eventLog) check(p *played, outcome *subagent.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	count := func(t subagent.EventType) (n int) {
		for _, other := range l.types {
			if other == t {
				n++
			}
		}
		return n
	}
	n := len(l.types)
	if n < 2 || l.types[0] != subagent.EventStart || l.types[n-1] != subagent.EventEnd || count(subagent.EventStart) != 1 || count(subagent.EventEnd) != 1 {
		p.miss("the events", fmt.Sprint(l.types))
		return
	}
	if l.end != outcome {
		p.same("the end event (-outcome +event)", p.jsonOf(outcome), p.jsonOf(l.end))
	}
}

// checkNone is that a start which failed has no events.
func (l *eventLog) checkNone(p *played) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.types) > 0 {
		p.miss("events although it did not start", fmt.Sprint(l.types))
	}
}

// print tells all of a run, and how to repeat it.
func (p *played) print(w io.Writer) {
	verdict := "as it must be"
	if len(p.wrong) > 0 {
		verdict = "FAILED"
	}
	fmt.Fprintf(w, "\n%s: run %s: %s", verdict, p.name, p.ending)
	if len(p.extras) > 0 {
		fmt.Fprintf(w, "; %s", strings.Join(p.extras, ", "))
	}
	fmt.Fprintf(w, " (%v)\nagain: go run ./internal/soak -run %s\n\n%s\n", p.took, p.name, indent(p.script()))
	fmt.Fprintf(w, "options %+v\ncaller %+v\n\n", p.options, p.caller)
	for _, wrong := range p.wrong {
		fmt.Fprintf(w, "%s\n", clip(wrong))
	}
	if p.result != nil {
		text, _ := json.MarshalIndent(p.result, "", "  ")
		fmt.Fprintf(w, "result: %s\n", clip(string(text)))
	}
	if p.err != nil {
		fmt.Fprintf(w, "error: %v\n", p.err)
	}
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}

// clip shortens what nobody would read to its end.
func clip(text string) string {
	const most = 8000
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}
