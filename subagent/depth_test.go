package subagent_test

import (
	"math"
	"os"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/envscrub"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// standing sets what the environment of this process says; "-" is nothing.
func standing(t *testing.T, at, limit string) {
	t.Helper()
	for name, value := range map[string]string{subagent.DepthVariable: at, subagent.MaxDepthVariable: limit} {
		t.Setenv(name, value)
		if value == "-" {
			os.Unsetenv(name)
		}
	}
}

const saysDepth = `on session/prompt; text "$env.ERRAND_DEPTH/$env.ERRAND_MAX_DEPTH"`

// Where an agent stands is one below us, and its limit is the smallest that anybody has
// set.
func TestDepthOfAnAgent(t *testing.T) {
	levels := func(n int) *int { return &n }
	for name, tt := range map[string]struct {
		at, limit string
		option    int
		request   *int
		want      string
	}{
		"nobody says":                   {"-", "-", 0, nil, "1/8"},
		"the provider says":             {"-", "-", 3, nil, "1/3"},
		"more than the default":         {"-", "-", 20, nil, "1/20"},
		"the environment says":          {"2", "5", 0, nil, "3/5"},
		"the environment narrows":       {"2", "5", 20, nil, "3/5"},
		"the provider narrows":          {"2", "5", 4, nil, "3/4"},
		"only a depth":                  {"2", "-", 0, nil, "3/8"},
		"only a limit":                  {"-", "2", 0, nil, "1/2"},
		"a request for no level":        {"2", "5", 0, levels(0), "3/3"},
		"a request for one":             {"-", "-", 0, levels(1), "1/2"},
		"a request cannot widen":        {"2", "5", 0, levels(9), "3/5"},
		"nor the default":               {"-", "-", 0, levels(9), "1/8"},
		"nor by an overflow":            {"2", "5", 0, levels(math.MaxInt), "3/5"},
		"the last level there is":       {"4", "5", 0, nil, "5/5"},
		"the last level, asked for one": {"4", "5", 0, levels(1), "5/5"},
	} {
		t.Run(name, func(t *testing.T) {
			standing(t, tt.at, tt.limit)
			s := play(t, saysDepth, &subagent.ACPOptions{MaxDepth: tt.option})
			req := s.request("go")
			req.MaxDepth = tt.request
			check.Equal(t, "where it stands", s.do(req).Output, tt.want)
		})
	}
}

// Whatever else makes the environment has no say in it.
func TestDepthComesLast(t *testing.T) {
	standing(t, "2", "4")
	for _, inherit := range []envscrub.Policy{
		{Mode: envscrub.Strict}, {Mode: envscrub.None}, {Drop: []string{"ERRAND_*"}}, {Set: []string{"ERRAND_DEPTH=0", "ERRAND_MAX_DEPTH=99"}},
	} {
		s := play(t, "", nil)
		cmd := command(t, s.Recording(saysDepth), "ERRAND_DEPTH=0", "ERRAND_MAX_DEPTH=99")
		cmd.Inherit = inherit
		s.provider = provider(t, cmd, nil)
		check.Equal(t, "where it stands", s.run("go").Output, "3/4")
	}
}

func TestDepthRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		at, limit string
		option    int
		kind      client.ErrorKind
		says      []string
	}{
		"at the limit":              {"5", "5", 0, client.KindLimit, []string{"5"}},
		"beyond it":                 {"7", "4", 0, client.KindLimit, []string{"7", "4"}},
		"at the default":            {"8", "-", 0, client.KindLimit, []string{"8"}},
		"at the provider's":         {"3", "-", 2, client.KindLimit, []string{"3", "2"}},
		"none allowed at all":       {"-", "0", 0, client.KindLimit, []string{"0"}},
		"a depth below nothing":     {"-1", "-", 0, client.KindConfig, []string{"ERRAND_DEPTH"}},
		"a depth that is no number": {"deep", "8", 0, client.KindConfig, []string{"ERRAND_DEPTH"}},
		"an empty depth":            {"", "8", 0, client.KindConfig, []string{"ERRAND_DEPTH"}},
		"a depth of blanks":         {" 1", "8", 0, client.KindConfig, []string{"ERRAND_DEPTH"}},
		"a fraction":                {"1.0", "8", 0, client.KindConfig, []string{"ERRAND_DEPTH"}},
		"more than a number":        {"99999999999999999999", "8", 0, client.KindConfig, []string{"ERRAND_DEPTH"}},
		"an empty limit":            {"1", "", 0, client.KindConfig, []string{"ERRAND_MAX_DEPTH"}},
		"a limit that is no number": {"1", "unlimited", 9, client.KindConfig, []string{"ERRAND_MAX_DEPTH"}},
		"a limit below nothing":     {"1", "-2", 0, client.KindConfig, []string{"ERRAND_MAX_DEPTH"}},
		"a limit without end":       {"1", "4294967296", 0, client.KindConfig, []string{"ERRAND_MAX_DEPTH"}},
	} {
		t.Run(name, func(t *testing.T) {
			standing(t, tt.at, tt.limit)
			before := leak.Snapshot()
			s := play(t, saysDepth, &subagent.ACPOptions{MaxDepth: tt.option})
			e := s.refused(t.Context(), s.request("go"), tt.kind)
			check.Has(t, e.Message, tt.says...)
			check.Equal(t, "step", e.Step, client.StepConfig)
			check.Equal(t, "retryable", e.Retryable, false)
			s.NotStarted()
			if err := before.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRequestForLessThanNoLevel(t *testing.T) {
	s := play(t, "", nil)
	req, less := s.request("go"), -1
	req.MaxDepth = &less
	for _, p := range []subagent.Provider{s.provider, inProcess(t, "function", subagent.CapabilityMaxDepth)} {
		_, err := p.Start(t.Context(), req)
		check.Has(t, asError(t, err, client.KindConfig).Message, "MaxDepth")
	}
	s.NotStarted()
}

// A chain of programs that delegate ends where the limit is, whatever stands between
// them, and the one at the limit starts nothing.
func TestDepthOfAChain(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no sh and no env")
	}
	for name, tt := range map[string]struct{ at, limit, words, want string }{
		"processes of Errand":         {"-", "3", "self", "1/3 > 2/3 > 3/3 > next: config: delegations are 3 deep here, and no more than 3 are allowed"},
		"with a shell between":        {"-", "2", "shell", "1/2 > 2/2 > next: config: delegations are 2 deep here, and no more than 2 are allowed"},
		"with all sorts between":      {"1", "4", "env shell self", "2/4 > 3/4 > 4/4 > next: config: delegations are 4 deep here, and no more than 4 are allowed"},
		"narrowed on the way":         {"-", "-", "self:2 env", "1/3 > 2/3 > 3/3 > next: config: delegations are 3 deep here, and no more than 3 are allowed"},
		"what is below cannot widen":  {"-", "-", "self:1 self:5", "1/2 > 2/2 > next: config: delegations are 2 deep here, and no more than 2 are allowed"},
		"narrowed twice":              {"-", "-", "self:5 shell:1 self", "1/6 > 2/3 > 3/3 > next: config: delegations are 3 deep here, and no more than 3 are allowed"},
		"one that may start no other": {"-", "-", "env:0 self", "1/1 > next: config: delegations are 1 deep here, and no more than 1 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			standing(t, tt.at, tt.limit)
			if diff := cmp.Diff(tt.want, delegate(t.Context(), t.TempDir(), tt.words)); diff != "" {
				t.Errorf("the chain (-want +got):\n%s", diff)
			}
		})
	}
}

// Of a process that cannot tell its depth nothing is started further down.
func TestDepthThatIsBrokenOnTheWay(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no env")
	}
	cmd := chainCommand("self")
	cmd.Path, cmd.Args = "env", []string{"ERRAND_DEPTH=none", cmd.Path, chainAgentArg}
	res, err := subagent.Delegate(t.Context(), provider(t, cmd, nil), subagent.Request{Prompt: subagent.Text("self"), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	ended(t, res, stopreason.Completed, "")
	check.Has(t, res.Output, "none/8", "ERRAND_DEPTH", "not a whole number")
}
