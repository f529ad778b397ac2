package subagenttest_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/errand-acp/errand/subagent"
	"github.com/errand-acp/errand/subagent/subagenttest"
)

// flawEnv names the flaw of the provider that TestFlawed tests, in a process of its own
// because it is to fail.
const flawEnv = "ERRAND_TEST_FLAW"

// flaws are ways to break the contract, each with the part of it that must notice.
var flaws = map[string]struct {
	noticed string
	start   func(p subagent.Provider, ctx context.Context, req subagent.Request) (subagent.Run, error)
}{
	"takes any prompt": {"refuses bad requests", func(p subagent.Provider, ctx context.Context, req subagent.Request) (subagent.Run, error) {
		if len(req.Prompt) == 0 {
			req.Prompt = subagent.Text("answer")
		}
		return p.Start(ctx, req)
	}},
	"has a directory of its own": {"refuses bad requests", func(p subagent.Provider, ctx context.Context, req subagent.Request) (subagent.Run, error) {
		req.Dir = os.TempDir()
		return p.Start(ctx, req)
	}},
	"ignores what it does not offer": {"refuses what it does not offer", func(p subagent.Provider, ctx context.Context, req subagent.Request) (subagent.Run, error) {
		req.OutputSchema = nil
		return p.Start(ctx, req)
	}},
	"starts for nobody": {"a done context starts nothing", func(p subagent.Provider, ctx context.Context, req subagent.Request) (subagent.Run, error) {
		return p.Start(context.WithoutCancel(ctx), req)
	}},
	"loses the words": {"completes", func(p subagent.Provider, ctx context.Context, req subagent.Request) (subagent.Run, error) {
		req.Prompt = subagent.Text(strings.Fields(req.Prompt[0].Text.Text)[0])
		return p.Start(ctx, req)
	}},
	"tells nothing": {"events are in order", func(p subagent.Provider, ctx context.Context, req subagent.Request) (subagent.Run, error) {
		req.Events = nil
		return p.Start(ctx, req)
	}},
	"tells of the end twice": {"events are in order", func(p subagent.Provider, ctx context.Context, req subagent.Request) (subagent.Run, error) {
		tell := req.Events
		req.Events = func(e subagent.Event) {
			tell(e)
			if e.Type == subagent.EventEnd {
				tell(e)
			}
		}
		return p.Start(ctx, req)
	}},
	"makes results up": {"closing is idempotent", func(p subagent.Provider, ctx context.Context, req subagent.Request) (subagent.Run, error) {
		run, err := p.Start(ctx, req)
		return anew{run}, err
	}},
}

// anew is a run that makes a result for each Close.
type anew struct{ subagent.Run }

func (r anew) Close() *subagent.Result {
	res := *r.Run.Close()
	return &res
}

type flawed struct {
	subagent.Provider
	flaw string
}

func (p flawed) Start(ctx context.Context, req subagent.Request) (subagent.Run, error) {
	return flaws[p.flaw].start(p.Provider, ctx, req)
}

func TestFlawed(t *testing.T) {
	flaw := os.Getenv(flawEnv)
	if flaw == "" {
		t.Skip("TestFlawsAreNoticed runs this in a process of its own")
	}
	subagenttest.Run(t, func(t *testing.T) subagent.Provider { return flawed{newProvider(t), flaw} })
}

func TestFlawsAreNoticed(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for flaw, f := range flaws {
		t.Run(flaw, func(t *testing.T) {
			t.Parallel()
			part := strings.ReplaceAll(f.noticed, " ", "_")
			cmd := exec.Command(self, "-test.run", "^TestFlawed$/^"+part+"$")
			cmd.Env = append(os.Environ(), flawEnv+"="+flaw)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestFlawed/"+part) {
				t.Errorf("a provider that %s passes: %v\n%s", flaw, err, out)
			}
		})
	}
}
