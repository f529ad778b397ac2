package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/visible"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// stderrLines is how much of an agent's stderr is shown when its run failed.
const stderrLines = 12

// explain says why a run ended otherwise than completed, in lines; none where it
// completed. why is what made this program cancel it, empty if nothing did, and at the
// step of its start that it was at then, empty if it had started.
func explain(res *subagent.Result, why string, at client.Step, agent choice) []string {
	var lines []string
	say := func(format string, args ...any) {
		lines = append(lines, visible.Line(fmt.Sprintf(format, args...)))
	}
	switch e := res.Error; {
	case e != nil && e.Step == client.StepConfig:
		say("errand: %s", e.Message)
		return lines
	case e != nil:
		who := res.Provider + ": "
		if res.Provider == "errand" { // errand demo or replay, by its own name
			who = ""
		}
		say("errand: %s%s: %s", who, e.Step, e.Message)
		if e.Code != nil && !strings.Contains(e.Message, strconv.Itoa(*e.Code)) {
			say("  code %d", *e.Code)
		}
		if data := errorData(e.Data); data != "" && !strings.Contains(e.Message, data) {
			say("  data %s", data)
		}
		if agent.install != "" && (e.Kind == client.KindSpawn || e.Kind == client.KindExit && agent.absent) {
			say("  to install it: %s", agent.install)
		}
		if known := knownAgent(res, agent); known != "" {
			say("  errand knows an agent like that: %s", known)
		}
		if name := mayMiss(res, agent.hints); name != "" {
			say("  to let a variable through: --env %s", name)
		}
		if flag := clockFlag(e.Kind); flag != "" {
			say("  to give it more time: %s", flag)
		}
	case res.Stop == stopreason.Completed:
		return nil
	case res.Stop == stopreason.Aborted && why != "":
		say("errand: cancelled%s: %s", during(at, res.Provider), why)
	case res.Stop == stopreason.Aborted:
		say("errand: %s ended the turn as cancelled", res.Provider)
	case res.Stop == stopreason.Refusal:
		say("errand: %s refused", res.Provider)
	case res.Stop == stopreason.MaxTokens:
		say("errand: the answer was cut short at the model's token limit")
	default:
		say("errand: the run ended as %s", res.Stop)
	}
	if x := res.Exit; x != nil && res.Stop == stopreason.Aborted {
		if signal := rungSignals[x.Rung]; signal != "" {
			say("  it took %s to end %s", signal, res.Provider)
		}
	}
	for _, c := range res.ToolCalls {
		if c.Status == "cancelled" || c.Status == "unknown" {
			say("  still open, and perhaps done in part: %s", clip(callName(c), 160))
		}
	}
	return append(lines, stderrEnd(res)...)
}

// during says what the agent was at when its start was cancelled.
func during(at client.Step, agent string) string {
	switch at {
	case "":
		return ""
	case client.StepConfig, client.StepSpawn:
		return fmt.Sprintf(" before %s was started", agent)
	}
	return fmt.Sprintf(" while %s was starting (%s)", agent, at)
}

// rungSignals are the rungs that an agent which stops when it is told to does not need.
var rungSignals = map[client.Rung]string{client.RungTerm: "SIGTERM", client.RungKill: "SIGKILL"}

// callName is what a tool call is called where its id says nothing; that is not redacted
// either.
func callName(c subagent.ToolCall) string {
	for _, name := range []*string{c.Title, c.Kind} {
		if name != nil && strings.TrimSpace(*name) != "" {
			return *name
		}
	}
	return "a tool call"
}

// mayMiss returns a variable that was held back and that a failed agent is known to
// want; NAME where nothing is known of what it wants.
func mayMiss(res *subagent.Result, known []string) string {
	switch res.Error.Kind {
	case client.KindExit, client.KindAuthRequired, client.KindAgent:
		for _, name := range known {
			if slices.Contains(res.WithheldEnv, name) {
				return name
			}
		}
		if len(known) == 0 && len(res.WithheldEnv) > 0 {
			return "NAME"
		}
	}
	return ""
}

// knownAgent says how the agent is started that a COMMAND which failed to start most
// likely meant; empty where it was started like that, or by its name.
func knownAgent(res *subagent.Result, agent choice) string {
	if agent.install != "" || agent.wrapped || res.Error.Step == client.StepPrompt {
		return ""
	}
	switch res.Error.Kind {
	case client.KindAgent, client.KindAuthRequired, client.KindTimeout:
		return "" // it speaks ACP, or was not given the time
	}
	p, ok := nearPreset(res.Provider)
	same := len(res.Agent.Command) > 0 && res.Provider == p.Path && slices.Equal(res.Agent.Command[1:], p.Args)
	if !ok || same {
		return ""
	}
	return startsAs(p)
}

// clockFlag returns the flag that sets the clock which ended a run.
func clockFlag(kind client.ErrorKind) string {
	switch kind {
	case client.KindStartupTimeout:
		return "--start-timeout"
	case client.KindIdleTimeout:
		return "--idle-timeout"
	}
	return ""
}

// stderrEnd shows the end of what a failed agent wrote to stderr. One line of it is
// in the error's message already.
func stderrEnd(res *subagent.Result) []string {
	if res.Error == nil {
		return nil
	}
	text := strings.TrimSpace(visible.Text(res.StderrTail))
	if !strings.Contains(text, "\n") {
		return nil
	}
	all := strings.Split(text, "\n")
	lines := []string{"  the end of its stderr:"}
	for _, line := range all[max(0, len(all)-stderrLines):] {
		lines = append(lines, "  | "+clip(line, 400))
	}
	return lines
}

func errorData(data []byte) string {
	if len(data) == 0 || string(data) == "null" {
		return ""
	}
	return clip(strings.Join(strings.Fields(string(data)), " "), 400)
}

// deniedHint says that the agent wanted more than it might, where nobody has decided
// that yet, or nobody was there to answer what a policy asks; else it is empty.
func deniedHint(results ...*subagent.Result) string {
	undecided, unasked := 0, 0
	for _, res := range results {
		for _, p := range res.Permissions {
			switch {
			case p.Decision != permission.Denied:
			case strings.HasSuffix(p.Rule, ": nobody to ask"):
				unasked++
			case !ofPolicy(p.Rule):
				undecided++
			}
		}
	}
	switch {
	case unasked == 1:
		return "errand: the policy asks about a permission request, and nobody was there to answer; --permission ask or --permission-command would"
	case unasked > 1:
		return fmt.Sprintf("errand: the policy asks about %d permission requests, and nobody was there to answer; --permission ask or --permission-command would", unasked)
	case undecided == 1:
		return "errand: a permission request was denied, which is the default; --permission allow approves"
	case undecided > 1:
		return fmt.Sprintf("errand: %d permission requests were denied, which is the default; --permission allow approves", undecided)
	}
	return ""
}

// ofPolicy reports whether a rule's name is that of permission.Rules, which somebody wrote.
func ofPolicy(rule string) bool {
	effect, _, _ := strings.Cut(rule, ": ")
	return slices.Contains([]permission.Effect{permission.EffectAllow, permission.EffectAsk, permission.EffectDeny}, permission.Effect(effect)) && effect != rule
}
