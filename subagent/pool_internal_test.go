package subagent

import (
	"testing"
	"time"

	"github.com/errand-acp/errand/internal/check"
)

func TestBackoff(t *testing.T) {
	for failures, want := range map[int]time.Duration{
		0: 0, 1: 250 * time.Millisecond, 2: 500 * time.Millisecond, 3: time.Second, 8: 32 * time.Second, 9: time.Minute, 10: time.Minute, 1000: time.Minute,
	} {
		check.Equal(t, "after failures", backoff(failures), want)
	}
}
