//go:build unix

package subagent_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/gittest"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// A tree that was replaced or moved away is told of, and nothing is touched. What is beside
// one is left unread, and keeps nobody waiting.
func TestWorktreeAttacked(t *testing.T) {
	sh := func(in *gittest.Repo, script string) {
		cmd := exec.Command("sh", "-c", script)
		cmd.Dir = in.Dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
	for name, tt := range map[string]struct {
		script  string
		warning string
	}{
		"moved":    {`cd ..; o=$PWD; mv "$o" "$o.x"; ln -s "$o.x" "$o"`, "moved, removed or replaced"},
		"replaced": {`t=$PWD; cd ..; mv "$t" other; ln -s other "$t"`, "moved, removed or replaced"},
		"pipes":    {`for d in .user .before .after; do mkdir ../$d && mkfifo ../$d/HEAD ../$d/index; done`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := trees(t, worker(t, func(_ context.Context, in *gittest.Repo) error {
				in.Write("a", "x\n")
				sh(in, tt.script)
				return nil
			}), subagent.WorktreeOptions{})
			res := s.run()
			ended(t, res, stopreason.Completed, "")
			check.Equal(t, "there is a patch", res.Patch != nil, tt.warning == "")
			if tt.warning == "" {
				check.Equal(t, "warnings", len(res.Warnings), 0)
				s.empty()
				return
			}
			kept := s.kept(res)
			check.Has(t, strings.Join(res.Warnings, "\n"), tt.warning, "the work tree is kept: "+kept.Dir)
		})
	}
}
