package subagent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/errand-acp/errand/envscrub"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/traces"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// An explicit secret stands nowhere in a result or an event but in the agent's own
// words, wherever the agent puts it.
func TestSecretsOfAResult(t *testing.T) {
	const secret = "canary-value-of-a-key"
	s := play(t, `
on initialize
  answer {"agentInfo": {"name": "agent of $env.AGENT_KEY", "version": "$env.AGENT_KEY"}}
on session/new
  answer {"modes": {"currentModeId": "mode $env.AGENT_KEY", "availableModes": []}, "models": {"currentModelId": "$env.AGENT_KEY", "availableModels": []}}
on session/prompt
  stderr "$env.AGENT_KEY\n"
  noise "$env.AGENT_KEY"
  plan "use $env.AGENT_KEY"
  tool c1 "with $env.AGENT_KEY" kind=$env.AGENT_KEY
  permission c1 "with $env.AGENT_KEY" input={"key": "$env.AGENT_KEY"}
    option ok allow_once "yes"
  end
  stop $env.AGENT_KEY {"_meta": {"deep": [{"key": "$env.AGENT_KEY"}]}}
`, nil, "AGENT_KEY="+secret)
	req := s.request("go")
	var start string
	req.Events = func(e subagent.Event) {
		if e.Type == subagent.EventUpdate {
			return // as it came
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Error(err)
		}
		if strings.Contains(string(text), secret) {
			t.Errorf("a %s event holds the secret: %s", e.Type, text)
		}
		if e.Type == subagent.EventStart {
			start = string(text)
		}
	}
	res := s.do(req)
	text, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), secret) {
		t.Errorf("the result holds the secret: %s", text)
	}
	// Each place was there to be redacted.
	if n := strings.Count(string(text), "[redacted]"); n < 11 {
		t.Errorf("%d places are redacted, want all of them: %s", n, text)
	}
	if !strings.Contains(start, "agent of [redacted]") {
		t.Errorf("the start event: %s", start)
	}
}

// A request that comes after the turn is answered `cancelled`, whatever the policy, and
// is in the final result: nobody is there any more to see it allowed.
func TestPermissionAfterTheTurn(t *testing.T) {
	s := play(t, `
on session/prompt
  text "hi"
  stop end_turn
  permission c9 "Remove everything"
    option ok allow_once "yes"
    option no reject_once "no"
    when allowed
      write removed x
    when other
      write kept x
  end
`, &subagent.ACPOptions{Permission: permission.Allow()})
	run := s.start(t.Context())
	outcome(t, run)
	traces.Until(s, "the answer", func() bool { return s.Exists("kept") || s.Exists("removed") })
	res := closed(t, run)
	ended(t, res, stopreason.Completed, "")
	if s.Exists("removed") {
		t.Error("the agent was allowed to go on after its turn")
	}
	if len(res.Permissions) != 1 || res.Permissions[0].Decision != permission.Cancelled || res.Permissions[0].ToolCallID != "c9" {
		t.Errorf("permissions %+v, want the one of c9, cancelled", res.Permissions)
	}
	check.Has(t, strings.Join(res.Warnings, "\n"), "after it had ended the turn")
}

// An environment that is passed on unscrubbed is loud: the result names what looks like
// a credential in it, and no value.
func TestUnscrubbedEnvironment(t *testing.T) {
	const secret = "not-for-everybody"
	t.Setenv("ERRAND_TEST_TOKEN", secret)
	cmd := command(t, `on session/prompt; text "$env.ERRAND_TEST_TOKEN"`)
	cmd.Inherit.Mode = envscrub.None
	s := &scene{Traces: traces.New(t), provider: provider(t, cmd, nil)}
	res := s.run("go")
	check.Equal(t, "output", res.Output, secret)
	warnings := strings.Join(res.Warnings, "\n")
	check.Has(t, warnings, "ERRAND_TEST_TOKEN")
	if strings.Contains(warnings, secret) {
		t.Errorf("a warning holds the value: %s", warnings)
	}
}
