//go:build unix

package subagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// end is how a run may end.
type end struct {
	stop stopreason.Outcome // empty: it never started
	kind client.ErrorKind
}

// ends are how the run may end.
func (sp *spot) ends() []end {
	p, m := sp.point, sp.means
	switch {
	case p.starting && sp.err == nil && !m.kill: // which is not at once
		return nil
	case sp.err != nil:
		ends := []end{{kind: client.KindCancelled}}
		if m.kind != "" {
			ends = []end{{kind: m.kind}}
		}
		if m.crash {
			ends = append(ends, end{kind: client.KindExit})
		}
		return ends
	case p.settled != "":
		return []end{{stop: p.settled}}
	case p.closing:
		return []end{{stop: stopreason.Aborted}}
	}
	ends := []end{{stop: stopreason.Aborted, kind: m.kind}}
	if m.crash {
		ends = append(ends, end{stop: stopreason.Error, kind: client.KindExit})
	}
	// Nobody waits for a Kill: a run that is not held up may be over before it strikes.
	if p.race || p.anywhere || m.kill && p.unborn {
		ends = append(ends, end{stop: stopreason.Completed})
	}
	return ends
}

// neverStarted checks the error of a start that was ended.
func (sp *spot) neverStarted() {
	e, ok := errors.AsType[*subagent.Error](sp.err)
	if !ok || !slices.Contains(sp.ends(), end{kind: e.Kind}) {
		sp.errorf("error %#v, want one of %v", sp.err, sp.ends())
		return
	}
	switch {
	case e.Kind == client.KindCancelled && !sp.means.kill && !errors.Is(e, context.Canceled):
		sp.errorf("%v is not context.Canceled", e)
	case e.Kind == client.KindTimeout && !errors.Is(e, context.DeadlineExceeded):
		sp.errorf("%v is not context.DeadlineExceeded", e)
	case sp.point.unspawned && e.Partial != nil && e.Partial.Exit != nil:
		sp.errorf("a process was started, which ended with %v", e.Partial.Exit)
	case sp.point.starting && !sp.point.unspawned && (e.Partial == nil || e.Partial.Exit == nil):
		sp.errorf("Start has returned before its process was gone: %+v", e.Partial)
	case e.Partial != nil && e.Partial.Stop == stopreason.Completed:
		sp.errorf("a run that never started is %q", e.Partial.Stop)
	}
	for _, f := range sp.frames() {
		if f.Method == acp.AgentMethodSessionPrompt || f.Method == acp.AgentMethodSessionCancel {
			sp.errorf("%s was sent by a run that never started", f.Method)
		}
	}
}

// ended checks the outcome and the final result of a run.
func (sp *spot) ended(outcome, final *subagent.Result) {
	got := end{stop: outcome.Stop}
	if outcome.Error != nil {
		got.kind = outcome.Error.Kind
	}
	if !slices.Contains(sp.ends(), got) {
		sp.errorf("%v (error %v), want one of %v", got, outcome.Error, sp.ends())
	}
	if again, err := sp.run.Wait(sp.ctx); again != outcome || err != nil {
		sp.errorf("Wait returns another outcome after Close: %v, %v", again, err)
	}
	if sp.run.Close() != final {
		sp.errorf("Close returns another result the second time")
	}
	if final.Stop != outcome.Stop || (final.Error == nil) != (outcome.Error == nil) || final.Output != outcome.Output {
		sp.errorf("the outcome changed: %q %v %q, then %q %v %q", outcome.Stop, outcome.Error, outcome.Output, final.Stop, final.Error, final.Output)
	}
	if final.Exit == nil || final.Exit.Rung == client.RungNone {
		sp.errorf("exit %v", final.Exit)
	}
	switch err := final.Err(); {
	case got.stop == stopreason.Completed && err != nil,
		got.stop == stopreason.Aborted && got.kind == "" && !errors.Is(err, context.Canceled),
		got.kind == client.KindTimeout && !errors.Is(err, context.DeadlineExceeded):
		sp.errorf("%v has the error %v", got, err)
	}
	for _, call := range final.ToolCalls {
		if call.Status == "pending" || call.Status == "in_progress" {
			sp.errorf("tool call %q is %q in a result", call.ID, call.Status)
		}
	}
	for _, w := range final.Warnings {
		// What only may have been left behind is another program's.
		if strings.HasPrefix(w, "left behind") {
			sp.errorf("%s", w)
		}
	}
	if _, err := json.Marshal(final); err != nil {
		sp.errorf("%v", err)
	}
	sp.wire(final)
	if sp.point.check != nil {
		sp.point.check(sp, final)
	}
}

// wire checks what the agent was sent.
func (sp *spot) wire(final *subagent.Result) {
	prompts, cancels := 0, 0
	for _, f := range sp.frames() {
		switch f.Method {
		case acp.AgentMethodSessionPrompt:
			prompts++
		case acp.AgentMethodSessionCancel:
			cancels++
		case "$/cancel_request":
			if sp.point.closing {
				break // session/close was withdrawn
			}
			sp.errorf("a prompt was withdrawn with %s", f.Method)
		case "":
			if cancels > 0 && strings.Contains(string(f.Result), "selected") {
				sp.errorf("%s was written after session/cancel", f.Result)
			}
			if len(f.Error) > 0 {
				sp.errorf("a permission request was answered with an error: %s", f.Error)
			}
		}
	}
	answered := final.StopReason != nil && *final.StopReason == "cancelled"
	switch {
	case prompts > 1 || cancels > 1,
		// A cancel that is on its way when the answer is read is too late.
		final.Stop == stopreason.Completed && (prompts != 1 && !sp.point.deaf || cancels != 0 && sp.point.settled != ""),
		answered && cancels != 1,
		cancels > prompts:
		sp.errorf("%q with %d prompts and %d cancels", final.Stop, prompts, cancels)
	}
	// An agent that hears has its time to.
	if !sp.point.deaf && !sp.point.race && !sp.point.anywhere && !sp.means.kill && !sp.means.crash && final.Stop == stopreason.Aborted && prompts == 1 && !answered {
		sp.errorf("the agent's own answer to the cancel was not waited for")
	}
}

// frames are the lines that the agent has read; the last may be torn where it was
// killed.
func (sp *spot) frames() []frame {
	text, _ := os.ReadFile(sp.log)
	var frames []frame
	for line := range strings.Lines(string(text)) {
		var f frame
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			if !sp.means.crash && !sp.means.kill && !sp.point.deaf {
				sp.errorf("the agent read %.200q: %v", line, err)
			}
			continue
		}
		frames = append(frames, f)
	}
	return frames
}
