package subagent_test

import (
	"fmt"
	"testing"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/subagent"
)

// A program that was started wrongly, or is not there, will be so the next time.
func TestRetryable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		script string
		want   bool
	}{
		{"exit 2", false},
		{"exit 126", false},
		{"exit 127", false},
		{"on initialize; exit 2", false},
		{"exit 1", true},
		{"exit 3", true},
		{"exit 137", true},
		{"on initialize; raise KILL", true},
		{"on initialize; raise SEGV", true}, // the agent is a Go program: status 2
		{`stderr "panic: boom\n\ngoroutine 1 [running]:\nmain.main()\n"; exit 2`, true},
		{"on session/new; exit 2", true},
		{"on session/new; exit 127", true},
	} {
		t.Run(tt.script, func(t *testing.T) {
			t.Parallel()
			s := play(t, tt.script, &subagent.ACPOptions{Graces: shortGraces})
			e := s.refused(t.Context(), s.request("go"), client.KindExit)
			check.Equal(t, fmt.Sprintf("retryable: %v", e), e.Retryable, tt.want)
			check.Equal(t, "in the result", e.Partial.Error.Retryable, tt.want)
		})
	}
}
