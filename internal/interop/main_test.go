package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/errand-acp/errand/client"
)

func sorted(less func(a, b string) bool) cmp.Option { return cmpopts.SortSlices(less) }

func TestNothingLeft(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip(err)
	}
	const run = "run-of-the-interop-test"
	if err := nothingLeft(run); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("cat") // until its stdin ends
	cmd.Env = append(os.Environ(), "ERRAND_RUN=other:"+run)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := nothingLeft(run); err == nil {
		t.Error("a process of the run is not found")
	}
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := nothingLeft(run); err != nil {
		t.Error(err)
	}
}

// Each agent is one that has a preset, and is named once.
func TestAgents(t *testing.T) {
	var names []string
	for _, a := range agents {
		if _, ok := client.LookupPreset(a.name); !ok {
			t.Errorf("%s has no preset", a.name)
		}
		if slices.Contains(names, a.name) {
			t.Errorf("%s is there twice", a.name)
		}
		names = append(names, a.name)
	}
	if all, err := choose(nil); err != nil || len(all) != len(agents) {
		t.Errorf("%d agents, %v", len(all), err)
	}
	if _, err := choose([]string{"gemini", "nobody"}); err == nil {
		t.Error("an unknown name is taken")
	}
}

// The document has a line for each agent, and names who breaks a rule in the rules' order.
func TestDocument(t *testing.T) {
	rule := func(id, verdict string) finding {
		f := finding{Verdict: verdict}
		f.Rule.ID, f.Rule.Level, f.Rule.Title = id, "must", id+" | title"
		return f
	}
	reports := []*report{
		{agent: &agent{name: "a"}, findings: []finding{rule("one", "pass"), rule("two", "warn"), rule("three", "notApplicable")}},
		{agent: &agent{name: "b"}, findings: []finding{rule("one", "fail"), rule("two", "fail"), rule("three", "notApplicable")}},
	}
	want := []*brokenRule{
		{id: "one", level: "must", title: "one | title", agents: []string{"b"}},
		{id: "two", level: "must", title: "two | title", agents: []string{"a", "b"}},
	}
	if diff := cmp.Diff(want, brokenRules(reports), cmp.AllowUnexported(brokenRule{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	text := document(reports)
	for _, line := range []string{"| a |  |  |  | 1 | 0 | 1 | 1 |\n", "| `two` | must | two \\| title | a, b |\n"} {
		if !strings.Contains(text, line) {
			t.Errorf("no line %q in\n%s", line, text)
		}
	}
}
