package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// asksToWrite does what an agent does, and asks before it writes.
const asksToWrite = `
	on session/prompt
	  thought "hm"
	  plan "[>] write" "read"
	  commands "deploy: what only I can do"
	  mode reckless
	  usage used=7 size=9
	  tool c1 "Look" kind=read status=completed path=x text="seen"
	  permission c2 "Write out" kind=edit path=out
	    option yes allow_once "Yes"
	    option ever allow_always "For ever"
	    option no reject_once "No"
	    when yes; write out "$prompt"; tool-update c2 status=completed; text "written in $cwd"
	    when no; tool-update c2 status=failed; text "not written"
	  end`

// TestErrand has errand run drive parents.
func TestErrand(t *testing.T) {
	errand := build(t)
	for name, test := range map[string]func(t *testing.T, errand string){
		"permissions": permissions, "ends of an agent": endsOfAnAgent, "tree": treeOfParents,
		"cancel": cancelFromTheTop, "cancel of who waits": cancelOfWhoWaits,
	} {
		t.Run(name, func(t *testing.T) { test(t, errand) })
	}
}

// Three and four levels: errand run, one or two parents, a scripted agent.
func permissions(t *testing.T, errand string) {
	for _, parents := range []int{1, 2} {
		prefix := strings.Repeat("delegate-1/", parents)
		for decision, tt := range map[permission.Outcome]struct {
			flag, option, output, written, status string
			permitted                             bool
		}{
			permission.Allowed: {"allow", "yes", "written in $dir", "a task", "completed", true},
			permission.Denied:  {"reject", "no", "not written", "", "failed", false},
		} {
			t.Run(fmt.Sprintf("%s over %d parents", decision, parents), func(t *testing.T) {
				t.Parallel()
				w := plant(t)
				status, res := w.run(w.command(errand, w.levels(parents, w.scripted(asksToWrite)), "--permission", tt.flag))
				check.Equal(t, "status", status, 0)
				check.Equal(t, "output", res.Output, strings.ReplaceAll(tt.output, "$dir", w.dir))
				check.Equal(t, "what was written", w.file("out"), tt.written)
				if len(res.Messages) != 1 {
					t.Errorf("messages %+v, want the answer and no other", res.Messages)
				}

				if len(res.Permissions) != 1 {
					t.Fatalf("permissions %+v, want one", res.Permissions)
				}
				got := res.Permissions[0]
				want := got
				want.SessionID, want.ToolCallID, want.Decision, want.OptionID = *res.SessionID, prefix+"c2", decision, &tt.option
				want.Options = []permission.Option{{ID: "yes", Kind: "allow_once"}, {ID: "ever", Kind: "allow_always"}, {ID: "no", Kind: "reject_once"}}
				same(t, "permission", got, want)

				calls := map[string]string{}
				for _, c := range res.ToolCalls {
					calls[c.ID] = c.Status
				}
				wantCalls := map[string]string{prefix + "c1": "completed", prefix + "c2": tt.status}
				for n := range parents {
					wantCalls[strings.Repeat("delegate-1/", n)+"delegate-1"] = "completed"
				}
				same(t, "tool calls", calls, wantCalls)
				same(t, "plan", res.Plan, []subagent.PlanEntry{{Content: "write", Priority: "medium", Status: "in_progress"}, {Content: "read", Priority: "medium", Status: "pending"}})
				if res.Mode != nil || res.Usage != nil {
					t.Errorf("mode %v and usage %v are those of another session", res.Mode, res.Usage)
				}
				check.Equal(t, "updates of no session of ours", res.Counts.Foreign, 0)
			})
		}
	}
}

// What becomes of an agent the parent says in plain words.
func endsOfAnAgent(t *testing.T, errand string) {
	for name, tt := range map[string]struct {
		script string
		says   []string
	}{
		"crash":       {`on session/prompt; text "half of"; exit 3`, []string{"did not complete", "exit status 3", "half of"}},
		"refusal":     {`on session/prompt; text "I would rather not"; stop refusal`, []string{"did not complete", "refusal", "I would rather not"}},
		"not started": {`on initialize; exit 4`, []string{"not delegated", "exit status 4"}},
		"silence":     {``, []string{"said nothing"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := plant(t)
			agents := map[string][]string{"bad": w.scripted(tt.script), "good": w.scripted(`on session/prompt; text "all is well"`)}
			status, res := w.run(w.command(errand, w.parent(agents)))
			check.Equal(t, "status", status, 0)
			check.Has(t, res.Output, append(tt.says, "bad: ", "good: all is well")...)
		})
	}
}

// Each parent starts two like itself. They stop at the depth and at the breadth that they
// were given, and not before.
func treeOfParents(t *testing.T, errand string) {
	for name, tt := range map[string]struct {
		flags []string // of every parent
		depth string   // ERRAND_MAX_DEPTH
		// The parents that were started, and the delegations that were refused: each parent
		// tries two.
		started, refused int
		says             string
	}{
		"nobody delegates": {nil, "1", 1, 2, "delegations are 1 deep here, and no more than 1 are allowed"},
		"two levels":       {nil, "2", 3, 4, "delegations are 2 deep here, and no more than 2 are allowed"},
		"three levels":     {nil, "3", 7, 8, "delegations are 3 deep here, and no more than 3 are allowed"},
		"one at a time":    {[]string{"-at-once", "1"}, "3", 7, 8, "delegations are 3 deep here, and no more than 3 are allowed"},
		"one each":         {[]string{"-total", "1"}, "4", 4, 5, "the limit of 1 runs in all is reached"},
		"two each":         {[]string{"-total", "2"}, "3", 7, 8, "delegations are 3 deep here, and no more than 3 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := plant(t)
			file := w.home + "/agents.json"
			// The shell counts who is started, and knows nothing of delegation.
			counted := append([]string{"sh", "-c", `echo $$ >> "$0"; exec "$@"`, w.home + "/started"}, append(append([]string{w.self()}, tt.flags...), file)...)
			w.parentOf(file, map[string][]string{"left": counted, "right": counted})
			cmd := w.command(errand, counted)
			cmd.Env = w.env("ERRAND_MAX_DEPTH=" + tt.depth)
			status, res := w.run(cmd)
			check.Equal(t, "status", status, 0)
			check.Equal(t, "outcome", res.Stop, stopreason.Completed)

			pids, _ := os.ReadFile(w.home + "/started")
			check.Equal(t, "parents started", len(strings.Fields(string(pids))), tt.started)
			count := map[string]int{}
			for _, c := range res.ToolCalls {
				count[c.Status]++
			}
			// One parent was started by errand.
			want := map[string]int{"completed": tt.started - 1, "failed": tt.refused}
			if want["completed"] == 0 {
				delete(want, "completed")
			}
			same(t, "delegations", count, want)
			check.Equal(t, "refusals told", strings.Count(res.Output, "was not delegated"), tt.refused)
			check.Has(t, res.Output, tt.says)
		})
	}
}

// same checks a value of several parts.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// The tool's definition is what its handler takes, and names the agents there are.
func TestDefinition(t *testing.T) {
	w := plant(t)
	command := w.parent(map[string][]string{"b": {"x"}, "a": {"y"}})
	cmd := exec.Command(command[0], "-tool", command[1])
	cmd.Env = w.env()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var def struct {
		Name        string
		InputSchema struct {
			Properties           map[string]struct{ Enum []string }
			Required             []string
			AdditionalProperties *bool
		}
	}
	if err := json.Unmarshal(out, &def); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	check.Equal(t, "name", def.Name, "delegate")
	var properties []string
	for name := range def.InputSchema.Properties {
		properties = append(properties, name)
	}
	slices.Sort(properties)
	same(t, "properties", properties, []string{"agent", "maxDepth", "prompt"})
	same(t, "agents", def.InputSchema.Properties["agent"].Enum, []string{"a", "b"})
	same(t, "required", def.InputSchema.Required, []string{"agent", "prompt"})
	if more := def.InputSchema.AdditionalProperties; more == nil || *more {
		t.Error("the schema takes what the handler does not")
	}
}
