package stopreason_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/stopreason"
)

func ExampleOf() {
	o := stopreason.Of("max_turn_requests")
	fmt.Println(o, o.Success())
	// Output: error false
}

func TestOf(t *testing.T) {
	tests := []struct {
		reason string
		want   stopreason.Outcome
	}{
		{"end_turn", stopreason.Completed},
		{"max_tokens", stopreason.MaxTokens},
		{"refusal", stopreason.Refusal},
		{"cancelled", stopreason.Aborted},
		{"max_turn_requests", stopreason.Error},
		{"", stopreason.Error},
		{"error", stopreason.Error},
		{"completed", stopreason.Error}, // an outcome's name is no stop reason
		{"END_TURN", stopreason.Error},
		{" end_turn", stopreason.Error},
		{"end_turn\x00", stopreason.Error},
		{strings.Repeat("x", 1<<16), stopreason.Error},
	}
	for _, tt := range tests {
		if got := stopreason.Of(tt.reason); got != tt.want {
			t.Errorf("Of(%.20q) = %q, want %q", tt.reason, got, tt.want)
		}
	}
}

func TestSuccessIsCompletedOnly(t *testing.T) {
	for _, o := range []stopreason.Outcome{"", stopreason.MaxTokens, stopreason.Refusal, stopreason.Aborted, stopreason.Error} {
		if o.Success() {
			t.Errorf("%q counts as success", o)
		}
	}
	if !stopreason.Completed.Success() {
		t.Error("completed does not count as success")
	}
}

// The SDK's list is the protocol's: of the reasons it knows only one is an error.
func TestKnowsTheSDKsReasons(t *testing.T) {
	for _, r := range []acp.StopReason{
		acp.StopReasonEndTurn, acp.StopReasonMaxTokens, acp.StopReasonRefusal, acp.StopReasonCancelled,
	} {
		if stopreason.Of(string(r)) == stopreason.Error {
			t.Errorf("stop reason %q of the SDK is not known", r)
		}
	}
}
