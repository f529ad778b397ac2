package main

import (
	"testing"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

func TestExitStatus(t *testing.T) {
	tests := []struct {
		stop    stopreason.Outcome
		kind    client.ErrorKind
		step    client.Step
		stopped int
		want    int
	}{
		{stopreason.Completed, "", "", 0, 0},
		{stopreason.Completed, "", "", 130, 0}, // the signal came too late to change anything
		{stopreason.Completed, client.KindLeftover, client.StepShutdown, 0, 1},
		{stopreason.Refusal, "", "", 0, 3},
		{stopreason.MaxTokens, "", "", 0, 4},
		{stopreason.Aborted, "", "", 0, 1}, // the agent said so
		{stopreason.Aborted, "", "", 130, 130},
		{stopreason.Aborted, "", "", 143, 143},
		{stopreason.Aborted, "", "", 129, 129},
		{stopreason.Aborted, "", "", 141, 141},
		{stopreason.Aborted, client.KindLeftover, client.StepShutdown, 130, 130},
		{stopreason.Aborted, client.KindTimeout, client.StepPrompt, 0, 124},
		{stopreason.Aborted, client.KindTimeout, client.StepConfig, 0, 124},
		{stopreason.Aborted, client.KindIdleTimeout, client.StepPrompt, 0, 124},
		{stopreason.Error, client.KindStartupTimeout, client.StepInitialize, 0, 124},
		{stopreason.Error, client.KindConfig, client.StepConfig, 0, 2},
		{stopreason.Error, client.KindCapability, client.StepConfig, 0, 2},
		{stopreason.Error, client.KindCapability, client.StepPrompt, 0, 1},
		{stopreason.Error, client.KindSpawn, client.StepSpawn, 0, 1},
		{stopreason.Error, client.KindExit, client.StepPrompt, 0, 1},
		{stopreason.Error, client.KindExit, client.StepPrompt, 130, 1}, // it crashed before it was cancelled
		{"", "", "", 0, 1},
	}
	for _, tt := range tests {
		res := &subagent.Result{Stop: tt.stop}
		if tt.kind != "" {
			res.Error = &subagent.Error{Kind: tt.kind, Step: tt.step}
		}
		if got := exitStatus(res, tt.stopped); got != tt.want {
			t.Errorf("stop %q, kind %q at %q, stopped with %d: status %d, want %d", tt.stop, tt.kind, tt.step, tt.stopped, got, tt.want)
		}
	}
}
