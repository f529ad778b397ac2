package acptest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/client/acptest"
	"github.com/errand-acp/errand/permission"
)

// collected is what a test can have of a conversation.
func collected(t *testing.T, dir string, policy permission.Policy) map[string]any {
	t.Helper()
	agent := acptest.Start(t, acptest.Script(t, writer), &acptest.Options{Client: client.Options{Permission: policy}})
	turn := agent.Session(dir).Prompt("write hello.txt")
	call := turn.ToolCall("edit")
	asked := turn.Permission("edit")
	if policy == nil {
		asked.Allow()
	}
	record := asked.Record()
	record.Ms = 0
	answer := turn.Stop("end_turn")
	report := agent.Close().Report
	talk := agent.Transcript().Normalize(constant(agent.Transcript())...)
	return map[string]any{
		"messages": turn.Messages(), "updates": turn.Updates(), "call": call.Call(), "request": asked.Request(),
		"record": record, "answer": answer, "report": report, "header": talk.Header, "entries": talk.Entries, "transcript": talk,
	}
}

// cmp.Diff takes whatever the kit collects as it is, and sees what differs in it.
func TestCompare(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, policy := range map[string]permission.Policy{
		"the test answers": nil, "rules answer": &permission.Rules{Default: permission.EffectAllow},
	} {
		want, same, other := collected(t, dir, policy), collected(t, dir, policy), collected(t, t.TempDir(), policy)
		for what := range want {
			if diff := cmp.Diff(want[what], same[what]); diff != "" {
				t.Errorf("%s, the %s (-want +got):\n%s", name, what, diff)
			}
		}
		for _, what := range []string{"updates", "call", "request", "entries", "transcript"} {
			if cmp.Diff(want[what], other[what]) == "" {
				t.Errorf("%s, the %s: another directory makes no difference", name, what)
			}
		}
		if differs := cmp.Diff(want["record"], other["record"]) != ""; differs != (policy != nil) { // it has facts then
			t.Errorf("%s, the record: differs is %v", name, differs)
		}
	}
}
