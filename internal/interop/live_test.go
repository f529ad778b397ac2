package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/errand-acp/errand/client/acptest"
	"github.com/errand-acp/errand/internal/check"
)

// honest is an agent that does what the prompts of the cases ask for, if it has a key.
const honest = `
if "$env.KEY$env.OPENROUTER_API_KEY" is ""
  stderr "no key\n"
  exit 2
end

on session/prompt
  text "PONG"

on session/prompt "Count slowly"
  text "one"
  wait forever

on session/prompt "Write a file"
  tool write-1 "Write hello.txt" kind=edit status=pending path=hello.txt
  permission write-1 "Write hello.txt" kind=edit path=hello.txt
    option reject reject_once "No"
    option allow allow_once "Yes"
    when allowed
      write hello.txt "PONG\n"
      tool-update write-1 status=completed
      text "Written."
    when other
      tool-update write-1 status=failed
      text "Not written."
  end
`

// buildErrand builds the real program.
func buildErrand(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "errand")
	if out, err := exec.Command("go", "build", "-o", file, "github.com/errand-acp/errand/cmd/errand").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return file
}

// installed puts a program with this name first into PATH: the agent of the script.
func installed(t *testing.T, name, src string) {
	t.Helper()
	cmd := acptest.Script(t, src)
	dir := t.TempDir()
	words := ""
	for _, word := range append([]string{cmd.Path}, cmd.Args...) {
		words += " '" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nexec"+words+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func testLive(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the agent is installed as a shell script")
	}
	errand := buildErrand(t)
	live := func() (string, error) {
		var out bytes.Buffer
		err := driveLive(t.Context(), errand, "opencode", &out)
		return out.String(), err
	}
	for _, name := range []string{"OPENROUTER_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"} {
		t.Setenv(name, "")
	}
	installed(t, "opencode", honest)
	out, err := live()
	if err != nil {
		t.Errorf("without a key: %v", err)
	}
	check.Has(t, out, "SKIPPED opencode", "OPENROUTER_API_KEY", "GEMINI_API_KEY", "Nothing was tried")

	t.Setenv("OPENROUTER_API_KEY", "the-key-of-the-user")
	out, err = live()
	if err != nil {
		t.Errorf("with a key: %v", err)
	}
	check.Has(t, out, "prompt: `end_turn`\n", "request allowed: asks, writes, `end_turn`\n",
		"request rejected: asks, writes nothing, `end_turn`\n", "cancel in mid turn: `cancelled`\n")
	check.Lacks(t, out, "SKIPPED", "FAILED", "the-key-of-the-user")

	for what, script := range map[string]string{
		"the answer": strings.Replace(honest, `text "PONG"`, `text "PING"`, 1),
		"the file":   strings.Replace(honest, `write hello.txt "PONG\n"`, `write hello.txt "PING\n"`, 1),
		"a reject":   strings.Replace(honest, "    when other\n", "    when other\n      write hello.txt \"PONG\\n\"\n", 1),
		"the cancel": strings.Replace(honest, "wait forever", "wait cancel; stop end_turn", 1),
	} {
		installed(t, "opencode", script)
		if out, err := live(); err == nil {
			t.Errorf("an agent that gets %s wrong passes:\n%s", what, out)
		}
	}
}

func TestLiveOfNothing(t *testing.T) {
	var out bytes.Buffer
	for _, name := range []string{"nobody", "demo"} { // errand agents lists demo, which has no model
		err := driveLive(t.Context(), "errand", name, &out)
		if err == nil {
			t.Fatalf("%s is driven", name)
		}
		check.Has(t, err.Error(), name, "gemini", "opencode")
		check.Lacks(t, err.Error(), "errand agents")
	}
	t.Setenv("PATH", t.TempDir())
	t.Setenv("GEMINI_API_KEY", "of-the-interop-test")
	if err := driveLive(t.Context(), "errand", "gemini", &out); err != nil {
		t.Error(err)
	}
	check.Has(t, out.String(), "SKIPPED gemini", "not installed", "npm install")
}

// A case that has a guarantee broken fails, whoever the agent is.
func TestGuarantees(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("errand is a shell script")
	}
	// Its id is nobody else's: a process that has it is one of the run.
	good := `{"runId":"run-` + rand.Text() + `","stop":"completed","stopReason":"end_turn","output":"PONG","exit":{"code":0,"signal":null,"rung":"eof"}}`
	for what, c := range map[string]struct {
		printed    string
		status     int
		permission string
		broken     bool
	}{
		"all well":         {printed: good},
		"no result":        {printed: "", broken: true},
		"two results":      {printed: good + "\n" + good, broken: true},
		"the status":       {printed: good, status: 1, broken: true},
		"the reason":       {printed: strings.Replace(good, "end_turn", "refusal", 1), broken: true},
		"no error told":    {printed: strings.Replace(good, "completed", "error", 1), status: 1, broken: true},
		"no exit":          {printed: strings.Replace(good, `{"code":0,"signal":null,"rung":"eof"}`, "null", 1), broken: true},
		"a refusal":        {printed: strings.NewReplacer("end_turn", "refusal", "completed", "refusal").Replace(good), status: 3},
		"a timeout":        {printed: strings.Replace(good, `"completed"`, `"aborted","error":{"kind":"timeout"}`, 1), status: 124},
		"a wrong decision": {printed: strings.Replace(good, `"exit"`, `"permissions":[{"decision":"allowed"}],"exit"`, 1), broken: true},
		"a denial":         {printed: strings.Replace(good, `"exit"`, `"permissions":[{"decision":"denied"}],"exit"`, 1)},
		"denied an allow":  {printed: strings.Replace(good, `"exit"`, `"permissions":[{"decision":"denied"}],"exit"`, 1), permission: "allow", broken: true},
	} {
		dir := t.TempDir()
		lines := ""
		for line := range strings.Lines(c.printed) {
			lines += `{"type":"end","result":` + strings.TrimSpace(line) + "}\n"
		}
		errand := filepath.Join(dir, "errand")
		program := fmt.Sprintf("#!/bin/sh\ncat <<'EOF'\n%sEOF\nexit %d\n", lines, c.status)
		if err := os.WriteFile(errand, []byte(program), 0o755); err != nil {
			t.Fatal(err)
		}
		if c.permission == "" {
			c.permission = "reject"
		}
		run := &task{prompt: "Hello", permission: c.permission, env: os.Environ(), dir: dir, temp: dir, timeout: usual}
		if _, err := run.run(t.Context(), errand); (err != nil) != c.broken {
			t.Errorf("%s: error %v, want one: %v", what, err, c.broken)
		}
	}
}
