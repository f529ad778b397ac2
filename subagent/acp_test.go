package subagent_test

import (
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/subagent"
	"github.com/errand-acp/errand/subagent/subagenttest"
)

// shortGraces are for agents that do not go by themselves.
var shortGraces = client.Graces{
	Cancel: 500 * time.Millisecond, Close: 200 * time.Millisecond,
	EOF: 300 * time.Millisecond, Term: 200 * time.Millisecond, Kill: 2 * time.Second,
}

// raceEnv keeps a program built with the race detector, which this test binary is,
// from sleeping for a second when it exits.
var raceEnv = []string{"GORACE=atexit_sleep_ms=0"}

// scripted returns a provider of an agent that follows the script.
func scripted(t testing.TB, src string, o *subagent.ACPOptions) subagent.Provider {
	t.Helper()
	path, args := script.Command(t, src)
	p, err := subagent.NewACP("scripted", client.Command{Path: path, Args: args, Env: raceEnv}, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestACPProvider(t *testing.T) {
	subagenttest.Run(t, func(t *testing.T) subagent.Provider {
		return scripted(t, contractScript, &subagent.ACPOptions{Graces: shortGraces})
	})
}

// contractScript does what subagenttest asks of an agent.
const contractScript = `
on session/prompt "answer"
  text "$prompt"
  stop end_turn

on session/prompt "fail"
  fail -32603 "it failed"

on session/prompt "hang"
  text "$prompt"
  wait cancel
  stop cancelled
`
