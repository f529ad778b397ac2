package recipes

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/subagent"
)

// Two runs of an agent that cuts its text elsewhere, in another directory, come to the same.
func TestRecorded(t *testing.T) {
	var talks []string
	for i, src := range []string{
		`on session/prompt; text "The answer "; text "is 42."; stop end_turn`,
		`stderr "slow today\n"
			on session/prompt; text "The an"; text "swer is"; text " 42."; stop end_turn`,
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "talk.ndjson")
		res, err := recorded(t.Context(), provider(t, "agent", src), subagent.Request{Dir: dir, Prompt: subagent.Text("What is it?")}, file)
		if err != nil || !res.Stop.Success() {
			t.Fatal(i, err)
		}
		talk, err := alike(file, res.Dir)
		if err != nil {
			t.Fatal(err)
		}
		talks = append(talks, talk.String())
	}
	if diff := cmp.Diff(talks[0], talks[1]); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
	check.Has(t, talks[0], "run $run: agent, in $DIR", `"text":"The answer is 42."`, `"cwd":"$DIR"`)
}
