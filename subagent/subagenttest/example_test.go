package subagenttest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/subagent"
	"github.com/errand-acp/errand/subagent/subagenttest"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestProvider(t *testing.T) {
	subagenttest.Run(t, newProvider)
}

// newProvider makes a provider whose agent does what the prompt's first word says.
func newProvider(t *testing.T) subagent.Provider {
	p, err := subagent.NewFunc("mine", func(ctx context.Context, req subagent.Request, update func(acp.SessionUpdate)) (acp.StopReason, error) {
		text := req.Prompt[0].Text.Text
		word, _, _ := strings.Cut(text, " ")
		if word == "fail" {
			return "", errors.New("it failed")
		}
		update(acp.UpdateAgentMessageText(text))
		if word == "hang" {
			<-ctx.Done()
		}
		return acp.StopReasonEndTurn, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// In the test file of a provider:
func Example() {
	_ = func(t *testing.T) { // TestProvider
		subagenttest.Run(t, newProvider)
	}
}
