package conform

import (
	"strings"
	"testing"
	"time"

	"github.com/errand-acp/errand/internal/script"
)

// tryScript runs the suite against a scripted agent. Options without waits get some that
// suit it: an answer that comes has time to come on a busy machine, and one that does not is
// waited for beside those of other agents.
func tryScript(t *testing.T, src string, o *Options, env ...string) *Report {
	t.Helper()
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.Timeout == 0 {
		opts.Timeout = 15 * time.Second
	}
	if opts.ExitTimeout == 0 {
		opts.ExitTimeout = 5 * time.Second
	}
	path, args := script.Command(t, src)
	report, err := Run(t.Context(), Command{Path: path, Args: args, Env: append(env, "GORACE=atexit_sleep_ms=0")}, &opts)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// finding returns what came of a rule.
func finding(t *testing.T, r *Report, id string) Finding {
	t.Helper()
	for _, f := range r.Findings {
		if f.Rule.ID == id {
			return f
		}
	}
	t.Fatalf("there is no finding of %s", id)
	return Finding{}
}

// explain shows the findings that are not as they should be, with their frames.
func explain(fs ...Finding) string {
	var b strings.Builder
	for _, f := range fs {
		b.WriteString("\n" + f.Text())
	}
	return b.String()
}
