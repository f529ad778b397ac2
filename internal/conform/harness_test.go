package conform

import (
	"testing"
	"time"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/internal/script"
)

// tryScript runs the suite against a scripted agent. Options without waits get some that
// suit it: an answer that comes comes soon, however busy the machine is, and one that does
// not costs little.
func tryScript(t *testing.T, src string, o *Options) *Report {
	t.Helper()
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.Timeout == 0 {
		opts.Timeout = 5 * time.Second
	}
	if opts.ExitTimeout == 0 {
		opts.ExitTimeout = 3 * time.Second
	}
	path, args := script.Command(t, src)
	report, err := Run(t.Context(), Command{Path: path, Args: args, Env: []string{"GORACE=atexit_sleep_ms=0"}}, &opts)
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
	var b []byte
	for _, f := range fs {
		b = append(b, "\n"+f.Rule.ID+": "+string(f.Verdict)+": "+f.Why+"\n"...)
		b = append(b, (&transcript.Transcript{Entries: f.Entries}).String()...)
	}
	return string(b)
}

func TestHonestHandshake(t *testing.T) {
	report := tryScript(t, ``, &Options{Only: []string{"initialize-*"}})
	for _, f := range report.Findings {
		if f.Verdict != Pass {
			t.Error(explain(f))
		}
	}
}

func TestVersionIgnored(t *testing.T) {
	report := tryScript(t, `on initialize; answer {"protocolVersion": $params.protocolVersion}`, &Options{Only: []string{"initialize-*"}})
	if f := finding(t, report, "initialize-future-version"); f.Verdict != Fail || len(f.Entries) != 2 {
		t.Error(explain(f))
	}
	if f := finding(t, report, "initialize-version"); f.Verdict != Pass {
		t.Error(explain(f))
	}
}
