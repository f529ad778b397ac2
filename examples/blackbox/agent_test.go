package blackbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// underTest is the agent's command: put that of yours here. This is one that comes with
// errand and follows a script.
func underTest(t *testing.T) client.Command {
	file := filepath.Join(t.TempDir(), "agent")
	if out, err := exec.Command("go", "build", "-o", file, "github.com/errand-acp/errand/testdata/scripted-agent").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return client.Command{Path: file, Args: []string{"-e", `
on session/prompt
  permission write-1 "Write hello.txt" kind=edit path=hello.txt
    option allow allow_once "Write it"
    option reject reject_once "Do not"
    when allowed
      write hello.txt "hello"
  end`}}
}

func TestWritesOnlyIfAllowed(t *testing.T) {
	agent := underTest(t)
	for name, tt := range map[string]struct {
		policy permission.Policy
		want   permission.Outcome
		writes bool
	}{
		"allowed":  {permission.Allow(), permission.Allowed, true},
		"rejected": {permission.Reject(), permission.Denied, false},
	} {
		t.Run(name, func(t *testing.T) {
			provider, err := subagent.NewACP("under test", agent, &subagent.ACPOptions{Permission: tt.policy})
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			res, err := subagent.Delegate(t.Context(), provider, subagent.Request{Dir: dir, Prompt: subagent.Text("write a file")})
			if err != nil {
				t.Fatal(err)
			}
			if err := res.Err(); err != nil {
				t.Errorf("%v; stderr: %s", err, res.StderrTail)
			}
			if len(res.Permissions) != 1 || res.Permissions[0].Decision != tt.want {
				t.Errorf("permissions %+v, want one that is %s", res.Permissions, tt.want)
			}
			if _, err := os.Stat(filepath.Join(dir, "hello.txt")); (err == nil) != tt.writes {
				t.Errorf("after %s: %v", tt.want, err)
			}
			if res.Exit == nil || res.Exit.Code == nil || *res.Exit.Code != 0 {
				t.Errorf("the agent ended with %v", res.Exit)
			}
		})
	}
}
