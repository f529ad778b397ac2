package main

import (
	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// The exit statuses, a contract. The one for a run that was cancelled by a signal is
// 128 and the signal's number, as shells have it; 141 is that of a closed stdout.
const (
	statusOK        = 0
	statusFailed    = 1
	statusUsage     = 2
	statusRefusal   = 3
	statusMaxTokens = 4
	statusTimeout   = 124
	statusSIGHUP    = 129
	statusSIGPIPE   = 141
)

// exitStatus is the status for a result. stopped is the status of what made this
// program cancel the run, 0 if nothing did: it counts only where the run ended for
// it.
func exitStatus(res *subagent.Result, stopped int) int {
	if e := res.Error; e != nil {
		switch e.Kind {
		case client.KindTimeout, client.KindIdleTimeout, client.KindStartupTimeout:
			return statusTimeout
		}
		if e.Step == client.StepConfig {
			return statusUsage
		}
	}
	switch res.Stop {
	case stopreason.Completed:
		if res.Error != nil { // something of it is left behind
			return statusFailed
		}
		return statusOK
	case stopreason.Refusal:
		return statusRefusal
	case stopreason.MaxTokens:
		return statusMaxTokens
	case stopreason.Aborted:
		if stopped != 0 {
			return stopped
		}
	}
	return statusFailed
}
