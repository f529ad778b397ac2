package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// auditOf reads an audit file: each line is an object.
func auditOf(t *testing.T, file string) []subagent.AuditRecord {
	t.Helper()
	var records []subagent.AuditRecord
	for line := range strings.Lines(readFile(t, file)) {
		var r subagent.AuditRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil || !strings.HasSuffix(line, "\n") {
			t.Fatalf("%v: %q", err, line)
		}
		records = append(records, r)
	}
	return records
}

// --audit appends what happens, with labels and the policy's digest, for its owner only.
func TestAuditFile(t *testing.T) {
	p := newProgram(t)
	const policy = `{"rules": [{"name": "go", "effect": "allow", "paths": ["./*.go"]}]}`
	writeFile(t, policy, p.Dir, "policy.json")
	rules, err := permission.ParseRules([]byte(policy))
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"run", "--json", "--audit", "audit.jsonl", "--label", "tenant=t1", "--policy", "policy.json", "hi"}, scripted(t, asking(""))...)
	first, second := p.run(args...).result(t), p.run(args...).result(t)
	file := filepath.Join(p.Dir, "audit.jsonl")
	var types []subagent.AuditType
	runs := map[string]bool{}
	for _, r := range auditOf(t, file) {
		types = append(types, r.Type)
		runs[r.RunID] = true
		if !cmp.Equal(r.Labels, map[string]string{"tenant": "t1"}) {
			t.Errorf("labels %v", r.Labels)
		}
		if r.Permission != nil && (r.Permission.Rule != "allow: go" || r.Permission.PolicyDigest == nil || *r.Permission.PolicyDigest != rules.Digest()) {
			t.Errorf("%+v", r.Permission)
		}
	}
	one := []subagent.AuditType{subagent.AuditTypeStart, subagent.AuditTypePermission, subagent.AuditTypeEnd}
	if diff := cmp.Diff(append(one, one...), types); diff != "" || !runs[first.RunID] || !runs[second.RunID] {
		t.Errorf("runs %v, types (-want +got):\n%s", runs, diff)
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, mode %v", err, info.Mode())
	}

	// A start that fails is told too; what was wrong before it makes no file.
	p.run("run", "--audit", "failed.jsonl", "hi", "--", filepath.Join(p.Dir, "no-such-agent"))
	if records := auditOf(t, filepath.Join(p.Dir, "failed.jsonl")); len(records) == 0 || records[len(records)-1].End == nil {
		t.Errorf("%+v", records)
	}
	p.run("run", "--audit", "none.jsonl", "--sweep", "x", "hi", "--agent", "demo")
	if exists(p.Dir, "none.jsonl") {
		t.Error("a mistake in usage makes a file")
	}
}

func TestBadAudit(t *testing.T) {
	p := newProgram(t)
	for file, want := range map[string]string{
		"":          "--audit is empty",
		"-":         "--audit takes a file",
		".":         "--audit: . is no regular file",
		"no/such/x": "--audit: open no/such/x: ",
	} {
		got := p.run(append([]string{"run", "--json", "--audit", file, "hi"}, scripted(t, "write started\n")...)...)
		if got.status != statusUsage || exists(p.Dir, "started") {
			t.Errorf("%q: status %d", file, got.status)
		}
		has(t, "stderr", got.stderr, want)
	}
}

// L19: what cannot be written of the audit is a warning and status 1, and costs nothing
// else.
func TestAuditOnAFullDisk(t *testing.T) {
	if !exists("/dev/full") {
		t.Skip("this machine has no /dev/full")
	}
	for _, flag := range []string{"--json", "--quiet"} {
		got := newProgram(t).run(append([]string{"run", flag, "--permission", "allow", "--audit", "/dev/full", "hi"}, scripted(t, asking(""))...)...)
		if got.status != statusFailed || strings.Count(got.stderr, auditIncomplete) != 1 {
			t.Errorf("%s: status %d, stderr %q", flag, got.status, got.stderr)
		}
		if flag == "--quiet" {
			if got.stdout != "allowed\n" {
				t.Errorf("stdout %q", got.stdout)
			}
			continue
		}
		if res := got.result(t); res.Output != "allowed" || res.Error != nil || len(res.Warnings) != 1 || !strings.HasPrefix(res.Warnings[0], auditIncomplete) {
			t.Errorf("output %q, error %v, warnings %q", res.Output, res.Error, res.Warnings)
		}
	}
}
