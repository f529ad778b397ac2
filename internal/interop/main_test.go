package main

import (
	"crypto/rand"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
)

func TestNothingLeft(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip(err)
	}
	run := "run-" + rand.Text()
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

// Who takes the one variable for the other does not drive all agents, or none.
func TestMake(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"MAKEFLAGS", "MAKELEVEL", "AGENT", "AGENTS"} { // of the make that runs the tests
		t.Setenv(name, "")
	}
	for _, target := range []string{"interop", "live"} {
		for _, variable := range []string{"AGENT", "AGENTS"} {
			cmd := exec.Command("make", "-n", target, variable+"=gemini")
			cmd.Dir = "../.."
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v\n%s", cmd, err, out)
			}
			check.Has(t, string(out), "internal/interop", " gemini")
		}
	}
}
