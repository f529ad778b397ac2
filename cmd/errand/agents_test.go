package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/errand-acp/errand/client"
)

func TestAgents(t *testing.T) {
	p := newProgram(t)
	bin := t.TempDir()
	installed := filepath.Join(bin, "opencode")
	if err := os.WriteFile(installed, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "gemini"), nil, 0o644); err != nil { // cannot be run
		t.Fatal(err)
	}
	p.Env = []string{"PATH=" + bin}

	got := p.run("agents")
	if got.status != statusOK || got.stderr != "" {
		t.Errorf("status %d, stderr %q", got.status, got.stderr)
	}
	lines := map[string]string{}
	for line := range strings.Lines(got.stdout) {
		lines[strings.Fields(line)[0]] = line
	}
	for _, preset := range client.Presets() {
		want := "not installed: " + preset.Install
		if preset.Name == "opencode" {
			want = installed
		}
		has(t, preset.Name, lines[preset.Name], preset.Title, want)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	has(t, "demo", lines["demo"], self)

	var list []agentInfo
	asJSON := p.run("agents", "--json")
	if err := json.Unmarshal([]byte(asJSON.stdout), &list); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(a agentInfo) bool { return a.Name == "opencode" })
	if a := list[i]; a.File == nil || *a.File != installed || !slices.Equal(a.Command, []string{"opencode", "acp"}) {
		t.Errorf("opencode: %+v", a)
	}
	i = slices.IndexFunc(list, func(a agentInfo) bool { return a.Name == "cline" })
	if a := list[i]; a.File != nil || a.Sweep != client.SweepGroup || a.Graces["eof"] < 9000 {
		t.Errorf("cline: %+v", a)
	}
	if len(list) != len(client.Presets())+1 {
		t.Errorf("%d agents", len(list))
	}
}

func TestVersion(t *testing.T) {
	got := newProgram(t).run("version")
	if got.status != statusOK {
		t.Errorf("status %d", got.status)
	}
	has(t, "stdout", got.stdout, "errand ", "ACP protocol 1\n", "acp-go-sdk v0.13.5\n", "go1.")
}
