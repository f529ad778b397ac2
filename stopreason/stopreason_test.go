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
		known  bool
	}{
		{"end_turn", stopreason.Completed, true},
		{"max_tokens", stopreason.MaxTokens, true},
		{"refusal", stopreason.Refusal, true},
		{"cancelled", stopreason.Aborted, true},
		{"max_turn_requests", stopreason.Error, true},
		{"", stopreason.Error, false},
		{"error", stopreason.Error, false},
		{"completed", stopreason.Error, false}, // an outcome's name is no stop reason
		{"END_TURN", stopreason.Error, false},
		{" end_turn", stopreason.Error, false},
		{"end_turn\x00", stopreason.Error, false},
		{strings.Repeat("x", 1<<16), stopreason.Error, false},
	}
	for _, tt := range tests {
		if got := stopreason.Of(tt.reason); got != tt.want {
			t.Errorf("Of(%.20q) = %q, want %q", tt.reason, got, tt.want)
		}
		if got := stopreason.Known(tt.reason); got != tt.known {
			t.Errorf("Known(%.20q) = %v, want %v", tt.reason, got, tt.known)
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

// The SDK's list is the protocol's: a reason it knows and we do not would be taken
// for an error.
func TestKnowsTheSDKsReasons(t *testing.T) {
	for _, r := range []acp.StopReason{
		acp.StopReasonEndTurn, acp.StopReasonMaxTokens, acp.StopReasonMaxTurnRequests,
		acp.StopReasonRefusal, acp.StopReasonCancelled,
	} {
		if !stopreason.Known(string(r)) {
			t.Errorf("stop reason %q of the SDK is not known", r)
		}
	}
}
