package subagent_test

import (
	"strings"
	"testing"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// behind is the command of an honest agent that a line of shell goes before.
func behind(t *testing.T, line, script string) client.Command {
	t.Helper()
	cmd := command(t, script)
	cmd.Args = append([]string{"-c", line + "\n" + `exec "$@"`, "sh", cmd.Path}, cmd.Args...)
	cmd.Path = "sh"
	return cmd
}

// A home goes when nobody can write to it any more.
func TestHomeAfterTheSweep(t *testing.T) {
	parent := t.TempDir()
	p := provider(t, behind(t, `setsid sh -c 'trap "" TERM; while :; do mkdir -p "$HOME/a/b"; : > "$HOME/a/b/c$((i=i+1))"; done' 2>/dev/null &`, `on session/prompt; wait file "$env.HOME/a/b/c1"`), &subagent.ACPOptions{
		Home: &subagent.Home{Parent: parent},
	})
	for range 3 {
		res, err := subagent.Delegate(t.Context(), p, subagent.Request{Prompt: subagent.Text("go"), Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		ended(t, res, stopreason.Completed, "")
		check.Equal(t, "warnings", strings.Join(res.Warnings, "; "), "")
		nothingIn(t, parent)
	}
}

// What cannot be removed is told.
func TestHomeThatIsNotThere(t *testing.T) {
	parent := canonical(t, t.TempDir())
	p := provider(t, behind(t, `mv "$HOME" "$HOME.moved"`, ""), &subagent.ACPOptions{Home: &subagent.Home{Parent: parent}})
	res, err := subagent.Delegate(t.Context(), p, subagent.Request{Prompt: subagent.Text("go"), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	ended(t, res, stopreason.Completed, "")
	check.Has(t, strings.Join(res.Warnings, "; "), "left behind", parent)
}
