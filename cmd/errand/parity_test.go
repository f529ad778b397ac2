package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// TestParity has a subtest for each row of PARITY.md that the command line answers
// for, as the packages below it have for theirs.
func TestParity(t *testing.T) {
	t.Run("A13 an empty directory is refused", parityEmptyDir)
	t.Run("A27 graces outside the usable range are refused", parityGraces)
	t.Run("A58 talks to itself", parityItself)
	t.Run("A59 replaying a parent against a replaying child", parityReplay)
	t.Run("B14 an external program decides", parityPermissionCommand)
	t.Run("C8 exit code and stderr are in the result", parityExit)
	t.Run("C13 labels of the caller", parityLabels)
	t.Run("C17 a rule that allows everything through an interpreter is warned of", parityPolicyWarns)
	t.Run("C19 the question shows the network target and the scope", parityScope)
	t.Run("C20 open calls are listed", parityOpenCalls)
	t.Run("C22 nothing an agent writes is obeyed", parityHostileText)
	t.Run("C24 keys are let through by name, or come from a file", parityKeys)
	t.Run("D8 an agent in another world of paths", parityPathMap)
}

// An empty directory is not taken for this process's own.
func parityEmptyDir(t *testing.T) {
	p := newProgram(t)
	got := p.run("run", "--dir", "", "hi", "--", "touch", filepath.Join(p.Dir, "started"))
	if got.status != statusUsage || exists(p.Dir, "started") {
		t.Errorf("status %d, started: %v", got.status, exists(p.Dir, "started"))
	}
	has(t, "stderr", got.stderr, "--dir is empty")
}

// The flag is named, whichever it is and whatever is wrong with it.
func parityGraces(t *testing.T) {
	for _, flag := range []string{"--cancel-grace", "--eof-grace", "--term-grace"} {
		for _, value := range []string{"0", "0s", "-1s", "5", "NaN", "Inf", "9999999999h", "1000h"} {
			var f runFlags
			set := pflag.NewFlagSet("run", pflag.ContinueOnError)
			f.register(set)
			if err := set.Parse([]string{flag, value}); err != nil {
				t.Fatal(err)
			}
			if _, err := f.durations(&subagent.ACPOptions{}); err == nil || !strings.HasPrefix(err.Error(), flag) {
				t.Errorf("%s %s: error %v", flag, value, err)
			}
		}
	}
}

func parityItself(t *testing.T) {
	p := newProgram(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	got := p.run("run", "--json", "--start-timeout", "20s", "--permission", "allow", "hello", "--", self, "demo")
	res := got.result(t)
	if got.status != statusOK || res.Stop != stopreason.Completed || !exists(p.Dir, "errand-demo.txt") {
		t.Errorf("status %d, stop %q", got.status, res.Stop)
	}
	if res.Agent.Name == nil || *res.Agent.Name != "errand-demo" || res.Client.Name != "errand" {
		t.Errorf("agent %v, client %v", res.Agent, res.Client)
	}
}

func parityExit(t *testing.T) {
	got := newProgram(t).run(append([]string{"run", "--json", "hi"}, scripted(t, `
stderr "Traceback: none\n"
on session/prompt
  text x
  stop end_turn
on eof
  exit 5
`)...)...)
	res := got.result(t)
	if res.Exit == nil || res.Exit.Code == nil || *res.Exit.Code != 5 || res.StderrTail != "Traceback: none\n" {
		t.Errorf("exit %v, stderr %q", res.Exit, res.StderrTail)
	}
}

// A cancel is no rollback: what was under way is listed.
func parityOpenCalls(t *testing.T) {
	t.Parallel() // it waits for a clock
	got := newProgram(t).run(append([]string{"run", "--json", "--timeout", "5s", "--cancel-grace", "100ms", "hi"}, scripted(t, `
on session/prompt
  tool call-1 "Delete everything" status=in_progress
  tool call-2 "Look" status=in_progress
  tool-update call-2 status=completed
  never reply
`)...)...)
	res := got.result(t)
	if len(res.ToolCalls) != 2 || res.ToolCalls[0].Status != "cancelled" || res.ToolCalls[1].Status != "completed" {
		t.Errorf("tool calls %+v", res.ToolCalls)
	}
	has(t, "stderr", got.stderr, "perhaps done in part: Delete everything")
	if strings.Contains(got.stderr, "in part: Look") {
		t.Errorf("a call that was over is listed:\n%s", got.stderr)
	}
}

func parityHostileText(t *testing.T) {
	const evil = "\x1b]52;c;AA==\x07\x1b[2J\u009b31m\u202eevil\u2066\u200b\x7f"
	quoted, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	src := fmt.Sprintf(`
stderr %[1]s
stderr "\n"
noise %[1]s
on session/prompt
  text "an answer: "
  text %[1]s
  tool call-1 %[1]s
  permission call-1 %[1]s
    option no reject_once "No"
  end
  fail -32603 %[1]s
`, quoted)
	got := newProgram(t).run(append([]string{"run", "hi"}, scripted(t, src)...)...)
	for what, text := range map[string]string{"stdout": got.stdout, "stderr": got.stderr} {
		for _, r := range text {
			if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || strings.ContainsRune("\u202e\u2066\u200b", r) {
				t.Errorf("%U on %s:\n%q", r, what, text)
			}
		}
		has(t, what, text, `\u{1b}]52;c;AA==\u{7}`)
	}
}

// What looks like a credential does not reach the agent unless it is named.
func parityKeys(t *testing.T) {
	const show = `
on session/prompt
  text "[$env.MY_API_KEY|$env.OTHER_TOKEN|$env.PLAIN|$env.SET|$env.FROM_FILE|$env.BOTH]"
  stop end_turn
`
	p := newProgram(t)
	p.Env = []string{"MY_API_KEY=key-value-1234", "OTHER_TOKEN=token-value-1234", "PLAIN=plain"}
	file := filepath.Join(p.Dir, ".env")
	if err := os.WriteFile(file, []byte("# keys\nexport FROM_FILE='from file'\nBOTH=file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := p.run(append([]string{"run", "--json", "--env", "MY_API_KEY", "--env", "SET=set", "--env-file", ".env", "--env", "BOTH=flag", "hi"}, scripted(t, show)...)...)
	res := got.result(t)
	if want := "[key-value-1234||plain|set|from file|flag]"; res.Output != want {
		t.Errorf("the agent saw %q, want %q", res.Output, want)
	}
	if want := []string{"OTHER_TOKEN"}; !cmp.Equal(want, res.WithheldEnv) {
		t.Errorf("withheld %q, want %q", res.WithheldEnv, want)
	}
}

// A demo script has the whole language, processes that it spawns included.
func TestDemoSpawns(t *testing.T) {
	p := newProgram(t)
	script := filepath.Join(p.Dir, "spawn.script")
	if err := os.WriteFile(script, []byte("on session/prompt\n  spawn\n    write spawned\n  end\n  wait children\n  text done\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := p.run("run", "--quiet", "hi", "--", self, "demo", script)
	if _, err := os.Stat(filepath.Join(p.Dir, "spawned")); o.status != 0 || err != nil {
		t.Errorf("%+v: %v", o, err)
	}
}
