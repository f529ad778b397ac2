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
		if strings.Contains(lines[preset.Name], "(unverified)") != preset.Unverified {
			t.Errorf("%s: unverified %v, line %q", preset.Name, preset.Unverified, lines[preset.Name])
		}
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
	for _, a := range list {
		preset, _ := client.LookupPreset(a.Name) // none for demo, which is verified
		if a.Verified == preset.Unverified {
			t.Errorf("%s: verified %v", a.Name, a.Verified)
		}
	}
	has(t, "--json", asJSON.stdout, `"verified"`)
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

// Who uses an agent that nobody has driven is told so, on stderr and in the result.
func TestUnverifiedAgentIsToldToBeSo(t *testing.T) {
	p := newProgram(t)
	bin := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string]string{"kimi": "acp", "gemini": "--acp"} { // both are really the demo agent
		src := "#!/bin/sh\n[ \"$*\" = '" + args + "' ] && exec " + self + " demo\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(src), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.Env = []string{"PATH=" + bin}
	const note = `the preset kimi is unverified: it starts "kimi acp"`
	got := p.run("run", "--agent", "kimi", "--json", "hi")
	has(t, "stderr", got.stderr, note)
	var res struct {
		Stop     string
		Warnings []string
	}
	if err := json.Unmarshal([]byte(got.stdout), &res); err != nil {
		t.Fatal(err)
	}
	if res.Stop != "completed" || len(res.Warnings) == 0 || !strings.Contains(res.Warnings[0], note) {
		t.Errorf("stop %q, warnings %q", res.Stop, res.Warnings)
	}
	if got := p.run("run", "--agent", "gemini", "--json", "hi"); strings.Contains(got.stdout+got.stderr, "unverified") {
		t.Errorf("an agent that was driven is told to be unverified:\n%s%s", got.stdout, got.stderr)
	}
}

// Node alone is no agent: what it runs must be there.
func TestAgentThatNodeRuns(t *testing.T) {
	for _, preset := range client.Presets() {
		if preset.Path == "node" && nodeModules[preset.Name] == "" {
			t.Errorf("%s: what node runs is not known", preset.Name)
		}
	}
	p := newProgram(t)
	p.Dir = canonical(t, p.Dir)
	bin := t.TempDir()
	node := filepath.Join(bin, "node")
	if err := os.WriteFile(node, []byte("#!/bin/sh\necho 'no such module' >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.Env = []string{"PATH=" + bin}
	preset, _ := client.LookupPreset("example-ts")
	has(t, "agents", p.run("agents").stdout, "not installed: "+preset.Install)
	toInstall := "to install it: " + preset.Install
	has(t, "run", p.run("run", "--agent", "example-ts", "hi").stderr, "initialize", toInstall)

	file := filepath.Join(p.Dir, "node_modules", filepath.FromSlash(nodeModules["example-ts"]))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	has(t, "agents", p.run("agents").stdout, file)
	if got := p.run("run", "--agent", "example-ts", "hi").stderr; strings.Contains(got, toInstall) {
		t.Errorf("it is installed, and the run says\n%s", got)
	}
	elsewhere := newProgram(t)
	elsewhere.Env = append(p.Env, "NODE_PATH="+filepath.Join(p.Dir, "node_modules"))
	has(t, "agents with $NODE_PATH", elsewhere.run("agents").stdout, file)
}

func TestVersion(t *testing.T) {
	got := newProgram(t).run("version")
	if got.status != statusOK {
		t.Errorf("status %d", got.status)
	}
	has(t, "stdout", got.stdout, "errand ", "ACP protocol 1\n", "acp-go-sdk v0.13.5\n", "go1.")
}
