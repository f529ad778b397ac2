package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

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

// What is checked of a result can fail.
func TestChecks(t *testing.T) {
	yes, reason, code := true, stopreason.EndTurn, 0
	good := func() *result {
		return &result{Result: subagent.Result{
			Stop: stopreason.Completed, StopReason: &reason, Output: "it is done",
			Permissions: []permission.Record{{Decision: permission.Allowed}},
			ToolCalls:   []subagent.ToolCall{{ID: "1"}, {ID: "2", Permitted: &yes}},
			Exit:        &client.Exit{Code: &code, Rung: client.RungEOF},
		}}
	}
	if err := checkTurn(good(), "done", permission.Allowed); err != nil {
		t.Error(err)
	}
	const want = "| a | b | completed (`end_turn`) | allowed | 2 | exit status 0, eof |\n"
	if line := good().line("a", "b"); line != want {
		t.Errorf("line %q, want %q", line, want)
	}
	for name, spoil := range map[string]func(*result){
		"stop":       func(r *result) { r.Stop = stopreason.Aborted },
		"error":      func(r *result) { r.Error = &subagent.Error{} },
		"output":     func(r *result) { r.Output = "" },
		"permission": func(r *result) { r.Permissions = nil },
		"decision":   func(r *result) { r.Permissions[0].Decision = permission.Denied },
		"tool calls": func(r *result) { r.ToolCalls = r.ToolCalls[:1] },
		"permitted":  func(r *result) { r.ToolCalls[1].Permitted = nil },
	} {
		r := good()
		spoil(r)
		if checkTurn(r, "done", permission.Allowed) == nil {
			t.Errorf("a wrong %s is not noticed", name)
		}
	}
}
